package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A process that ends tells its steps, stores what they bring, and gives back what they do not: another one goes on at
// once, and nothing counts as failed.
func TestStepsAtTheEndOfTheirProcess(t *testing.T) {
	t.Parallel()
	w := called(spec.NoRetry())
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	begun := make(chan struct{}, 2)
	waits := func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	must(t, r.RegisterStep("finishes", func(ctx context.Context, _ *engine.Step) (any, error) {
		return errors.Is(waits(ctx), engine.ErrShuttingDown), nil
	}))
	must(t, r.RegisterStep("gives up", func(ctx context.Context, s *engine.Step) (any, error) {
		must(t, s.Heartbeat("here"))
		return nil, waits(ctx)
	}))
	r.run()
	r.start(w, "f", "finishes")
	r.start(w, "g", "gives up")
	<-begun
	<-begun
	r.stop()
	next := idle(t, testConfig(t, r.pool), w)
	must(t, next.RegisterStep("gives up", func(_ context.Context, s *engine.Step) (any, error) {
		said, _, err := engine.HeartbeatDetails[string](s)
		return []any{said, s.Attempt}, err
	}))
	next.run()
	if out := next.completed("f"); out != "true" {
		t.Errorf("output %s", out)
	}
	if out := next.completed("g"); out != `["here",2]` {
		t.Errorf("output %s", out)
	}
}

// Run returns although a function ignores its context, at once where it is to have no patience, and has then given the
// step back: nothing of the engine is still at work.
func TestRunReturnsBesideADeafStep(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.StepDrain = time.Millisecond
	w := called(spec.NoRetry())
	r := idle(t, cfg, w)
	let, begun := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(let) })
	must(t, r.RegisterStep("deaf", func(context.Context, *engine.Step) (any, error) {
		close(begun)
		<-let
		return nil, nil
	}))
	r.run()
	r.start(w, "a", "deaf")
	<-begun
	r.stop()
	if !r.asks("SELECT worker IS NULL AND failures = 0 AND run_after <= now() FROM tasks") {
		t.Error("the step was not given back when Run returned")
	}
}

// A step past its schedule-to-close is not begun any more, also where no process has the workflow that would be told.
func TestStepPastItsTimeIsNotBegun(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(9, 0), engine.ScheduleToClose(time.Hour))
	r := idle(t, testConfig(t, pgtest.New(t)), w).run()
	r.start(w, "a", nil)
	r.waiting("a", "s")
	r.stop()
	r.exec("UPDATE tasks SET close_at = now()")
	other := idle(t, testConfig(t, r.pool))
	must(t, other.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
		t.Error("it is begun")
		return nil, nil
	}))
	other.run()
	other.eventually("it is laid aside", func() bool {
		return other.asks("SELECT attempt > 0 AND worker IS NULL AND failures = 0 AND run_after > now() FROM tasks")
	})
}

// The times of a step, by what its function sees and what its run is told.
func TestStepTimes(t *testing.T) {
	t.Parallel()
	const tick = 30 * time.Millisecond
	for name, c := range map[string]struct {
		opts     []engine.StepOption
		retry    spec.RetryPolicy
		cause    error
		reason   engine.FailureReason
		code     string
		attempts int
	}{
		"start to close": {
			[]engine.StepOption{engine.StartToClose(tick)}, spec.FixedRetry(2, 0), engine.ErrAttemptTimeout, engine.FailedExhausted, "timeout", 2,
		},
		"heartbeat": {
			[]engine.StepOption{engine.HeartbeatTimeout(tick)},
			spec.FixedRetry(2, 0), engine.ErrHeartbeatTimeout, engine.FailedExhausted,
			"heartbeat_timeout", 2,
		},
		"time-out not to be retried": {
			[]engine.StepOption{engine.StartToClose(tick)},
			spec.FixedRetry(9, 0).WithNonRetryable("timeout"), engine.ErrAttemptTimeout,
			engine.FailedNonRetryable, "timeout", 1,
		},
		"schedule to close": {
			[]engine.StepOption{engine.ScheduleToClose(100 * tick)}, // long enough for an attempt to begin on any machine
			spec.FixedRetry(9, time.Hour), engine.ErrAttemptTimeout,
			engine.FailedScheduleToClose, "", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			causes, failures := make(chan error, 9), make(chan *engine.StepFailure, 1)
			w := oneStep(c.retry, c.opts...)
			told := workflow{w.spec, func(ctx *engine.Context) (engine.Decision, error) {
				if f, failed := ctx.StepFailed("s"); failed {
					failures <- f
					return ctx.Complete(nil), nil
				}
				return w.fn(ctx)
			}}
			r := stepRig(t, told, func(ctx context.Context, s *engine.Step) (any, error) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, ctx.Err()
			})
			r.start(told, "a", nil)
			r.completed("a")
			if f := within(t, failures); f.Reason != c.reason || f.Code != c.code {
				t.Errorf("%+v", f)
			}
			for range c.attempts { // the run may be told before the function is
				// what is past its time is withdrawn by the next turn, which may be first
				if cause := within(t, causes); !errors.Is(cause, c.cause) && (c.code != "" || !errors.Is(cause, engine.ErrStepCancelled)) {
					t.Errorf("cause %v, want %v", cause, c.cause)
				}
			}
			if len(causes) > 0 {
				t.Errorf("%d attempts more", len(causes))
			}
		})
	}
}

