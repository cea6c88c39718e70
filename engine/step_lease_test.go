package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// exec changes rows behind the engine's back, and wants some changed.
func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	tag, err := r.pool.Exec(r.ctx(), sql, args...)
	if err != nil || tag.RowsAffected() == 0 {
		r.t.Fatalf("%s: %v %v", sql, tag, err)
	}
}

// eventually waits for a condition.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("never: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// asks says whether a query of one boolean answers true; no row is no.
func (r *rig) asks(sql string, args ...any) bool {
	r.t.Helper()
	var yes bool
	if err := r.pool.QueryRow(r.ctx(), "SELECT coalesce(("+sql+"), false)", args...).Scan(&yes); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	return yes
}

// tally counts the events of a run by type.
func (r *rig) tally(run spec.RunID) map[string]int {
	r.t.Helper()
	n := map[string]int{}
	for _, e := range r.events(run) {
		n[e.Type]++
	}
	return n
}

// lose has the lease of every step under way end now.
func (r *rig) lose() {
	r.t.Helper()
	r.exec("UPDATE tasks SET run_after = now() WHERE kind = 'step' AND worker IS NOT NULL")
	r.Nudge()
}

// A process that lost a step to itself, because the database took its lease for ended, tells the first attempt to stop, and
// has the outcome of the second.
func TestStepLostToItsOwnProcess(t *testing.T) {
	t.Parallel()
	causes, begun, let := make(chan error, 1), make(chan int, 2), make(chan struct{})
	w := oneStep(spec.FixedRetry(5, 0))
	cfg := testConfig(t, pgtest.New(t))
	cfg.StepLease = 6 * patience // neither its end nor a renewal tells the first attempt instead
	r := idle(t, cfg, w)
	must(t, r.RegisterStep("work", func(ctx context.Context, s *engine.Step) (any, error) {
		begun <- s.Attempt
		if s.Attempt == 1 {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			<-let
			return "first", nil
		}
		return "second", nil
	}))
	r.run()
	r.start(w, "a", nil)
	<-begun
	r.lose()
	if out := r.completed("a"); out != `"second"` {
		t.Errorf("output %s", out)
	}
	if cause := within(t, causes); !errors.Is(cause, engine.ErrLeaseLost) {
		t.Errorf("the first attempt ended because of %v", cause)
	}
	close(let)
	r.stop()
	if n := r.tally("a"); n["step.completed"] != 1 {
		t.Errorf("events %v", n)
	}
}

// within takes what should come soon.
func within[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// Another process begins what was lost; what the first one still brings is refused, whether it is an output, a failure that
// is tried again, or one that is not.
func TestLateOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func() (any, error){
		"output":        func() (any, error) { return "late", nil },
		"failure":       func() (any, error) { return nil, errors.New("late") },
		"final failure": func() (any, error) { return nil, engine.NonRetryable(errors.New("late")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oneStep(spec.FixedRetry(9, time.Hour))
			begun, let := make(chan struct{}), make(chan struct{})
			cfg := testConfig(t, pgtest.New(t))
			cfg.StepQueues = map[string]int{"default": 1} // so it does not begin its own again
			r := idle(t, cfg, w)
			must(t, r.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
				close(begun)
				<-let // whatever its context says
				return late()
			}))
			r.run()
			r.start(w, "a", nil)
			<-begun
			other := idle(t, testConfig(t, r.pool), w)
			second, finish := make(chan struct{}), make(chan struct{})
			must(t, other.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
				close(second)
				<-finish
				return "second", nil
			}))
			other.run()
			r.exec("UPDATE tasks SET run_after = now(), worker = 'gone' WHERE kind = 'step'") // the row is as one of a lost process
			other.Nudge()
			within(t, second)
			close(let)
			r.stop() // the late outcome was judged
			close(finish)
			if out := other.completed("a"); out != `"second"` {
				t.Errorf("output %s", out)
			}
			if n := other.tally("a"); n["step.completed"] != 1 || n["step.failed"] != 0 {
				t.Errorf("events %v", n)
			}
		})
	}
}

// fakeWorker begins steps as a process does that then dies: nobody renews what it has.
func fakeWorker(r *rig, name string) db.ClaimedTask {
	r.t.Helper()
	store := db.Open(r.pool, db.Config{Process: name})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		claimed, err := store.ClaimTasks(r.ctx(), db.TaskClaim{
			Worker: name, Lease: time.Second, Wants: []db.TaskWant{{Kind: history.TaskStep, Name: "work", Most: 1}},
		})
		must(r.t, err)
		if len(claimed.Tasks) == 1 {
			return claimed.Tasks[0]
		}
		<-time.After(2 * time.Millisecond)
	}
	r.t.Fatal("there is nothing to begin")
	panic("unreachable")
}

