package db

import (
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

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
