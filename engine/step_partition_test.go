package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A process that cannot renew a lease tells its function when the lease ends, and another one has done the step by then or
// does it next; what the first one brings is refused.
func TestProcessThatCannotRenewLosesTheStep(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	w := oneStep(spec.FixedRetry(3, 0))
	var b pgfault.Breaker
	cfg := testConfig(t, brokenPool(t, pool, &b))
	cfg.StepLease = time.Second
	cfg.StepQueues = map[string]int{"default": 1}
	cut := idle(t, cfg, w)
	renewing := b.AtText(func(sql string) bool { return strings.Contains(sql, "octet_length(h.details)") }, 1, pgfault.Hold, "")
	causes, let := make(chan error, 1), make(chan struct{})
	must(t, cut.RegisterStep("work", func(ctx context.Context, _ *engine.Step) (any, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		<-let
		return "cut off", nil
	}))
	cut.run()
	cut.start(w, "a", nil)
	within(t, renewing.Met())
	other := idle(t, testConfig(t, pool), w)
	must(t, other.RegisterStep("work", func(_ context.Context, s *engine.Step) (any, error) { return s.Attempt, nil }))
	other.run()
	began := time.Now()
	if cause := within(t, causes); !errors.Is(cause, engine.ErrLeaseLost) {
		t.Errorf("cause %v", cause)
	}
	if took := time.Since(began); took > 2*cfg.StepLease {
		t.Errorf("it is told after %s", took)
	}
	if out := other.completed("a"); out != "2" {
		t.Errorf("output %s", out)
	}
	renewing.Release()
	close(let)
	cut.stop()
	if n := other.tally("a"); n["step.completed"] != 1 {
		t.Errorf("events %v", n)
	}
}

// A turn that is stored while the answer is lost has begun its step in this process: it is done, once, at once, and its one
// attempt is none that failed.
func TestTurnWhoseAnswerIsLostHasBegunItsStep(t *testing.T) {
	t.Parallel()
	for _, kind := range []pgfault.Kind{pgfault.LoseBefore, pgfault.LoseAfter, pgfault.Detach} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			w := oneStep(spec.NoRetry())
			var b pgfault.Breaker
			cfg := testConfig(t, brokenPool(t, pool, &b))
			r := idle(t, cfg, w)
			calls := make(chan int, 9)
			must(t, r.RegisterStep("work", func(_ context.Context, s *engine.Step) (any, error) {
				calls <- s.Attempt
				return "done", nil
			}))
			fault := b.AtText(commitAfter("INSERT INTO tasks"), 1, kind, "")
			r.run()
			r.start(w, "a", nil)
			within(t, fault.Met())
			fault.Release()
			if out := r.completed("a"); out != `"done"` {
				t.Errorf("output %s", out)
			}
			if len(calls) != 1 {
				t.Errorf("%d calls", len(calls))
			}
		})
	}
}

// The commit of such a turn that arrives when nobody waits for it any more is found out about, too.
func TestTurnThatIsStoredLateHasItsStepDone(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	w := oneStep(spec.NoRetry())
	var b pgfault.Breaker
	cfg := testConfig(t, brokenPool(t, pool, &b))
	cfg.PollInterval = 100 * time.Millisecond
	r := idle(t, cfg, w)
	must(t, r.RegisterStep("work", gives("done")))
	match, over := commitAfter("INSERT INTO tasks"), make(chan struct{})
	asked, looks := false, 0
	fault := b.AtText(func(sql string) bool {
		asked = asked || strings.Contains(sql, "AS alive") // whose step it is
		if asked && strings.Contains(sql, "AS first_due") {
			if looks++; looks == 3 {
				close(over)
			}
		}
		return match(sql)
	}, 1, pgfault.Detach, "")
	r.run()
	r.start(w, "a", nil)
	within(t, fault.Met())
	within(t, over)
	fault.Release()
	if out := r.completed("a"); out != `"done"` {
		t.Errorf("output %s", out)
	}
}
