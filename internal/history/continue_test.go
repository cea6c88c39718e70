package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// eachGeneration consumes one item per generation and keeps what it has in the input, n in all.
func eachGeneration(n int) author {
	return func(s *State) Decision {
		done := s.Generation() - 1
		if done == n {
			return decide(complete(string(s.Input().Bytes())))
		}
		if p, ok := got(s, "item"); ok {
			return decide(&ContinueAsNew{Input: payload(strings.Trim(string(s.Input().Bytes()), `"`) + string(p.Bytes()))})
		}
		return decide(wait1("item", "item"))
	}
}

func TestContinue_C24_C25_no_message_is_lost_and_order_holds(t *testing.T) {
	t.Parallel()
	r := newRig(t, eachGeneration(20))
	for i := range 10 {
		if _, err := r.signal(fmt.Sprint("a", i), "item", i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		r.turn()
		if _, err := r.signal(fmt.Sprint("b", i), "item", i); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	if r.run.Status != Completed || r.run.Generation != 21 || r.run.Backlog != 0 {
		t.Fatalf("%s in generation %d with %d unread", r.run.Status, r.run.Generation, r.run.Backlog)
	}
	seq := int64(0)
	for i := range 20 {
		id := spec.SignalID(fmt.Sprint("a", i))
		if i >= 10 {
			id = spec.SignalID(fmt.Sprint("b", i-10))
		}
		sig := r.signals[id]
		if sig.ConsumedBy == nil || sig.ConsumedBy.Generation != i+1 || sig.Seq < seq {
			t.Errorf("signal %s: %+v, want consumed in generation %d", id, sig.ConsumedBy, i+1)
		}
		seq = sig.Seq
	}
}

func TestContinue_C26_an_identity_holds_over_generations(t *testing.T) {
	t.Parallel()
	r := newRig(t, eachGeneration(2))
	first, err := r.signal("E1", "item", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.settle()
	again, err := r.signal("E1", "item", 1)
	if err != nil || again.Verdict != Duplicate || again.Sequence != first.Sequence || again.ReceivedAt != first.ReceivedAt {
		t.Errorf("redelivery after continue-as-new: %+v, %v; first %+v", again, err, first)
	}
}

// roll opens hooks h and late, rolls over once on the signal roll, and in generation 2 reports what it sees of h.
func roll(read bool) author {
	return func(s *State) Decision {
		if s.Generation() == 1 {
			if read {
				s.Hook("h")
			}
			if _, ok := got(s, "roll"); ok {
				return decide(&ContinueAsNew{Input: payload(nil)})
			}
			return decide(hookNamed("h"), hookFor("late", time.Hour), wait1("roll", "roll"))
		}
		if v := s.Hook("h"); v.State != "" && v.State != StateActive {
			return decide(complete(string(v.State)))
		}
		return decide(&CreateHook{ID: "h", Grant: TokenGrant{MintKey: "m"}}, wait1("end", "end"))
	}
}

func TestContinue_an_answer_never_read_goes_over(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		read        bool
		answerFirst bool
		want        string
	}{
		"taken before the roll-over, never asked about": {false, true, `run.completed "resumed"`},
		"accepted and not yet taken at the roll-over":   {true, false, `run.completed "resumed"`},
	} {
		r := newRig(t, roll(tc.read))
		r.settle()
		answer := func() {
			if _, err := r.resume("h", 1); err != nil {
				t.Fatal(err)
			}
		}
		if tc.answerFirst {
			answer()
			r.settle()
		}
		if _, err := r.signal("r", "roll", 1); err != nil {
			t.Fatal(err)
		}
		if !tc.answerFirst {
			answer()
		}
		r.settle()
		if last := r.story()[len(r.events)-1]; last != tc.want {
			t.Errorf("%s: %s\n%v", name, last, r.story())
		}
		if r.hooks["late"].State != StateRunEnded {
			t.Errorf("%s: the open hook that went over ended as %s", name, r.hooks["late"].State)
		}
	}
}

func TestContinue_an_answer_that_was_read_does_not_go_over(t *testing.T) {
	t.Parallel()
	r := newRig(t, roll(true))
	r.settle()
	if _, err := r.resume("h", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if _, err := r.signal("r", "roll", 1); err != nil {
		t.Fatal(err)
	}
	r.refuse = map[spec.HookID]Rejection{"h": {Reason: RejectIDUsed}}
	r.settle()
	if v := r.state().Hook("h"); v.Rejected == nil || v.Rejected.Reason != RejectIDUsed {
		t.Errorf("the hook ID could be used again: %+v", v)
	}
}

func TestContinue_open_hooks_keep_their_token_and_deadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, roll(false))
	r.settle()
	before := r.hooks["late"]
	if _, err := r.signal("r", "roll", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if got := r.state().hooks["late"].record; got.Grant.Digest != before.Grant.Digest || !got.ExpiresAt.Equal(*before.ExpiresAt) {
		t.Errorf("carried hook %+v, want %+v", got, before)
	}
	if r.run.WakeAt == nil || !r.run.WakeAt.Equal(*before.ExpiresAt) {
		t.Errorf("the run is due at %v, want the hook's deadline", r.run.WakeAt)
	}
	if _, err := r.resume("late", 2); err != nil {
		t.Errorf("a carried hook refused its answer: %v", err)
	}
}

func TestContinue_ends_waits_and_timers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.Generation() == 2 {
			return decide(wait1("w2", "go"))
		}
		if _, ok := got(s, "roll"); ok {
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(wait1("roll", "roll"), wait1("w", "go"), timerIn("tm", time.Minute))
	})
	r.settle()
	if _, err := r.signal("1", "roll", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "wait.opened roll", "wait.opened w", "timer.started tm", "signal.received 1",
		"wait.completed roll<1", "timer.cancelled tm", "wait.withdrawn w", "run.continued", "wait.opened w2")
	if r.run.WakeAt != nil {
		t.Errorf("due at %v because of a timer of the old generation", r.run.WakeAt)
	}
}

