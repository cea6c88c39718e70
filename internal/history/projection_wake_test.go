package history

import (
	"slices"
	"testing"
	"time"
)

// A run sleeps until exactly what comes next, and not while there is work.
func TestProjection_compares_the_schedule(t *testing.T) {
	t.Parallel()
	patient := func(s *State) Decision {
		if _, ok := got(s, "go"); ok {
			return decide(complete("done"))
		}
		if s.TimerFired("t") {
			return decide(wait1("go", "go"))
		}
		return decide(timerIn("t", time.Hour), wait1("go", "go"))
	}
	const rest = time.Minute
	for _, tc := range []struct {
		name  string
		bring func(r *rig)
		now   time.Duration // after the rig's
		ok    []time.Duration
		wrong []time.Duration // after the rig's time; never is nil
	}{
		{"not called yet", func(*rig) {}, 0, []time.Duration{-time.Hour, 0, rest}, []time.Duration{rest + 1, never}},
		{"asleep", (*rig).settle, 0, []time.Duration{time.Hour}, []time.Duration{time.Hour - 1, time.Hour + 1, 0, never}},
		{"asleep and overdue", (*rig).settle, time.Hour, []time.Duration{time.Hour, 0, time.Hour + rest}, []time.Duration{time.Hour + rest + 1, never}},
		{"asleep without deadline", func(r *rig) {
			r.settle()
			r.pass(time.Hour)
			r.settle()
		}, 0, []time.Duration{never}, []time.Duration{0, time.Hour}},
		{"a message not shown", func(r *rig) {
			r.settle()
			_, _ = r.signal("x", "other", 1)
		}, 0, []time.Duration{0, rest}, []time.Duration{time.Hour, never}},
		{"a clock that went back", func(r *rig) {
			r.settle()
			r.pass(time.Second)
			_, _ = r.signal("x", "other", 1)
		}, -time.Hour, []time.Duration{0, rest}, []time.Duration{rest + 1, never}},
		{"blocked", func(r *rig) {
			r.broken = true
			r.settle()
		}, 0, []time.Duration{0, time.Second, 24 * time.Hour}, []time.Duration{never}},
		{"ended", func(r *rig) {
			_, _ = r.signal("x", "go", 1)
			r.settle()
		}, 0, []time.Duration{never}, []time.Duration{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, patient)
			tc.bring(r)
			for _, after := range append(append([]time.Duration{}, tc.ok...), tc.wrong...) {
				p := project(r.events)
				row := r.run
				row.WakeAt = nil
				if after != never {
					at := r.now.Add(after)
					row.WakeAt = &at
				}
				p.CompareRun(row, r.now.Add(tc.now), rest)
				want := 0
				if !slices.Contains(tc.ok, after) {
					want = 1
				}
				if p.count != want || want == 1 && p.found[0].Field != "wake_at" {
					t.Errorf("wake_at %s after now: %v, want %d differences", after, p.found, want)
				}
			}
		})
	}
}

const never = time.Duration(-1) << 62
