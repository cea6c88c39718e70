package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTurn_blocks_what_makes_no_sense(t *testing.T) {
	t.Parallel()
	second := time.Second
	open := decide(wait1("w", "go"), timerIn("tm", time.Hour), hookNamed("h"))
	for name, tc := range map[string]struct {
		then  Decision
		cause BlockCause
		words string
	}{
		"an empty decision":              {Decision{}, BlockDecision, "empty"},
		"an ending that is not the last": {decide(complete(1), wait1("w", "go")), BlockDecision, "last"},
		"a cancel nobody asked for":      {decide(&AcceptCancel{}), BlockDecision, "nobody asked"},
		"another signal name":            {decide(wait1("w", "other")), BlockNonDeterminism, `"go" in the history and for "other"`},
		"another kind":                   {decide(timerIn("w", second)), BlockNonDeterminism, "is a wait in the history and a timer"},
		"another token": {
			decide(&CreateHook{ID: "h", HostDigests: []TokenDigest{{1}}}),
			BlockNonDeterminism, "another token",
		},
		"a hook never created":  {decide(&WaitHook{ID: "none"}), BlockDecision, "never created"},
		"two deadlines":         {decide(&OpenWait{ID: "x", Signal: "go", Timeout: &second, Until: &epoch}), BlockDecision, "both"},
		"a timer without time":  {decide(&StartTimer{ID: "x"}), BlockDecision, "needs either"},
		"a bad ID":              {decide(wait1("", "go")), BlockDecision, "must not be empty"},
		"a bad signal name":     {decide(wait1("x", " go")), BlockDecision, "space"},
		"two signals of one ID": {decide(wait1("x", "a"), wait1("x", "b")), BlockDecision, "one decision"},
		"two time-outs of a wait": {
			decide(wait1For("x", "a", second), wait1For("x", "a", 2*second)), BlockDecision, `wait "x" has two time-outs`,
		},
		"a wait with and without end":    {decide(wait1("x", "a"), wait1For("x", "a", second)), BlockDecision, "two time-outs"},
		"two times of a timer":           {decide(timerIn("x", second), timerIn("x", 2*second)), BlockDecision, `timer "x" has two due times`},
		"two tokens of a hook":           {decide(hostHook("x", 1), hostHook("x", 2)), BlockDecision, `hook "x" has two tokens in one decision`},
		"a token of the host and minted": {decide(hookNamed("x"), hostHook("x", 2)), BlockDecision, "two tokens"},
		"two tokens, the first withdrawn": {
			decide(hostHook("x", 1), &WithdrawHook{ID: "x"}, hostHook("x", 2)), BlockDecision, "two tokens",
		},
		"two names of a hook":    {decide(hookNamed("x"), &CreateHook{ID: "x", Name: "y"}), BlockDecision, `hook "x" has two names`},
		"two expiries of a hook": {decide(hookFor("x", second), hookNamed("x")), BlockDecision, `hook "x" has two expiries`},
		"only a settled thing":   {decide(&WithdrawHook{ID: "h"}), BlockNoProgress, "branch on HookState"},
	} {
		r := newRig(t, nil)
		r.author = func(s *State) Decision {
			if len(s.Peek("nudge")) == 0 {
				return open
			}
			return tc.then
		}
		r.settle()
		if _, err := r.signal("n", "nudge", 1); err != nil {
			t.Fatal(err)
		}
		before := len(r.events)
		r.turn()
		if r.run.Status != Blocked || r.run.BlockCause != tc.cause || !strings.Contains(r.run.BlockDiagnosis, tc.words) {
			t.Errorf("%s: %s %s %q, want blocked with %s and %q", name, r.run.Status, r.run.BlockCause, r.run.BlockDiagnosis, tc.cause, tc.words)
		}
		if len(r.events) != before+1 {
			t.Errorf("%s: the turn kept %d events beside run.blocked", name, len(r.events)-before-1)
		}
	}
}

