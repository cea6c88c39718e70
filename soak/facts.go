package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowgate-go/flowgate/engine"
)

// violation is something that must not be, in words, with the run that it is about.
type violation struct {
	run  string
	what string
}

// String is a line of the report.
func (v violation) String() string { return v.run + ": " + v.what }

// fact is what the ledger says of one identity.
type fact struct {
	identity
	name    string          // of the signal, or of the workflow that is started
	payload json.RawMessage // that was acknowledged, else the first that was sent
	bad     bool
	known   bool // acknowledged
	receipt receipt
	refusal string // code and cause of the refusal of what was sent first
	lost    bool   // may be the answer to some attempt, to the caller or to the process
}

// facts are what the ledger says of the messages of one run.
type facts struct {
	start    *fact
	signals  []*fact // acknowledged, in the order of their sequence
	resumed  map[string]*fact
	disposed map[string]*fact
	cancel   *fact // acknowledged
	all      map[identity]*fact
}

// gather reads the ledger and checks that it does not contradict itself: what was acknowledged stays so, with the same
// receipt, and what was refused stays refused.
func gather(entries []entry) (map[string]*facts, []violation) {
	byIdentity := map[identity][]entry{}
	var order []identity
	for _, e := range entries {
		id := e.identity()
		if len(byIdentity[id]) == 0 {
			order = append(order, id)
		}
		byIdentity[id] = append(byIdentity[id], e)
	}
	runs := map[string]*facts{}
	var found []violation
	for _, id := range order {
		f, wrong := factOf(byIdentity[id])
		for _, what := range wrong {
			found = append(found, violation{id.run, fmt.Sprintf("%s: %s", id, what)})
		}
		if runs[id.run] == nil {
			runs[id.run] = &facts{resumed: map[string]*fact{}, disposed: map[string]*fact{}, all: map[identity]*fact{}}
		}
		runs[id.run].add(f)
	}
	for _, f := range runs {
		slices.SortFunc(f.signals, func(a, b *fact) int { return cmp.Compare(a.receipt.Sequence, b.receipt.Sequence) })
	}
	return runs, found
}

func (f *facts) add(one *fact) {
	f.all[one.identity] = one
	switch {
	case one.kind == kindStart:
		f.start = one
	case !one.known:
	case one.kind == kindSignal:
		f.signals = append(f.signals, one)
	case one.kind == kindResume:
		f.resumed[one.id] = one
	case one.kind == kindDispose:
		f.disposed[one.id] = one
	case one.kind == kindCancel:
		f.cancel = one
	}
}

// hearing is the attempts of one identity, on the way to the fact that they make.
type hearing struct {
	*fact
	wrong    []string
	accepted int               // answers
	first    entry             // acknowledgement
	said     map[string]string // payload to what was definitely said of it
}

func (h *hearing) wants(ok bool, format string, args ...any) {
	if !ok {
		h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
	}
}

// factOf sums up the attempts of one identity, in the order of their answers, and says what is wrong with them.
func factOf(attempts []entry) (*fact, []string) {
	e := attempts[0]
	h := &hearing{
		fact: &fact{identity: e.identity(), name: e.Name, payload: e.Payload, bad: e.Bad}, said: map[string]string{},
	}
	for _, e := range attempts {
		h.wants(e.Code != "internal", "a fault: status %d by process %d", e.Status, e.Process)
		h.lost = h.lost || !e.definite() || e.Troubled
		if e.definite() {
			h.hear(e)
		}
	}
	h.wants(h.accepted <= 1, "accepted %d times", h.accepted)
	h.wants(!h.known || h.accepted == 1 || h.lost, "a duplicate, but nobody was told of the first")
	if !h.known {
		h.refusal = h.said[string(h.payload)]
		return h.fact, h.wrong
	}
	for payload, now := range h.said {
		h.wants(payload == string(h.payload) || now == conflictOf(h.kind), "another payload is said to be %s", now)
	}
	return h.fact, h.wrong
}

// hear takes a definite answer.
func (h *hearing) hear(e entry) {
	if e.Verdict == engine.VerdictAccepted {
		h.accepted++
		h.wants(!h.known || e.At.Add(-e.Took).Before(h.first.At), "accepted anew after it was acknowledged")
	}
	if e.acknowledged() {
		h.acknowledge(e)
	}
	if h.bad { // once its run ended, that is why it is refused
		ok := e.Verdict == engine.VerdictInvalid || e.Verdict == engine.VerdictGone
		h.wants(ok, "%s %s, want it refused as invalid", e.Verdict, e.Code)
		return
	}
	now := outcomeOf(e)
	before, heard := h.said[string(e.Payload)]
	h.wants(!heard || before == now, "said to be %s, before %s", now, before)
	h.said[string(e.Payload)] = now
	ok := e.acknowledged() || e.Verdict == engine.VerdictConflict || e.Verdict == engine.VerdictGone
	h.wants(ok, "refused: %s", now)
}

func (h *hearing) acknowledge(e entry) {
	if !h.known {
		h.known, h.payload, h.receipt, h.name, h.first = true, e.Payload, e.Receipt, e.Name, e
	}
	h.wants(bytes.Equal(h.payload, e.Payload), "two payloads acknowledged")
	h.wants(h.receipt == e.Receipt, "receipt %v, before %v", e.Receipt, h.receipt)
}

// outcomeOf is a definite answer without what may differ between two equal ones.
func outcomeOf(e entry) string {
	switch {
	case e.acknowledged():
		return "acknowledged"
	case e.Cause != "":
		return e.Code + " " + e.Cause
	}
	return e.Code
}

// conflictOf is the code of the answer to something else under a known identity.
func conflictOf(k kind) string {
	return map[kind]string{kindStart: "run-conflict", kindSignal: "signal-conflict", kindResume: "hook-payload-conflict"}[k]
}