func TestContinue_straight_after_an_answer_folds_from_the_new_generation(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.Generation() == 2 {
			return decide(complete("two"))
		}
		if s.Hook("h").State == StateResumed {
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(hookNamed("h"))
	})
	r.settle()
	if _, err := r.resume("h", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created h", "hook.resumed h", "run.continued", `run.completed "two"`)
}

func TestContinue_answers_never_asked_about_keep_their_order_over_generations(t *testing.T) {
	t.Parallel()
	first := ""
	r := newRig(t, func(s *State) Decision {
		if s.Generation() == 3 {
			first = s.First("a", "b", "c")
			return decide(wait1("end", "end"))
		}
		if _, ok := got(s, "roll"); ok {
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(hookNamed("a"), hookNamed("b"), hookNamed("c"), wait1("roll", "roll"))
	})
	r.settle()
	for _, step := range []string{"c", "b", "roll", "a", "roll"} {
		if step == "roll" {
			sending(fmt.Sprint("r", r.run.Generation), "roll")(r)
		} else if _, err := r.resume(step, 1); err != nil {
			t.Fatal(err)
		}
		r.settle()
	}
	if r.run.Generation != 3 || first != "c" {
		t.Errorf("generation %d: %q was first, want c", r.run.Generation, first)
	}
	if again := r.state().First("a", "b"); again != "b" {
		t.Errorf("%q was before the other, want b", again)
	}
	if v := r.state().Hook("a"); v.State != StateResumed || string(v.Payload.Bytes()) != "1" {
		t.Errorf("the answer that went over reads %+v", v)
	}
}

func TestFold_refuses_a_generation_without_the_unread_signals_it_names(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.Generation() == 1 {
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(wait1("w", "w"))
	})
	for _, id := range []string{"a", "b", "c"} {
		sending(id, "item")(r)
	}
	r.settle()
	carried, events := r.generation()
	for name, given := range map[string][]Event{
		"none": nil, "one is missing": carried[1:], "another order": {carried[1], carried[0], carried[2]},
	} {
		if _, err := Fold(testKey, given, events); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
	if _, err := Fold(testKey, carried, events); err != nil {
		t.Error(err)
	}
}

// The first turn of a generation may open nothing: what it names went over. It is known by an event all the same, so the
// code is not called again for nothing, and a verification does not take the run for one that was never called.
func TestContinue_a_generation_that_waits_for_what_went_over_sleeps(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRig(t, func(s *State) Decision {
		calls++
		if s.Generation() == 2 {
			return decide(&WaitHook{ID: "h"})
		}
		if _, ok := got(s, "go"); ok {
			return decide(&ContinueAsNew{Input: payload(nil)})
		}
		return decide(hookNamed("h"), wait1("go", "go"))
	})
	r.settle()
	if _, err := r.signal("s", "go", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if r.run.Generation != 2 || r.run.WakeAt != nil {
		t.Fatalf("generation %d, due at %v", r.run.Generation, r.run.WakeAt)
	}
	for _, d := range first(compareRows(project(r.events), r, r.now)) {
		t.Error(d)
	}
	before := calls
	if _, err := r.resume("h", 1); err != nil {
		t.Fatal(err)
	}
	r.turn()
	if calls != before+1 {
		t.Errorf("%d calls for one answer", calls-before)
	}
}

func first(found []Difference, _ int) []Difference { return found }
