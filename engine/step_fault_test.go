package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// work3 does two steps at once, then a third, and tells what they gave.
var work3 = workflow{
	spec.WorkflowSpec{Name: "work3", Version: "1"},
	func(ctx *engine.Context) (engine.Decision, error) {
		retry := spec.FixedRetry(1000, 0)
		a, ok1, err1 := engine.StepOutput[string](ctx, "a")
		b, ok2, err2 := engine.StepOutput[string](ctx, "b")
		if err := errors.Join(err1, err2); err != nil {
			return engine.Decision{}, err
		}
		if !ok1 || !ok2 {
			return ctx.Await(ctx.RunStep("a", "work", "a", retry), ctx.RunStep("b", "work", "b", retry)), nil
		}
		c, ok, err := engine.StepOutput[string](ctx, "c")
		if err != nil || !ok {
			return ctx.RunStep("c", "work", a+b, retry), err
		}
		return ctx.Complete(c), nil
	},
}

// flaky fails every third attempt, and echoes otherwise.
func flaky() engine.StepFunc {
	var n atomic.Int64
	return engine.TypedStep(func(_ context.Context, _ *engine.Step, in string) (string, error) {
		if n.Add(1)%3 == 0 {
			return "", errors.New("every third")
		}
		return in, nil
	})
}

// wantWork3 checks that the runs completed, and that each of their steps has one outcome.
func (r *rig) wantWork3(runs int) {
	r.t.Helper()
	for i := range runs {
		id := spec.RunID(fmt.Sprint("run-", i))
		s := r.until(id, "completed", func(s engine.Snapshot) bool { return s.ClosedAt != nil })
		if s.Status != engine.StatusCompleted || string(s.Output) != `"ab"` {
			r.t.Errorf("%s is %s: %s %s", id, s.Status, s.Output, s.Error)
		}
		if n := r.tally(id); n["step.scheduled"] != 3 || n["step.completed"] != 3 || len(n)-min(n["facts.taken"], 1) != 4 {
			r.t.Errorf("%s: %v", id, n)
		}
	}
	r.eventually("no row of a task is left", func() bool { return r.asks("SELECT NOT EXISTS (SELECT FROM tasks)") })
}

// Two whole engines on connections that break at random statements share two hundred runs: in the end each step has one
// outcome, and each run its result.
func TestRandomFaultsGiveEachStepOneOutcome(t *testing.T) {
	t.Parallel()
	const runs = 200
	pool := pgtest.New(t)
	stop := make(chan struct{})
	var breaking sync.WaitGroup
	var engines []*rig
	var troubles []*trouble
	for seed := range uint64(2) {
		x := &trouble{random: rand.New(rand.NewPCG(seed, 2)), news: make(chan struct{}, 1)}
		cfg := testConfig(t, brokenPool(t, pool, &x.breaker))
		cfg.StepLease = time.Second
		r := idle(t, cfg, work3)
		must(t, r.RegisterStep("work", flaky()))
		engines, troubles = append(engines, r.run()), append(troubles, x)
		breaking.Go(func() { x.run(stop) })
	}
	parallel(10, func(i int) {
		for n := i; n < runs; n += 10 {
			c := &caller{r: engines[n%2], run: spec.RunID(fmt.Sprint("run-", n)), news: troubles[n%2].news, accepted: map[string]int{}}
			c.insist("start", func() (engine.Verdict, error) {
				s, err := c.r.Start(context.Background(), engine.StartRequest{Workflow: "work3", RunID: c.run})
				return s.Verdict, err
			})
		}
	})
	healthy := idle(t, testConfig(t, pool)).run()
	healthy.eventually("a quarter of the runs is over", func() bool { // each fault makes its engine rest
		return healthy.asks("SELECT count(*) > $1 FROM runs WHERE closed_at IS NOT NULL", runs/4)
	})
	close(stop)
	breaking.Wait()
	for _, x := range troubles {
		x.breaker.Wait()
		if x.faults < 10 {
			t.Errorf("%d faults only", x.faults)
		}
	}
	healthy.wantWork3(runs)
}

