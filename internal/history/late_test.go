package history

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

func wait1Until(id, name string, after time.Duration) *OpenWait {
	at := epoch.Add(after)
	return &OpenWait{ID: spec.WaitID(id), Signal: name, Until: &at}
}

func hookUntil(id string, after time.Duration) *CreateHook {
	c := hookNamed(id)
	at := epoch.Add(after)
	c.At = &at
	return c
}

// atOnceAndLate plays a script on a run whose turns come after every step and on one whose turns come an hour after the
// last one, compares what happened and returns the late one.
func atOnceAndLate(t *testing.T, a author, cooperative bool, script ...func(r *rig)) *rig {
	t.Helper()
	fast, slow := newRig(t, a), newRig(t, a)
	for _, r := range []*rig{fast, slow} {
		r.auth.cooperative = cooperative
		r.settle()
		for _, step := range script {
			step(r)
			if r == fast {
				r.settle()
			}
		}
	}
	slow.pass(time.Hour)
	slow.settle()
	if diff := cmp.Diff(taken(fast), taken(slow)); diff != "" {
		t.Errorf("at once against late:\n%s", diff)
	}
	return slow
}

func passing(d time.Duration) func(*rig) { return func(r *rig) { r.pass(d) } }

// sending delivers a signal; a run that ended already may refuse it.
func sending(id, name string) func(*rig) {
	return func(r *rig) {
		if _, err := r.signal(id, name, id); err != nil && !errors.Is(err, ErrRunEnded) {
			r.t.Fatalf("signal %s: %v", id, err)
		}
	}
}

func TestLate_a_message_at_the_deadline_of_a_wait_that_was_open_before_is_late(t *testing.T) {
	t.Parallel()
	slow := atOnceAndLate(t, func(s *State) Decision {
		if _, ok := got(s, "go"); !ok {
			return decide(wait1("go", "go"))
		}
		switch status, _ := s.Wait("w"); status {
		case WaitDone:
			return decide(complete("answered"))
		case WaitLate:
			return decide(complete("late"))
		}
		return decide(wait1Until("w", "a", 4*time.Second))
	}, false, passing(2*time.Second), sending("g", "go"), passing(2*time.Second), sending("m", "a"))
	if last := slow.story()[len(slow.events)-1]; last != `run.completed "late"` {
		t.Error(last)
	}
}

func TestLate_a_wait_first_opened_takes_what_is_buffered_behind_another_message_of_the_same_instant(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		switch status, _ := s.Wait("w"); status {
		case WaitDone:
			return decide(complete("had one"))
		case WaitLate:
			return decide(complete("had none"))
		}
		return decide(wait1Until("w", "a", -time.Hour))
	})
	sending("x", "b")(r)
	sending("m", "a")(r)
	r.pass(time.Second)
	r.settle()
	if last := r.story()[len(r.events)-1]; last != `run.completed "had one"` {
		t.Errorf("%s\n%v", last, r.story())
	}
}

// withdrawer disposes of hook h, which expires at 8 s, at the first stop, and then waits for item until 6 s.
func withdrawer(s *State) Decision {
	if _, ok := got(s, "stop"); !ok {
		return decide(hookUntil("h", 8*time.Second), wait1("stop", "stop"))
	}
	if s.Hook("h").State == StateExpired {
		return decide(complete("nobody answered"))
	}
	switch status, _ := s.Wait("item"); status {
	case WaitDone:
		return decide(complete("item"))
	case WaitLate:
		return decide(complete("no item"))
	}
	return decide(&WithdrawHook{ID: "h"}, wait1Until("item", "item", 6*time.Second))
}

func TestLate_a_hook_withdrawn_before_its_deadline_is_withdrawn_however_late_the_turn_runs(t *testing.T) {
	t.Parallel()
	r := newRig(t, withdrawer)
	r.settle()
	r.pass(5 * time.Second)
	sending("s", "stop")(r)
	r.pass(2 * time.Second)
	sending("m", "item")(r) // at 7 s: after the deadline of the wait that a turn at 5 s would have opened
	r.pass(13 * time.Second)
	if _, err := r.resume("h", 1); err == nil {
		t.Error("an answer past the deadline was accepted")
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created h", "wait.opened stop", "signal.received s", "signal.received m",
		"wait.completed stop<s", "hook.expired h", "wait.opened item", "wait.timed_out item", `run.completed "no item"`)
	if r.hooks["h"].State != StateExpired {
		t.Errorf("callers were told that the hook expired, and its row says %s", r.hooks["h"].State)
	}
}

func TestLate_a_cancel_accepted_after_a_message_is_not_shown_before_it_by_continue_as_new(t *testing.T) {
	t.Parallel()
	slow := atOnceAndLate(t, func(s *State) Decision {
		if s.CancelRequested() {
			return decide(&AcceptCancel{})
		}
		if s.Generation() == 1 {
			if _, ok := got(s, "roll"); ok {
				return decide(&ContinueAsNew{Input: payload(nil)})
			}
			return decide(wait1("roll", "roll"))
		}
		if _, ok := got(s, "item"); ok {
			return decide(complete("item"))
		}
		return decide(wait1("item", "item"))
	}, true, passing(time.Second), sending("r", "roll"), passing(time.Second), sending("m", "item"), passing(time.Second),
		func(r *rig) { _, _ = r.accept(&CancelRun{Run: testKey}) })
	if slow.run.Status != Completed {
		t.Errorf("%s: %v", slow.run.Status, slow.story())
	}
}

func TestLate_a_cancel_not_yet_taken_goes_over_twice(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		switch {
		case s.CancelRequested():
			return decide(&AcceptCancel{})
		case s.Generation() < 3:
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(wait1("w", "w"))
	})
	r.auth.cooperative = true
	if _, err := r.accept(&CancelRun{Run: testKey}); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "run.cancel_requested", "run.continued", "run.continued", "wait.opened w",
		"wait.withdrawn w", "run.cancelled")
}
