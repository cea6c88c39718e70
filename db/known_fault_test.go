package db

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// knownFault has the store that meets the faults know runs, and checks afterwards what it keeps of them.
func knownFault(c faultCase, code author) faultCase {
	runRows := c.rows
	if runRows == nil {
		runRows = (*faultRig).runRows
	}
	c.first = func(f *faultRig) { f.patient.cfg.Takes = func(Code) bool { return true } }
	c.rows = func(f *faultRig, prefix string) map[string]string {
		f.t.Helper()
		f.truthful(f.patient)
		f.scheduled()
		return runRows(f, prefix)
	}
	c.after = func(f *faultRig, prefix string) {
		f.patient.withdraw() // what waits is a claim's from here on
		f.sql(`update runs set wake_at = clock_timestamp() where starts_with(run_id, $1 || '/') and status = 'blocked'`, prefix)
		f.turns(f.fresh(), code)
	}
	return c
}

// parkedOn starts runs of a use case, and has their first turns, on the store that meets the faults.
func (f *faultRig) parkedOn(s *Store, prefix string, code author, runs ...string) {
	f.t.Helper()
	for _, run := range runs {
		f.acceptOn(s, f.startOf(at(prefix, run)))
		f.turnOn(s, at(prefix, run), code)
	}
}

const knownFinally = "run.started wait.opened signal.received wait.completed run.completed"

// knowsIt says that the fault met the transaction that decides on what is known.
func (m met) knowsIt() bool {
	begun := 0
	for _, sql := range m.seen {
		if strings.HasPrefix(sql, "begin") {
			begun++
		}
	}
	return begun <= 1
}

// lostCommit says that the caller cannot know whether the commit took effect.
func (m met) lostCommit() bool {
	return (m.kind == pgfault.LoseAfter || m.kind == pgfault.Detach) && isCommit(m.sql)
}

// One signal to a run that the store knows. Whatever fails, the caller reads what is true, and only what is committed is
// remembered.
func TestFaultAtEveryStatementOfAKnownAccept(t *testing.T) {
	t.Parallel()
	c := faultCase{
		calls: []faultCall{{run: "it", first: acceptedWord, again: duplicateWord}},
		before: func(f *faultRig, prefix string) {
			f.parkedOn(f.patient, prefix, approval, "it")
		},
		act: func(f *faultRig, s *Store, prefix string) []string {
			receipt, err := s.Accept(context.Background(), f.signal(at(prefix, "it"), "s", "1"))
			return []string{readingOf(receipt.Verdict, err)}
		},
		want: func(m met, c faultCall) []string {
			switch {
			case m.kind == pgfault.Hold:
				return []string{c.first, c.again}
			case m.lostCommit():
				return []string{c.again}
			}
			return []string{c.first}
		},
		ways: slices.Concat(lostWays, lateWays[:2], refusedWays()), atLeast: 4,
		finally: map[string]string{"it": knownFinally},
	}
	testEveryStatement(t, knownFault(c, approval))
}

