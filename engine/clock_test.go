package engine_test

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A process whose clock is off by minutes fires what is due in time, without the help of a poll, and its runs bear the
// times of the database.
func TestAWrongClockIsNoWrongTime(t *testing.T) {
	t.Parallel()
	nap := workflow{
		spec: spec.WorkflowSpec{Name: "nap", Version: "1"},
		fn: func(ctx *engine.Context) (engine.Decision, error) {
			if ctx.TimerFired("nap") {
				return ctx.Complete("awake"), nil
			}
			return ctx.Timer("nap", time.Second), nil
		},
	}
	for _, ahead := range []time.Duration{7 * time.Minute, -7 * time.Minute} {
		cfg := testConfig(t, pgtest.New(t))
		cfg.PollInterval = 10 * patience
		cfg.Clock = func() time.Time { return time.Now().Add(ahead) }
		r := idle(t, cfg, nap).run()
		r.start(nap, "r0", nil)
		r.ended("r0") // the hints of other connections, which take a moment to be made, have come
		r.start(nap, "r1", nil)
		s := r.ended("r1")
		if off := time.Since(s.CreatedAt).Abs(); off > time.Minute {
			t.Errorf("clock ahead by %s: the run bears a time that is off by %s", ahead, off)
		}
		if slept := s.ClosedAt.Sub(s.CreatedAt); slept < time.Second {
			t.Errorf("clock ahead by %s: a nap of %s, want 1 s", ahead, slept)
		}
	}
}