// What a killed worker said last is what the next attempt reads, and the loss is a failed attempt.
func TestHeartbeatOfAKilledWorkerIsRead(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(2, 0))
	r := idle(t, testConfig(t, pgtest.New(t)), w).run()
	r.start(w, "a", nil)
	dead := fakeWorker(r, "dead")
	store := db.Open(r.pool, db.Config{})
	own, err := store.RenewTasks(r.ctx(), "dead", time.Second, []db.TaskLease{{Task: dead, Details: []byte(`{"page":7}`)}})
	if err != nil || !own[0] {
		t.Fatalf("%v %v", own, err)
	}
	heir := idle(t, testConfig(t, r.pool))
	must(t, heir.RegisterStep("work", func(_ context.Context, s *engine.Step) (any, error) {
		d, ok, err := engine.HeartbeatDetails[map[string]int](s)
		return []any{d["page"], ok, s.Attempt, s.IdempotencyKey != ""}, err
	}))
	heir.run()
	if out := r.completed("a"); out != `[7,true,2,true]` {
		t.Errorf("output %s", out)
	}
}

// A step that took three processes down is begun no more, whatever its policy allows.
func TestStepThatKillsThreeWorkersIsQuarantined(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(100, 0))
	r := idle(t, testConfig(t, pgtest.New(t)), w).run()
	r.start(w, "a", nil)
	for i := range 3 {
		if i > 0 {
			r.exec("UPDATE tasks SET run_after = now() WHERE kind = 'step'")
		}
		fakeWorker(r, fmt.Sprint("dead-", i))
	}
	other := idle(t, testConfig(t, r.pool))
	must(t, other.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
		t.Error("it is begun again")
		return nil, nil
	}))
	other.run()
	if s := r.ended("a"); s.Status != engine.StatusFailed || !strings.Contains(s.Error, "quarantined") {
		t.Errorf("%s %q", s.Status, s.Error)
	}
	p, err := r.ListDeadLetters(r.ctx(), engine.LetterFilter{State: engine.LetterFailed})
	if err != nil || len(p.Letters) != 1 || p.Letters[0].Reason != engine.FailedQuarantined || p.Letters[0].Attempt != 3 {
		t.Errorf("letters %+v %v", p.Letters, err)
	}
}

// What a heartbeat said shortly before its attempt failed is there for the next one, also when the renewal that carries it
// is overtaken by the attempt's end.
func TestHeartbeatIsNotLostBesideARenewal(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var b pgfault.Breaker
	cfg := testConfig(t, brokenPool(t, pool, &b))
	cfg.StepLease = time.Second
	w := oneStep(spec.FixedRetry(3, 0))
	r := idle(t, cfg, w)
	renewing := b.AtText(func(sql string) bool { return strings.Contains(sql, "octet_length(h.details)") }, 1, pgfault.Hold, "")
	must(t, r.RegisterStep("work", func(_ context.Context, s *engine.Step) (any, error) {
		if s.Attempt == 1 {
			must(t, s.Heartbeat("half"))
			<-renewing.Met()
			return nil, errors.New("failed")
		}
		renewing.Release()
		said, _, err := engine.HeartbeatDetails[string](s)
		return said, err
	}))
	r.run()
	r.start(w, "a", nil)
	if out := r.completed("a"); out != `"half"` {
		t.Errorf("the second attempt reads %s", out)
	}
}

// A heartbeat says why an attempt is over, and whoever keeps a Step can do no harm with it.
func TestStepKeptByItsAuthor(t *testing.T) {
	t.Parallel()
	kept := make(chan *engine.Step, 1)
	w := oneStep(spec.NoRetry())
	r := stepRig(t, w, func(_ context.Context, s *engine.Step) (any, error) {
		kept <- s
		return nil, nil
	})
	r.start(w, "a", nil)
	r.completed("a")
	s := <-kept
	r.eventually("the attempt is over", func() bool { return s.Heartbeat("too late") != nil })
	if _, err := s.HookURL(r.ctx(), "none"); !errors.Is(err, engine.ErrHookNotFound) {
		t.Errorf("hook of a run that ended: %v", err)
	}
	for what, details := range map[string]any{"channel": make(chan int), "long": strings.Repeat("x", 20<<10)} {
		if _, ok := errors.AsType[*engine.InvalidError](s.Heartbeat(details)); !ok {
			t.Errorf("%s: %v", what, s.Heartbeat(details))
		}
	}
	r.stop()
	if err := s.Heartbeat(nil); err == nil {
		t.Error("a heartbeat after the end of everything")
	}
}
