package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// careless opens a hook per generation that ends by itself, never asks about it, and rolls over. From generation asks on it
// asks about those before, or disposes of them.
func careless(asks *bool, how func(s *State, id spec.HookID) []Command) author {
	return func(s *State) Decision {
		var cs []Command
		if *asks {
			for g := 1; g < s.Generation(); g++ {
				cs = append(cs, how(s, spec.HookID(fmt.Sprint("h", g)))...)
			}
		}
		if s.TimerFired("next") {
			return decide(append(cs, &ContinueAsNew{Input: payload(nil)})...)
		}
		return decide(append(cs, hookFor(fmt.Sprint("h", s.Generation()), time.Second), timerIn("next", 2*time.Second))...)
	}
}

func TestHooks_settled_and_never_asked_about_count_over_generations(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*State, spec.HookID) []Command{
		"asking": func(s *State, id spec.HookID) []Command {
			s.Hook(id)
			return nil
		},
		"asking which was first": func(s *State, id spec.HookID) []Command {
			s.First(string(id))
			return nil
		},
		"disposing": func(s *State, id spec.HookID) []Command { return []Command{&WithdrawHook{ID: id}} },
	} {
		asks := false
		r := newRig(t, careless(&asks, how))
		r.lim.OpenHooks = 3
		for range 20 {
			r.settle()
			if r.run.Status == Blocked {
				break
			}
			r.now = *r.run.WakeAt
		}
		if r.run.Status != Blocked || r.run.Generation != 4 || r.run.BlockCause != BlockDecision {
			t.Fatalf("%s: %s in generation %d: %s", name, r.run.Status, r.run.Generation, r.run.BlockDiagnosis)
		}
		for _, words := range []string{"open hooks (1)", "never asked about (3)", "at most 3", "dispose of them"} {
			if !strings.Contains(r.run.BlockDiagnosis, words) {
				t.Errorf("%s: %q does not say %q", name, r.run.BlockDiagnosis, words)
			}
		}
		if s := r.cold(); s.Hook("h1").State != StateExpired { // nothing is lost
			t.Errorf("%s: the first hook reads %+v", name, s.Hook("h1"))
		}
		asks = true // the code is mended
		if _, err := r.accept(&RetryRun{Run: testKey}); err != nil {
			t.Fatal(err)
		}
		r.settle()
		if r.run.Status != Running {
			t.Errorf("%s: %s", name, r.run.BlockDiagnosis)
		}
		if got := r.state().bound; got != 1 {
			t.Errorf("%s: %d hooks count, want the open one", name, got)
		}
	}
}

// What a run carries over is bounded at any time, within a generation too, and an answer that the code was not shown
// counts like an open hook: it cannot have been asked about.
func TestHooks_the_limit_is_on_what_would_go_over(t *testing.T) {
	t.Parallel()
	opened := 0
	r := newRig(t, nil)
	r.lim.OpenHooks = 5
	r.author = func(s *State) Decision {
		if len(s.Peek("more")) == 0 {
			return decide(hookNamed("a"), hookNamed("b"), hookNamed("c"), hookNamed("d"), wait1("end", "end"))
		}
		opened++
		return decide(hookNamed("e"), hookNamed("f"), wait1("end", "end"))
	}
	r.settle()
	sending("m", "more")(r)
	for _, id := range []string{"a", "b", "c", "d"} { // accepted, and not shown when e and f are opened
		if _, err := r.resume(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	r.turn()
	if r.run.BlockCause != BlockDecision || opened != 1 || !strings.Contains(r.run.BlockDiagnosis, "6 hooks open; at most 5") {
		t.Errorf("%s after %d calls: %q", r.run.Status, opened, r.run.BlockDiagnosis)
	}
}

// A hook that was answered while the code disposed of it is shown, and does not count for ever.
func TestHooks_an_answer_that_came_before_its_disposal_is_done_with(t *testing.T) {
	t.Parallel()
	shown := 0
	r := newRig(t, func(s *State) Decision {
		if _, ok := got(s, "go"); !ok {
			return decide(hookNamed("h"), wait1("go", "go"))
		}
		shown++
		if shown == 1 {
			return decide(&WithdrawHook{ID: "h"}, wait1("end", "end"))
		}
		return decide(wait1("end", "end"))
	})
	r.settle()
	sending("s", "go")(r)
	if _, err := r.resume("h", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if shown != 2 {
		t.Errorf("%d calls after the signal, want one more for the answer", shown)
	}
	if s := r.state(); s.bound != 0 || r.cold().bound != 0 {
		t.Errorf("%d hooks count", s.bound)
	}
	if h := r.hooks["h"]; h.State != StateResumed {
		t.Errorf("the hook is %s", h.State)
	}
}