func TestTurn_refuses_more_than_the_limits(t *testing.T) {
	t.Parallel()
	lim := DefaultLimits()
	var waits, hooks []Command
	for i := range lim.OpenWaits + 1 {
		waits = append(waits, wait1(strings.Repeat("w", i+1), "go"))
	}
	for i := range lim.OpenHooks + 1 {
		hooks = append(hooks, hookNamed(strings.Repeat("h", i%200+1)+string(rune('0'+i/200))))
	}
	for name, d := range map[string]Decision{"waits": decide(waits...), "hooks": decide(hooks...)} {
		r := newRig(t, func(*State) Decision { return d })
		r.turn()
		if r.run.BlockCause != BlockDecision {
			t.Errorf("%s: %q %s", name, r.run.BlockCause, r.run.BlockDiagnosis)
		}
		if last := d.Commands[:len(d.Commands)-1]; true {
			r = newRig(t, func(*State) Decision { return decide(last...) })
			r.turn()
			if r.run.Status != Running {
				t.Errorf("%s at the limit: %s", name, r.run.BlockDiagnosis)
			}
		}
	}
}

func TestTurn_a_blocked_run_backs_off_says_it_once_and_goes_on_after_a_fix(t *testing.T) {
	t.Parallel()
	broken := true
	r := newRig(t, nil)
	r.author = func(s *State) Decision {
		if broken {
			return Decision{}
		}
		return anyOf(s)
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
	for _, seconds := range want {
		r.turn()
		if delay := r.run.WakeAt.Sub(r.now); delay != seconds*time.Second {
			t.Fatalf("back-off %s, want %ds", delay, seconds)
		}
		r.now = *r.run.WakeAt
	}
	if _, err := r.signal("1", "paid", 1); err != nil {
		t.Fatalf("a blocked run refused a message: %v", err)
	}
	broken = false
	r.turn()
	equalStory(t, r, "run.started", "run.blocked decision", "signal.received 1", "run.unblocked",
		"wait.opened paid", "wait.opened void", "wait.completed paid<1", "wait.withdrawn void", `run.completed "paid"`)
}

// Words that differ each time do not fill the history of a run that stays broken: the event says the cause, and the record
// the newest diagnosis. Another cause is news.
func TestTurn_a_diagnosis_that_varies_is_one_event(t *testing.T) {
	t.Parallel()
	r := newRig(t, anyOf)
	fail := func(cause BlockCause, words string) {
		out := BlockedOutcome(r.run, cause, words, r.now, r.lim)
		r.run = out.Run
		r.append(out.Events)
		r.now = *r.run.WakeAt
	}
	for i := range 50 {
		fail(BlockError, fmt.Sprintf("dial at %s: refused %d", r.now, i))
	}
	if r.run.BlockAttempts != 50 || !strings.HasSuffix(r.run.BlockDiagnosis, "refused 49") {
		t.Errorf("attempt %d: %q", r.run.BlockAttempts, r.run.BlockDiagnosis)
	}
	equalStory(t, r, "run.started", "run.blocked error")
	fail(BlockPanic, "p")
	fail(BlockPanic, "q")
	fail(BlockError, "e")
	equalStory(t, r, "run.started", "run.blocked error", "run.blocked panic", "run.blocked error")
	if err := r.cold().Apply(Event{Generation: 1, Seq: 5, At: r.now, Data: &RunUnblocked{}}); err != nil {
		t.Error(err)
	}
}

// What a run blocked for no progress lacks is news, and the deadline of what it has open is news. It does not wait for the
// end of its back-off then, and it does not come back at once for what is due already.
func TestTurn_a_run_blocked_for_no_progress_is_woken_by_its_own_deadlines(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		switch {
		case s.Hook("soon").State == StateExpired && s.Hook("late").State == StateExpired:
			return decide(complete("done"))
		case s.KnowsHook("soon"):
			return decide(&WithdrawHook{ID: "none"}) // forgets to name what is open
		}
		return decide(hookFor("soon", 10*time.Second), hookFor("late", time.Hour), timerIn("t", 5*time.Second))
	})
	r.settle()
	r.now = *r.run.WakeAt // of the timer
	wakes := []time.Duration{}
	for r.turn(); r.run.Status == Blocked; r.turn() {
		if r.run.BlockCause != BlockNoProgress || len(wakes) > 100 {
			t.Fatalf("%s: %s, woken at %v", r.run.BlockCause, r.run.BlockDiagnosis, wakes)
		}
		wakes = append(wakes, r.run.WakeAt.Sub(epoch))
		r.now = *r.run.WakeAt
	}
	// Back-offs of 1, 2 and 4 s, of which the last is cut short by the hook; then they go on to its end.
	want := []time.Duration{6 * time.Second, 8 * time.Second, 10 * time.Second, 18 * time.Second}
	if !slices.Equal(wakes[:len(want)], want) || r.now.Sub(epoch) != time.Hour {
		t.Errorf("woken at %v and done at %s", wakes, r.now.Sub(epoch))
	}
	if r.run.Status != Completed {
		t.Error(r.run.Status)
	}
}