// A batch of signals to runs that the store knows, to one that another process changed, to one that it never saw, and of
// other messages.
func TestFaultAtEveryStatementOfAMixedBatch(t *testing.T) {
	t.Parallel()
	known := []string{"known a", "known b", "known c"}
	c := faultCase{
		before: func(f *faultRig, prefix string) {
			f.parkedOn(f.patient, prefix, approval, append(slices.Clone(known), "moved")...)
			f.ok(f.startOf(at(prefix, "strange")))
			f.ok(f.signal(at(prefix, "moved"), "first", "0"))
			f.turns(f.fresh(), counting(2))
		},
		act: func(f *faultRig, s *Store, prefix string) []string {
			var all []history.Message
			for _, run := range append(slices.Clone(known), "moved", "strange") {
				all = append(all, f.signal(at(prefix, run), "s", "1"))
			}
			all = append(all, f.signal(at(prefix, "known a"), "s", "2"), &history.RetryRun{Run: keyOf(at(prefix, "strange"))})
			var words []string
			for _, a := range f.lane(s, all...) {
				words = append(words, readingOf(a.Receipt.Verdict, a.Err))
			}
			return words
		},
		want: func(m met, c faultCall) []string {
			switch {
			case m.kind == pgfault.Hold:
				return []string{c.first, c.again}
			case !m.knowsIt() && strings.HasPrefix(c.run, "known"):
				return []string{c.first}
			case !m.knowsIt():
				return acceptWant(true)(m, c)
			case m.lostCommit() && strings.HasPrefix(c.run, "known"):
				return []string{c.again}
			}
			return []string{c.first}
		},
		ways: slices.Concat(lostWays[:1], lateWays[:2], refusedWays("23514", "40001")), atLeast: 10,
		finally: map[string]string{"known a": knownFinally},
	}
	for _, run := range append(slices.Clone(known), "moved", "strange") {
		c.calls = append(c.calls, faultCall{run: run, first: acceptedWord, again: duplicateWord})
	}
	const conflict = "signal ID was accepted with another payload"
	c.calls = append(c.calls, faultCall{run: "known a", first: conflict, again: conflict},
		faultCall{run: "strange", first: acceptedWord, again: acceptedWord})
	testEveryStatement(t, knownFault(c, func(s *history.State) history.Decision {
		if suffix(s) == "moved" {
			return counting(2)(s)
		}
		return approval(s)
	}))
}

// What a refused commit would have left is not remembered: the next signal, and the next turn, are decided on what is
// stored.
func TestAKnownAcceptThatFailsIsNotRemembered(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"refused": "40001", "refused for good": "42601"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaultRig(t)
			f.patient.cfg.Takes = func(Code) bool { return true }
			f.parkedOn(f.patient, "x", approval, "it")
			run := at("x", "it")
			f.ready()
			fault := f.breaker.AtText(isCommit, 1, pgfault.Refuse, state)
			calls := []*call{{ctx: t.Context(), message: f.signal(run, "s", "1"), run: keyOf(run), done: make(chan Answer, 1)}}
			rest, due := f.patient.settleKnown(calls)
			if !fault.Happened() || len(rest) != 1 || due != nil {
				t.Fatalf("it happened: %v; %d calls are left, %v are due", fault.Happened(), len(rest), due)
			}
			f.truthful(f.patient)
			if !f.patient.handed.empty() {
				t.Error("a run is handed over that nothing was committed of")
			}
			if f.patient.sent.has(keyOf(run), "s") {
				t.Error("a signal is remembered that was not committed")
			}
			if rows := f.runRows("x"); !strings.Contains(rows["it"], "seq 1..3") {
				t.Errorf("it is stored: %s", rows["it"])
			}
			f.patient.settle(rest, skipLocked)
			if a := f.await(calls[0].done); a.Err != nil || a.Receipt.Sequence != 3 {
				t.Errorf("it is answered with %+v", a)
			}
			f.nothingLeft()
		})
	}
}

// When nobody knows whether a commit took effect that made a run due, this process and the others are told to look.
func TestALostKnownAcceptIsLookedFor(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	told := make(chan RunRef, 10)
	f.patient.cfg.Takes = func(Code) bool { return true }
	f.patient.cfg.Ready = func(ref RunRef) { told <- ref }
	f.parkedOn(f.patient, "x", approval, "it")
	run := at("x", "it")
	f.ready()
	fault := f.breaker.AtText(isCommit, 1, pgfault.LoseAfter, "")
	receipt, err := f.patient.Accept(t.Context(), f.signal(run, "s", "1"))
	if !fault.Happened() || readingOf(receipt.Verdict, err) != duplicateWord {
		t.Fatalf("it happened: %v; %+v %v", fault.Happened(), receipt, err)
	}
	select {
	case ref := <-told:
		if ref != (RunRef{}) {
			t.Errorf("one run is to be looked for: %+v", ref)
		}
	default:
		t.Error("nobody is told to look")
	}
	f.turns(f.patient, approval)
	if got := f.types(run, 1); got != knownFinally {
		t.Errorf("it has %s", got)
	}
}