// Without any process that does it, a step is over when its time is.
func TestScheduleToCloseWithoutAWorker(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(9, 0), engine.ScheduleToClose(50*time.Millisecond))
	r := newRig(t, w)
	r.start(w, "a", nil)
	if s := r.ended("a"); s.Status != engine.StatusFailed {
		t.Errorf("%s %s", s.Status, s.Output)
	}
	if got := r.types("a"); !slices.Contains(got, "step.timed_out") {
		t.Errorf("history %v", got)
	}
}

// A heartbeat keeps an attempt alive for longer than its time of silence.
func TestHeartbeatKeepsAnAttempt(t *testing.T) {
	t.Parallel()
	const silence = time.Second
	w := oneStep(spec.NoRetry(), engine.HeartbeatTimeout(silence))
	r := stepRig(t, w, func(ctx context.Context, s *engine.Step) (any, error) {
		beat := time.NewTicker(silence / 10)
		defer beat.Stop()
		for range 20 { // twice the silence
			<-beat.C
			if err := s.Heartbeat(nil); err != nil {
				return nil, err
			}
		}
		return "alive", nil
	})
	r.start(w, "a", nil)
	if out := r.completed("a"); out != `"alive"` {
		t.Errorf("output %s", out)
	}
}

// CancelStep ends the context of a function in its own process and in another one.
func TestCancelledStepSeesIt(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "give-up", Version: "1", Signals: []spec.Signal{{Name: "stop"}}},
		func(ctx *engine.Context) (engine.Decision, error) {
			if _, stop, err := engine.SignalPayload[any](ctx, "w"); stop || err != nil {
				return ctx.Await(ctx.CancelStep("s"), ctx.Timer("t", time.Hour)), err
			}
			return ctx.Await(ctx.RunStep("s", "work", nil, spec.NoRetry()), ctx.WaitForSignal("w", "stop")), nil
		},
	}
	for _, same := range []bool{true, false} {
		t.Run(map[bool]string{true: "same process", false: "another process"}[same], func(t *testing.T) {
			t.Parallel()
			begun, causes := make(chan struct{}), make(chan error, 1)
			cfg := testConfig(t, pgtest.New(t))
			cfg.StepLease = 3 * time.Second // asked about each second
			worker := idle(t, cfg)
			if same {
				worker = idle(t, cfg, w)
			}
			must(t, worker.RegisterStep("work", func(ctx context.Context, _ *engine.Step) (any, error) {
				close(begun)
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return "too late", nil
			}))
			worker.run()
			r := worker
			if !same {
				r = worker.beside(w)
			}
			r.start(w, "a", nil)
			within(t, begun)
			r.mustSend("a", "x", "stop", nil)
			if cause := within(t, causes); !errors.Is(cause, engine.ErrStepCancelled) {
				t.Errorf("cause %v", cause)
			}
			if got := r.tally("a"); got["step.cancelled"] != 1 {
				t.Errorf("events %v", got)
			}
			worker.stop()
			if got := r.tally("a"); got["step.completed"] != 0 || r.asks("SELECT EXISTS (SELECT FROM tasks)") {
				t.Errorf("the late output was taken, or its row is left: %v", got)
			}
		})
	}
}
