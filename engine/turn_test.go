package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
)

// waiting is a workflow that stays where it waits for three timers, of which the first takes a second and the others no
// time; settled is told of each.
func waiting(ended *int, settled func(c *engine.Context)) engine.Workflow {
	return func(c *engine.Context) (engine.Decision, error) {
		defer func() { *ended++ }()
		for i := range 3 {
			for !c.TimerFired(engine.ID("t", i)) {
				c = c.Turn().Next(c.Timer(engine.ID("t", i), max(0, 1-time.Duration(i))*time.Second))
			}
			settled(c)
		}
		return c.Complete(nil), nil
	}
}

// TestNextGoesOnInPlace: within a turn the function is not called again, and it has ended when the turn has.
func TestNextGoesOnInPlace(t *testing.T) {
	t.Parallel()
	ended, places := 0, []int{}
	run := enginetest.New(t, testSpec, waiting(&ended, func(c *engine.Context) { places = append(places, c.Turn().Settled()) }))
	run.Start(nil)
	if ended != 2 { // dev mode calls twice
		t.Errorf("after the first turn %d executions have ended", ended)
	}
	ended = 0
	run.Advance(time.Minute) // one turn: all but the first timer are due at once
	run.Result()
	if diff := cmp.Diff([]int{1, 1, 2, 3}, places); diff != "" || ended != 2 {
		t.Errorf("%d executions ended; places %s", ended, diff)
	}
}

func TestFaultAndRefuse(t *testing.T) {
	t.Parallel()
	for want, fn := range map[string]engine.Workflow{
		"nondeterminism: from aside": func(c *engine.Context) (engine.Decision, error) {
			c.Turn().Fault("from aside")
			c.Turn().Fault("a second time")
			return c.Complete(nil), nil
		},
		"nondeterminism: between calls": func(c *engine.Context) (engine.Decision, error) {
			defer c.Turn().Fault("between calls")
			c.Turn().Next(c.Timer("t", time.Hour))
			return c.Complete(nil), nil
		},
		"no_progress: nothing": func(c *engine.Context) (engine.Decision, error) {
			return c.Turn().Refuse(engine.CauseNoProgress, "nothing"), nil
		},
		"error: joined": func(c *engine.Context) (engine.Decision, error) {
			c.Turn().Next(c.Await(c.Turn().Refuse(engine.CauseError, "joined"), c.Complete(nil)))
			return c.Complete(nil), nil
		},
	} {
		run := enginetest.New(t, testSpec, fn)
		run.ExpectBlocked()
		run.Start(nil)
		if got := run.BlockedReason(); got != want {
			t.Errorf("blocked for %q, want %q", got, want)
		}
	}
}

// A Context that was handed in is over, as after returning.
func TestContextIsOverAfterNext(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		next := c.Turn().Next(c.Timer("t", 0))
		c.Now() // ends the goroutine
		return next.Complete(nil), nil
	})
	run.ExpectBlocked()
	run.Start(nil)
	if got, want := run.BlockedReason(), "panic: the workflow function ended its goroutine (runtime.Goexit)"; got != want {
		t.Errorf("blocked for %q, want %q", got, want)
	}
}
