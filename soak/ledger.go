package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// kind is what a caller asks for.
type kind string

const (
	kindStart   kind = "start"
	kindSignal  kind = "signal"
	kindResume  kind = "resume"
	kindDispose kind = "dispose"
	kindCancel  kind = "cancel"
)

// kinds are all of them, in the order of the report.
var kinds = []kind{kindStart, kindSignal, kindResume, kindDispose, kindCancel}

// phase says when a message was sent.
type phase string

const (
	phaseLoad  phase = "load"  // while processes are killed
	phaseAgain phase = "again" // by the check, when everything is quiet
)

// verdictNone is the verdict of a message that nobody answered: it may have had its effect.
const verdictNone engine.Verdict = "none"

// identity is what a message has one effect under.
type identity struct {
	kind kind
	run  string
	id   string // of the signal or the hook
}

// String names it in a violation.
func (i identity) String() string {
	if i.id == "" {
		return fmt.Sprintf("%s of %s", i.kind, i.run)
	}
	return fmt.Sprintf("%s %s of %s", i.kind, i.id, i.run)
}

// receipt is what an acknowledgement says of the message.
type receipt struct {
	Sequence   int64  `json:"sequence,omitempty"`
	ReceivedAt string `json:"received_at,omitempty"` // as it was written
}

// entry is a line of the ledger: one attempt to deliver a message, and the answer. It holds no token.
type entry struct {
	At      time.Time       `json:"at"`
	Phase   phase           `json:"phase"`
	Kind    kind            `json:"kind"`
	Run     string          `json:"run"`
	ID      string          `json:"id,omitempty"`   // of the signal or the hook
	Name    string          `json:"name,omitempty"` // of the signal, or of the workflow that is started
	Payload json.RawMessage `json:"payload,omitempty"`
	Bad     bool            `json:"bad,omitempty"` // meant to be refused as invalid
	Process int             `json:"process"`

	Verdict engine.Verdict `json:"verdict"`
	Status  int            `json:"status,omitempty"`
	Code    string         `json:"code,omitempty"`
	Cause   string         `json:"cause,omitempty"`
	Receipt receipt        `json:"receipt,omitzero"`
	Took    time.Duration  `json:"took"`
	// Troubled says that the process may have lost the database meanwhile, and so decided twice.
	Troubled bool `json:"troubled,omitempty"`
}

func (e entry) identity() identity { return identity{e.Kind, e.Run, e.ID} }

// acknowledged says that the answer was a receipt.
func (e entry) acknowledged() bool {
	return e.Verdict == engine.VerdictAccepted || e.Verdict == engine.VerdictDuplicate
}

// definite says that the caller knows what became of the message and need not send it again.
func (e entry) definite() bool { return e.Verdict != verdictNone && e.Verdict != engine.VerdictBusy }

// ledger is what callers were told, on disk before it counts. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	file    *os.File
	entries []entry
	tally   tally
}

// tally sums a ledger up, over all rounds.
type tally struct {
	first      map[kind]int // identities acknowledged under load
	duplicates int          // acknowledged again, under load
	conflicts  int
	refused    map[string]int // other definite refusals under load, by code and cause
	unanswered int
	busy       int
	lastAck    time.Time
	longestGap time.Duration // without any acknowledgement, under load
	slowest    time.Duration // answer
}

func newTally() tally { return tally{first: map[kind]int{}, refused: map[string]int{}} }

// openLedger makes the ledger of a round. What earlier rounds counted goes on.
func openLedger(path string, before tally) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	before.lastAck = time.Now()
	return &ledger{file: f, tally: before}, nil
}

// write notes an attempt: first in the file, then in what is counted.
func (l *ledger) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.entries = append(l.entries, e)
	l.tally.count(e)
	return nil
}

func (t *tally) count(e entry) {
	t.slowest = max(t.slowest, e.Took)
	switch {
	case e.Phase != phaseLoad:
	case e.Verdict == engine.VerdictAccepted:
		t.first[e.Kind]++
	case e.Verdict == engine.VerdictDuplicate:
		t.duplicates++
	case e.Verdict == engine.VerdictConflict:
		t.conflicts++
	case e.Verdict == verdictNone:
		t.unanswered++
	case e.Verdict == engine.VerdictBusy:
		t.busy++
	case e.Cause != "":
		t.refused[e.Code+" "+e.Cause]++
	default:
		t.refused[e.Code]++
	}
	if e.Phase == phaseLoad && e.acknowledged() {
		t.longestGap = max(t.longestGap, e.At.Sub(t.lastAck))
		t.lastAck = e.At
	}
}

// acknowledged is the number of acknowledgements under load, repeats included.
func (t *tally) acknowledged() int {
	n := t.duplicates
	for _, of := range t.first {
		n += of
	}
	return n
}

// read returns what was written so far.
func (l *ledger) read() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[:len(l.entries):len(l.entries)]
}

// sums returns a copy of the sums so far that is fit to be read.
func (l *ledger) sums() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tally
	t.first, t.refused = map[kind]int{}, map[string]int{}
	for k, n := range l.tally.first {
		t.first[k] = n
	}
	for k, n := range l.tally.refused {
		t.refused[k] = n
	}
	return t
}

func (l *ledger) close() error { return l.file.Close() }
