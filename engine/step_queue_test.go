package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// many does n steps at once, of so many names, and ends when all of them are done.
func many(n, names int) workflow {
	return workflow{spec.WorkflowSpec{Name: "many", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		sum := 0
		var all []engine.Decision
		for i := range n {
			id := engine.ID("s", i)
			v, done, err := engine.StepOutput[int](ctx, id)
			if err != nil {
				return engine.Decision{}, err
			}
			if !done {
				all = append(all, ctx.RunStep(id, fmt.Sprint("work-", i%names), i, spec.NoRetry()))
			}
			sum += v
		}
		if len(all) > 0 {
			return ctx.Await(all...), nil
		}
		return ctx.Complete(sum), nil
	}}
}

// neverPolls is a configuration that finds nothing but by hints and by what a claim says.
func neverPolls(t testing.TB, cfg engine.Config) engine.Config {
	t.Helper()
	cfg.PollInterval = time.Hour
	return cfg
}

// A queue with fewer places than names does all of them, one after the other, and never more at a time than it may. Nothing
// waits for a poll.
func TestQueueServesAllNamesWithinItsPlaces(t *testing.T) {
	t.Parallel()
	for _, places := range []int{1, 3} {
		t.Run(fmt.Sprint(places), func(t *testing.T) {
			t.Parallel()
			const names = 12
			cfg := neverPolls(t, testConfig(t, pgtest.New(t)))
			cfg.StepQueues = map[string]int{"narrow": places}
			w := many(2*names, names)
			r := idle(t, cfg, w)
			var now, most atomic.Int32
			for i := range names {
				must(t, r.RegisterStep(fmt.Sprint("work-", i), func(_ context.Context, s *engine.Step) (any, error) {
					defer now.Add(-1)
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					<-time.After(time.Millisecond) // or they would not meet
					return s.Input, nil
				}, engine.InQueue("narrow")))
			}
			r.run()
			r.start(w, "a", nil)
			if out := r.completed("a"); out != "276" {
				t.Errorf("output %s", out)
			}
			if m := int(most.Load()); m > places {
				t.Errorf("%d at a time in a queue of %d", m, places)
			}
		})
	}
}

// A step that becomes due while its queue is full is begun when a place is free, and a full queue holds up no other one.
func TestFullQueueHoldsUpItselfOnly(t *testing.T) {
	t.Parallel()
	cfg := neverPolls(t, testConfig(t, pgtest.New(t)))
	cfg.StepQueues = map[string]int{"slow": 1}
	w := called(spec.NoRetry())
	r := idle(t, cfg, w)
	let, begun := make(chan struct{}), make(chan spec.RunID, 3)
	must(t, r.RegisterStep("slow", func(_ context.Context, s *engine.Step) (any, error) {
		begun <- s.RunID
		<-let
		return nil, nil
	}, engine.InQueue("slow")))
	must(t, r.RegisterStep("quick", gives("quick")))
	r.run()
	for _, run := range []spec.RunID{"a", "b", "c"} {
		r.start(w, run, "slow")
	}
	first := within(t, begun)
	r.start(w, "q", "quick")
	if out := r.completed("q"); out != `"quick"` {
		t.Errorf("output %s", out)
	}
	select {
	case second := <-begun:
		t.Errorf("%s and %s at once", first, second)
	default:
	}
	close(let)
	for _, run := range []spec.RunID{"a", "b", "c"} {
		r.completed(run)
	}
}

// A place that a function keeps which does not end stays taken; its step is tried again in another one.
func TestFunctionThatIgnoresItsContextKeepsItsPlace(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.StepQueues = map[string]int{"default": 2}
	w := called(spec.FixedRetry(2, 0), engine.StartToClose(10*time.Millisecond))
	r := idle(t, cfg, w)
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	var calls atomic.Int32
	must(t, r.RegisterStep("deaf", func(_ context.Context, s *engine.Step) (any, error) {
		if calls.Add(1) == 1 {
			<-let
		}
		return s.Attempt, nil
	}))
	r.run()
	r.start(w, "a", "deaf")
	if out := r.completed("a"); out != "2" {
		t.Errorf("output %s", out)
	}
	r.start(w, "b", "deaf")
	if out := r.completed("b"); out != "1" {
		t.Errorf("output %s", out)
	}
}

// Very many steps of one run, each done once.
func TestManyStepsOfOneRun(t *testing.T) {
	t.Parallel()
	const n = manySteps
	w := many(n, 1)
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	var calls atomic.Int32
	must(t, r.RegisterStep("work-0", func(_ context.Context, s *engine.Step) (any, error) {
		calls.Add(1)
		return s.Input, nil
	}))
	r.run()
	r.start(w, "a", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience) // each call of the function names all that are left
	defer cancel()
	if s, err := r.Wait(ctx, "a"); err != nil || string(s.Output) != fmt.Sprint(n*(n-1)/2) {
		t.Errorf("%s %s %v", s.Status, s.Output, err)
	}
	if got := r.tally("a"); got["step.scheduled"] != n || got["step.completed"] != n || calls.Load() != n {
		t.Errorf("events %v, %d calls", got, calls.Load())
	}
	if r.asks("SELECT EXISTS (SELECT FROM tasks)") {
		t.Error("rows of tasks are left")
	}
}
