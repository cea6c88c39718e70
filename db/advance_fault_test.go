package db

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// The connection is lost at every round trip of a claim, before it and after it: the turn is stored whole or not at all,
// what the cache held is not used, and the next claim goes on to the same history.
func TestConnectionLostAtEveryRoundTrip(t *testing.T) {
	t.Parallel()
	// Consumes a signal, opens hooks of which one is refused, and continues as new with an unread signal.
	code := func(s *history.State) history.Decision {
		if s.Generation() == 2 {
			if status, _ := s.Wait("again"); status == history.WaitDone {
				return decide(wait("more"))
			}
			return decide(wait("again"))
		}
		if status, _ := s.Wait("w"); status != history.WaitDone {
			return decide(wait("w"), hookOn("old", "old-"+string(s.Key().RunID)))
		}
		if s.Hook("h").Rejected == nil {
			return decide(hookOn("h", "taken"), hookOn("i", "free-"+string(s.Key().RunID)))
		}
		return decide(&history.WithdrawHook{ID: "old"}, &history.ContinueAsNew{Input: null})
	}
	const want = "run.started wait.opened hook.created signal.received signal.received wait.completed hook.rejected hook.created hook.disposed"
	const next = "run.continued wait.opened wait.completed wait.opened"
	turns := by(code)
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("answer lost %v", after), func(t *testing.T) {
			t.Parallel()
			r := running(t)
			r.ok(r.startOf("owner"))
			r.advance(by(opens("h", "taken")))
			for n := int64(1); ; n++ {
				if n > 60 {
					t.Fatal("a claim takes too many round trips")
				}
				id := fmt.Sprint("r", n)
				by := &saboteur{deliver: after}
				s := r.open(r.sabotaged(by))
				r.ok(r.startOf(id))
				if _, err := s.Advance(t.Context(), turns); err != nil {
					t.Fatal(err)
				}
				r.ok(r.signal(id, "s1", "1"))
				r.ok(r.signal(id, "s2", "2"))
				by.left.Store(n)
				_, err := s.Advance(t.Context(), turns)
				cut := by.left.Swap(0) == 0
				if cut != errors.Is(err, ErrUnavailable) {
					t.Fatalf("cut at %d: %v, error %v", n, cut, err)
				}
				r.folded(id)
				for range 3 { // the same store, so that a spoilt state of its cache would be used
					if _, err := s.Advance(t.Context(), turns); err != nil {
						t.Fatal(err)
					}
				}
				r.folded(id, "owner")
				if got := r.types(id, 1); got != want {
					t.Fatalf("cut at %d: generation 1: %s", n, got)
				}
				if got := r.types(id, 2); got != next {
					t.Fatalf("cut at %d: generation 2: %s", n, got)
				}
				if !cut {
					return
				}
			}
		})
	}
}

// The server ends the session while workflow code runs.
func TestSessionEndsDuringTheTurn(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	a := by(approval)
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		out, fate := inner(run, s, now, rej)
		ended := value[int](r, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and state = 'idle in transaction'`)
		if ended != 1 {
			t.Errorf("%d sessions ended", ended)
		}
		return out, fate
	}
	if done, err := r.Advance(t.Context(), a); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v %v", done, err)
	}
	if v := r.view("a"); v.NextSeq != 2 || v.WakeAt == nil {
		t.Errorf("%+v", v)
	}
	r.drain(by(approval))
	r.folded("a")
}
