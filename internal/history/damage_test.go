package history

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// A damaged history is refused with a *FoldError or folds to something else, but nothing panics, neither the fold nor a
// turn on it.
func TestFold_damaged_histories_do_not_panic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := anyWild(t)
		r := newRig(t, code.decide)
		r.auth.cooperative = true
		l := &ledger{r: r, receipts: map[string]Receipt{}}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			l.step(t)
		}
		carried, events := r.generation()
		events = slices.Clone(events)
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			events = damage(t, events)
		}
		lost := rapid.IntRange(0, len(carried)).Draw(t, "carried lost")
		s, err := Fold(testKey, carried[lost:], events)
		if err == nil && lost > 0 {
			t.Fatal("signals that were unread are gone, and the fold does not say so")
		}
		if err != nil {
			if broken := new(*FoldError); !errors.As(err, broken) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if s.status.Ended() {
			return
		}
		run := r.run
		run.Status, run.Generation, run.NextSeq = Running, s.generation, s.nextSeq
		turn, err := NewTurn(s, run, later(s.lastAt, r.now.Add(time.Hour)), r.lim, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; turn.Next(); n++ {
			turn.Decide(code.decide(s))
			if n > 100 {
				turn.Cut()
			}
		}
		turn.Finish()
	})
}

// damage does to events what a lost write, a wrong restore or a meddling hand may do.
func damage(t *rapid.T, events []Event) []Event {
	i, j := rapid.IntRange(0, len(events)-1).Draw(t, "i"), rapid.IntRange(0, len(events)-1).Draw(t, "j")
	switch rapid.IntRange(0, 6).Draw(t, "damage") {
	case 0: // lost, and the rest moved up
		events = slices.Delete(events, i, i+1)
		for k := i; k < len(events); k++ {
			events[k].Seq--
		}
	case 1:
		events[i].Data, events[j].Data = events[j].Data, events[i].Data
	case 2:
		events[i].Data = events[j].Data
	case 3:
		events[i].Taken = append(slices.Clone(events[i].Taken), events[j].Seq)
	case 4:
		events[i].Taken = nil
	case 5:
		events[i].Read = []spec.HookID{hookID(0, 1), "unknown"}
	case 6:
		all := oneOfEach()
		events[i].Data = all[rapid.IntRange(0, len(all)-1).Draw(t, "kind")].Data
	}
	if len(events) == 0 {
		return []Event{{Generation: 1, Seq: 1, At: epoch, Data: &RunUnblocked{}}}
	}
	return events
}
