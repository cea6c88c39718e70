package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
)

func TestBlock(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	if err := r.Block(t.Context(), keyOf("a"), 2, history.BlockBudget, "over 1 s\x00"); err != nil {
		t.Fatal(err)
	}
	v := r.view("a")
	if v.Status != history.Blocked || v.BlockCause != history.BlockBudget || v.BlockAttempts != 1 ||
		!strings.HasPrefix(v.BlockDiagnosis, "over 1 s") || v.WakeAt == nil || v.WakeAt.Sub(v.UpdatedAt) != time.Second {
		t.Errorf("%+v", v)
	}
	// The run moved on: what was decided on its old record is void.
	if err := r.Block(t.Context(), keyOf("a"), 2, history.BlockPanic, "late"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(v, r.view("a")); diff != "" {
		t.Error(diff)
	}
	// The same again moves the back-off and appends nothing.
	if err := r.Block(t.Context(), keyOf("a"), 3, history.BlockBudget, "over 1 s\x00"); err != nil {
		t.Error(err)
	}
	if again := r.view("a"); again.NextSeq != 3 || again.BlockAttempts != 2 {
		t.Errorf("%+v", again)
	}
	r.folded("a")
	r.ok(&history.CancelRun{Run: keyOf("a")})
	ended := r.view("a")
	if err := r.Block(t.Context(), keyOf("a"), ended.NextSeq, history.BlockPanic, "late"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(ended, r.view("a")); diff != "" {
		t.Errorf("an ended run was blocked: %s", diff)
	}
	if err := r.Block(t.Context(), keyOf("absent"), 1, history.BlockPanic, "x"); !errors.Is(err, history.ErrRunNotFound) {
		t.Errorf("unknown run: %v", err)
	}
}

func TestBlockedRunGoesOn(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(counting(2)))
	r.ok(r.signal("a", "s1", "1"))
	if err := r.Block(t.Context(), keyOf("a"), 4, history.BlockPanic, "nil map"); err != nil {
		t.Fatal(err)
	}
	if done := r.advance(by(counting(2))); done.Claimed != 0 || done.NextDue == nil {
		t.Errorf("within its back-off: %+v", done)
	}
	r.ok(&history.RetryRun{Run: keyOf("a")})
	r.drain(by(counting(2)))
	want := "run.started wait.opened signal.received run.blocked run.unblocked wait.completed wait.opened"
	if got := r.types("a", 0); got != want {
		t.Errorf("%s", got)
	}
	if v := r.view("a"); v.Status != history.Running || v.BlockCause != "" || v.BlockAttempts != 0 {
		t.Errorf("%+v", v)
	}
	r.folded("a")
}

func TestWakeBlocked(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i, code := range []Code{{"invoice", "1"}, {"invoice", "2"}, {"invoice", "1"}, {"invoice", "1"}} {
		id := fmt.Sprint("r", i)
		m := r.startOf(id)
		m.Workflow, m.Version = code.Workflow, code.Version
		r.ok(m)
	}
	in := time.Hour
	r.advance(only("r3", func(*history.State) history.Decision { return decide(&history.StartTimer{ID: "t", In: &in}) },
		func(*history.State) history.Decision { return history.Decision{} }))
	if err := r.Block(t.Context(), keyOf("r1"), 2, history.BlockPanic, "x"); err != nil {
		t.Fatal(err)
	}
	release := r.hold("r2") // takes a message, or a turn of the old code
	woken := make(chan error, 1)
	go func() { woken <- r.WakeBlocked(context.Background(), invoiceCode) }()
	r.until("it waits for the run", func() bool {
		return len(woken) == 1 || value[int](r, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 1
	})
	release()
	if err := <-woken; err != nil {
		t.Fatal(err)
	}
	if err := r.WakeBlocked(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for id, due := range map[string]bool{"r0": true, "r1": false, "r2": true, "r3": false} {
		if got := value[bool](r, `select wake_at <= clock_timestamp() from runs where run_id = $1`, id); got != due {
			t.Errorf("%s is due: %v", id, got)
		}
	}
}

// A run that somebody holds for long does not keep the others asleep, nor the process from its work.
func TestWakeBlockedGivesUpARunThatIsHeld(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, id := range []string{"a", "b", "c"} {
		r.ok(r.startOf(id))
		if err := r.Block(t.Context(), keyOf(id), 2, history.BlockPanic, "x"); err != nil {
			t.Fatal(err)
		}
	}
	r.sql(`update runs set wake_at = now() + interval '1 hour'`)
	r.hold("a")
	s := r.open(r.pool, func(c *Config) { c.LockTimeout = 20 * time.Millisecond })
	if err := s.WakeBlocked(t.Context(), invoiceCode); err != nil {
		t.Error(err)
	}
	if n := value[int](r, `select count(*) from runs where wake_at <= clock_timestamp()`); n != 2 {
		t.Errorf("%d runs are due, want 2", n)
	}
}

func TestWakeBlockedGoesPageByPage(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.sql(`insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, next_seq, status, block_cause,
			wake_at, started_at, updated_at)
		select 'default', 'b' || i, 'invoice', '1', sha256('plain'), sha256('x'), 2, 'blocked', 'panic', now() + interval '1 hour', now(), now()
		from generate_series(1, $1::int) i`, 2*wakePage+1)
	if err := r.WakeBlocked(t.Context(), invoiceCode); err != nil {
		t.Fatal(err)
	}
	if n := value[int](r, `select count(*) from runs where wake_at > clock_timestamp()`); n != 0 {
		t.Errorf("%d runs sleep on", n)
	}
}
