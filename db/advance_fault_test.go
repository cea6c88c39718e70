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
				// The same store, so that a spoilt state of its cache would be used. A lock stays until the server notices.
				r.until(fmt.Sprintf("the run goes on after a cut at %d: %s / %s", n, r.types(id, 1), r.types(id, 2)), func() bool {
					if _, err := s.Advance(t.Context(), turns); err != nil {
						t.Fatal(err)
					}
					return r.types(id, 1) == want && r.types(id, 2) == next
				})
				r.folded(id, "owner")
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

// A panic of the caller's function leaves nothing behind: no lock, no open transaction, no lost connection.
func TestPanicReleasesTheRuns(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	a := by(approval)
	a.Decide = func(history.Run, *history.State, time.Time, map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		panic("author")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = r.Advance(t.Context(), a)
	}()
	r.drain(by(approval))
	r.folded("a")
}

func TestUnavailableDatabase(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	closed := r.open(deadPool(t))
	if _, err := closed.Advance(t.Context(), by(approval)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("advance: %v", err)
	}
	if _, err := closed.ReadRun(t.Context(), keyOf("a")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if _, _, err := closed.State(t.Context(), keyOf("a")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("state: %v", err)
	}
	if err := closed.Block(t.Context(), keyOf("a"), 1, history.BlockPanic, "x"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("block: %v", err)
	}
	if _, _, err := closed.ListRuns(t.Context(), RunFilter{Namespace: "default"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("list: %v", err)
	}
}
