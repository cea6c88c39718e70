package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTurn_a_cut_turn_goes_on_where_it_stopped(t *testing.T) {
	t.Parallel()
	whole, parts := newRig(t, collect(5)), newRig(t, collect(5))
	for _, r := range []*rig{whole, parts} {
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			if _, err := r.signal(id, "item", id); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole.settle()
	for parts.run.Status == Running {
		out := parts.turnCut(0)
		if !out.Ended && (parts.run.WakeAt == nil || parts.run.WakeAt.After(parts.now)) {
			t.Fatal("a cut turn left the run asleep")
		}
	}
	if diff := cmp.Diff(whole.story(), parts.story()); diff != "" {
		t.Errorf("whole against parts:\n%s", diff)
	}
	if parts.turns < 5 {
		t.Errorf("%d turns, want one for each call", parts.turns)
	}
}

func TestTurn_the_event_budget_commits_what_it_has(t *testing.T) {
	t.Parallel()
	r := newRig(t, collect(9))
	r.lim.TurnEvents = 4
	for i := range 9 {
		if _, err := r.signal(string(rune('a'+i)), "item", i); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	if r.run.Status != Completed || r.turns < 4 {
		t.Errorf("%s after %d turns", r.run.Status, r.turns)
	}
}

func TestTurn_a_cut_does_not_hide_that_nothing_is_left_to_wait_for(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]func(r *rig){
		"cut by the budget of its calls": func(r *rig) { r.turnCut(0) },
		"cut by the budget of events":    func(r *rig) { r.lim.TurnEvents = 1; r.turn() },
	} {
		r := newRig(t, func(s *State) Decision {
			if s.TimerFired("t") {
				return decide(timerIn("t", 0))
			}
			return decide(timerIn("t", time.Second))
		})
		r.settle()
		r.pass(time.Second)
		turn(r)
		r.settle()
		if r.run.Status != Blocked || r.run.BlockCause != BlockNoProgress {
			t.Errorf("%s: %s, due %v, waiting for %v", name, r.run.Status, r.run.WakeAt, r.cold().Waiting())
		}
	}
}