// Nothing but its end shortens the back-off of a run that is broken.
func TestTurn_a_deadline_does_not_shorten_the_back_off_of_a_broken_run(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(*State) Decision { return decide(hookFor("soon", 2*time.Second), timerIn("t", time.Second)) })
	r.settle()
	r.now, r.broken = r.now.Add(time.Second), true
	for range 2 {
		r.turn()
	}
	if got := r.run.WakeAt.Sub(r.now); got != 2*time.Second {
		t.Errorf("due in %s", got)
	}
}

func TestTurn_only_a_run_blocked_for_no_progress_is_woken_by_a_message(t *testing.T) {
	t.Parallel()
	for cause, woken := range map[BlockCause]bool{BlockNoProgress: true, BlockError: false, BlockPanic: false} {
		r := newRig(t, anyOf)
		out := BlockedOutcome(r.run, cause, "x", r.now, r.lim)
		r.run = out.Run
		r.append(out.Events)
		if _, err := r.signal("1", "paid", 1); err != nil {
			t.Fatal(err)
		}
		if got := !r.run.WakeAt.After(r.now); got != woken {
			t.Errorf("%s: woken %v, want %v", cause, got, woken)
		}
	}
}

func TestTurn_the_limit_of_hooks_counts_what_a_decision_leaves_open(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then    Decision
		blocked bool
	}{
		"one for another":                 {decide(hookNamed("c"), &WithdrawHook{ID: "a"}), false},
		"one for itself":                  {decide(hookNamed("c"), hookNamed("c"), &WithdrawHook{ID: "c"}, hookNamed("a")), false},
		"one more":                        {decide(hookNamed("c"), hookNamed("a")), true},
		"one more, withdrawn before":      {decide(&WithdrawHook{ID: "c"}, hookNamed("c")), true},
		"two for one that is named twice": {decide(&WithdrawHook{ID: "a"}, &WithdrawHook{ID: "a"}, hookNamed("c"), hookNamed("d")), true},
	} {
		r := newRig(t, func(s *State) Decision {
			if len(s.Peek("nudge")) == 0 {
				return decide(hookNamed("a"), hookNamed("b"))
			}
			return tc.then
		})
		r.lim.OpenHooks = 2
		r.settle()
		sending("n", "nudge")(r)
		r.turn()
		if blocked := r.run.Status == Blocked; blocked != tc.blocked {
			t.Errorf("%s: %s %s", name, r.run.Status, r.run.BlockDiagnosis)
		}
	}
}

func TestTurn_a_blocked_run_is_not_called_again_before_what_it_was_blocked_at(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRig(t, func(s *State) Decision {
		calls++
		if _, ok := got(s, "go"); ok {
			return decide(complete("done"))
		}
		if s.KnowsHook("h") { // a call without news: a turn that had come at once would not have made it
			return decide(&WithdrawHook{ID: "h"}, wait1("go", "go"))
		}
		return decide(hookNamed("h"), wait1("go", "go"))
	})
	r.settle()
	sending("g", "go")(r)
	r.broken = true
	r.turn()
	r.broken = false
	if _, err := r.accept(&RetryRun{Run: testKey}); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created h", "wait.opened go", "signal.received g", "run.blocked panic", "run.unblocked",
		"wait.completed go<g", "hook.closed h run_ended", `run.completed "done"`)
	if calls != 2 {
		t.Errorf("%d calls, want one for each fact", calls)
	}
}