// The database dies under steps, whose outcomes come while it is away: each is stored once when it is back, without that
// the step is done again.
func TestStepsOutliveADatabaseOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	pool, err := pgxpool.New(t.Context(), server.URL())
	must(t, err)
	t.Cleanup(pool.Close)
	const runs = 8
	r := idle(t, testConfig(t, pool), work3)
	var calls atomic.Int32
	begun, let := make(chan struct{}, 2*runs), make(chan struct{})
	must(t, r.RegisterStep("work", engine.TypedStep(func(_ context.Context, _ *engine.Step, in string) (string, error) {
		if calls.Add(1); len(in) == 1 {
			begun <- struct{}{}
			<-let
		}
		return in, nil
	})))
	r.run()
	for i := range runs {
		r.start(work3, spec.RunID(fmt.Sprint("run-", i)), nil)
	}
	for range 2 * runs {
		within(t, begun)
	}
	server.Kill()
	close(let)
	for r.Ping(r.ctx()) == nil { // it is away
	}
	pgtest.Restart(t, server)
	r.until("run-0", "read", func(s engine.Snapshot) bool { return s.RunID == "run-0" })
	r.wantWork3(runs)
	if n := calls.Load(); n != 3*runs {
		t.Errorf("%d calls, want %d", n, 3*runs)
	}
}

// commitAfter matches the COMMIT that follows a statement with a text.
func commitAfter(text string) func(sql string) bool {
	armed := false
	return func(sql string) bool {
		if strings.Contains(sql, text) {
			armed = true
		}
		return armed && strings.EqualFold(strings.TrimSpace(sql), "commit")
	}
}

// A claim that is committed while its answer is lost has begun a step that nobody tries: that is no failed attempt, and does
// not wait for the end of the lease.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	w := oneStep(spec.NoRetry())
	r := idle(t, testConfig(t, pool), w).run()
	r.start(w, "a", nil)
	r.waiting("a", "s")
	var b pgfault.Breaker
	cfg := testConfig(t, brokenPool(t, pool, &b))
	cfg.StepLease = time.Hour
	other := idle(t, cfg)
	must(t, other.RegisterStep("work", gives("done")))
	fault := b.AtText(commitAfter("failures + (t.worker IS NOT NULL)"), 1, pgfault.LoseAfter, "")
	other.run()
	within(t, fault.Met())
	if out := r.completed("a"); out != `"done"` {
		t.Errorf("output %s", out)
	}
}

// The statements that claim a step, return it and store its outcome are refused, lost before or lost after: the step has
// one outcome.
func TestFaultAtEachStatementOfAStep(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"claim": "failures + (t.worker IS NOT NULL)", "return": "RETURNING t.attempt", "settle": "DELETE FROM tasks",
	} {
		for _, kind := range []pgfault.Kind{pgfault.Refuse, pgfault.LoseBefore, pgfault.LoseAfter} {
			t.Run(fmt.Sprint(name, " ", kind), func(t *testing.T) {
				t.Parallel()
				pool := pgtest.New(t)
				var b pgfault.Breaker
				cfg := testConfig(t, brokenPool(t, pool, &b))
				cfg.StepLease = time.Second
				r := idle(t, cfg, work3)
				var failed atomic.Bool
				must(t, r.RegisterStep("work", engine.TypedStep(func(_ context.Context, _ *engine.Step, in string) (string, error) {
					if !failed.Swap(true) {
						return "", errors.New("once")
					}
					return in, nil
				})))
				fault := b.AtText(func(sql string) bool { return strings.Contains(sql, text) }, 1, kind, pgfault.States()[0])
				r.run()
				r.start(work3, "run-0", nil)
				within(t, fault.Met())
				fault.Release()
				idle(t, testConfig(t, pool)).run().wantWork3(1)
			})
		}
	}
}
