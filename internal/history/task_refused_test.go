package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

// changed is a step, child or call of the ID "x" that differs from the usual one in what counts.
func changedTasks() map[string][2]Command {
	step, child, call := stepNamed("x"), childNamed("x", ChildAbandon), callNamed("x")
	otherStep, otherInput := *step, *step
	otherStep.Name, otherInput.Input = "refund", payload("secret")
	otherFlow, otherRun, otherChildInput := *child, *child, *child
	otherFlow.Workflow, otherRun.RunID, otherChildInput.Input = "v", "another", payload("secret")
	otherSignal, otherTarget, otherPayload := *call, *call, *call
	otherSignal.Name, otherTarget.Target, otherPayload.Payload = "stop", "another", payload("secret")
	return map[string][2]Command{
		`step "x" has the name "charge" and "refund"`:      {step, &otherStep},
		`step "x" has two inputs`:                          {step, &otherInput},
		`child "x" has the name "w" and "v"`:               {child, &otherFlow},
		`child "x" has the run "run of x" and "another"`:   {child, &otherRun},
		`child "x" has two inputs`:                         {child, &otherChildInput},
		`call "x" has the name "go" and "stop"`:            {call, &otherSignal},
		`call "x" has the run "other" and "another"`:       {call, &otherTarget},
		`call "x" has two inputs`:                          {call, &otherPayload},
		`call "x" is a signal and a wish to cancel`:        {call, cancelNamed("x")},
		`call "x" is a wish to cancel and a signal`:        {cancelNamed("x"), call},
		`call "x" has the run "other" and "run elsewhere"`: {cancelNamed("x"), &CallCancel{ID: "x", Target: "run elsewhere"}},
	}
}

// wantBlocked checks that the run is blocked for the cause, in words that say why and hold no payload.
func wantBlocked(t *testing.T, r *rig, cause BlockCause, words string) {
	t.Helper()
	if r.run.Status != Blocked || r.run.BlockCause != cause || !strings.Contains(r.run.BlockDiagnosis, words) {
		t.Errorf("%s %s %q, want %s %q", r.run.Status, r.run.BlockCause, r.run.BlockDiagnosis, cause, words)
	}
	if strings.Contains(r.run.BlockDiagnosis, "secret") {
		t.Errorf("%q says what a payload holds", r.run.BlockDiagnosis)
	}
}

// Code that names a known ID for something else has changed, and what it asked for before stands. In one decision it is a
// contradiction.
func TestTask_another_task_under_a_known_ID(t *testing.T) {
	t.Parallel()
	for words, pair := range changedTasks() {
		r := newRig(t, func(s *State) Decision {
			if len(s.Peek("more")) == 0 {
				return decide(pair[0])
			}
			return decide(pair[1])
		})
		r.settle()
		sending("m", "more")(r)
		r.settle()
		wantBlocked(t, r, BlockNonDeterminism, words)
		if len(r.tasks) != 1 {
			t.Errorf("%s: rows %v", words, r.tasks)
		}
		r = newRig(t, func(*State) Decision { return decide(pair[0], pair[1]) })
		r.settle()
		wantBlocked(t, r, BlockDecision, words+" in one decision")
	}
}

// What does not count may differ: the first one stays.
func TestTask_named_again_with_other_options(t *testing.T) {
	t.Parallel()
	again := stepFor("x", 5)
	again.Retry, again.Heartbeat, again.StartToClose = spec.FixedRetry(3, 1), 7, 9
	child := childNamed("y", ChildTerminate)
	child.Version = "2"
	r := newRig(t, func(s *State) Decision {
		if len(s.Peek("more")) == 0 {
			return decide(stepNamed("x"), stepNamed("x"), again, childNamed("y", ChildAbandon))
		}
		return decide(again, child, &WithdrawStep{ID: "x"}, again)
	})
	r.settle()
	sending("m", "more")(r)
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled x", "child.requested y", "signal.received m", "step.cancelled x disposed")
	if row := r.tasks[taskKey(TaskChild, "y")]; row.Policy != ChildAbandon || len(r.tasks) != 1 {
		t.Errorf("rows %v", r.tasks)
	}
}

// One ID is of one kind in a generation.
func TestTask_ID_of_another_kind(t *testing.T) {
	t.Parallel()
	kinds := map[string]Command{
		"wait": wait1("x", "go"), "timer": timerIn("x", 1e9), "hook": hookNamed("x"), "step": stepNamed("x"),
		"child": childNamed("x", ChildAbandon), "call": callNamed("x"),
	}
	for first, a := range kinds {
		for second, b := range kinds {
			if first == second {
				continue
			}
			r := newRig(t, func(s *State) Decision {
				if len(s.Peek("more")) == 0 {
					return decide(a, wait1("end", "end"))
				}
				return decide(b, wait1("end", "end"))
			})
			r.settle()
			sending("m", "more")(r)
			r.settle()
			wantBlocked(t, r, BlockNonDeterminism, fmt.Sprintf(`ID "x" is a %s in the history and a %s in the decision`, first, second))
			r = newRig(t, func(*State) Decision { return decide(a, b) })
			r.settle()
			wantBlocked(t, r, BlockDecision, fmt.Sprintf(`ID "x" is a %s and a %s in one decision`, first, second))
		}
	}
}

// many is n commands of different IDs.
func many(n int, of func(id string) Command) (cs []Command) {
	for i := range n {
		cs = append(cs, of(fmt.Sprint("x", i)))
	}
	return cs
}

// Decisions that may not stand change nothing.
func TestTask_refused_decisions(t *testing.T) {
	t.Parallel()
	step := func(id string) Command { return stepNamed(id) }
	call := func(id string) Command { return callNamed(id) }
	withdraw := func(id string) Command { return &WithdrawStep{ID: spec.StepID(id)} }
	bad := func(change func(*ScheduleStep, *StartChild, *CallSignal, *CallCancel)) []Command {
		a, b, c, d := stepNamed("a"), childNamed("b", ChildAbandon), callNamed("c"), cancelNamed("d")
		change(a, b, c, d)
		return []Command{a, b, c, d}
	}
	own := childNamed("x", ChildAbandon)
	own.RunID = testKey.RunID
	for name, tc := range map[string]struct {
		first, second []Command // the second is of a later call
		words         string
	}{
		"a step beside an ending":         {first: []Command{stepNamed("x"), complete(1)}, words: `step "x" is asked for beside an ending`},
		"a child beside an ending":        {first: []Command{childNamed("x", ChildRequestCancel), &Fail{}}, words: `child "x" is asked for beside an ending`},
		"a child beside a continuation":   {first: []Command{childNamed("x", ChildAbandon), &ContinueAsNew{Input: payload(1)}}, words: `child "x" is asked for beside`},
		"a withdrawn step beside it":      {first: []Command{stepNamed("x"), withdraw("x"), complete(1)}, words: `step "x" is asked for beside an ending`},
		"too many":                        {first: many(6, step), words: "would leave 6 steps, children and calls open; at most 5"},
		"too many calls beside an ending": {first: append(many(6, call), complete(1)), words: "would leave 6 steps"},
		"too many calls, continuing":      {first: append(many(6, call), &ContinueAsNew{Input: payload(1)}), words: "would leave 6 steps"},
		"one more than there may be":      {first: many(5, step), second: []Command{callNamed("y")}, words: "would leave 6 steps"},
		"more than it makes room for": {
			first: many(5, step), second: []Command{withdraw("x0"), withdraw("x0"), withdraw("never"), stepNamed("y"), stepNamed("z")},
			words: "would leave 6 steps",
		},
		"continuing with an open step": {
			first: []Command{childNamed("b", ChildAbandon), stepNamed("a")}, second: []Command{&ContinueAsNew{Input: payload(1)}},
			words: `would leave step "a" behind`,
		},
		"continuing with an open child": {
			first: []Command{childNamed("b", ChildAbandon), stepNamed("a")}, second: []Command{withdraw("a"), &ContinueAsNew{Input: payload(1)}},
			words: `would leave child "b" behind`,
		},
		"a step without a name":     {first: bad(func(a *ScheduleStep, _ *StartChild, _ *CallSignal, _ *CallCancel) { a.Name = "" }), words: `step "a":`},
		"a step of a bad ID":        {first: bad(func(a *ScheduleStep, _ *StartChild, _ *CallSignal, _ *CallCancel) { a.ID = "" }), words: "a step with a bad ID"},
		"a child without workflow":  {first: bad(func(_ *ScheduleStep, b *StartChild, _ *CallSignal, _ *CallCancel) { b.Workflow = "" }), words: `child "b":`},
		"a child without a run":     {first: bad(func(_ *ScheduleStep, b *StartChild, _ *CallSignal, _ *CallCancel) { b.RunID = "" }), words: `child "b":`},
		"a signal without a name":   {first: bad(func(_ *ScheduleStep, _ *StartChild, c *CallSignal, _ *CallCancel) { c.Name = "" }), words: `call "c":`},
		"a signal to nobody":        {first: bad(func(_ *ScheduleStep, _ *StartChild, c *CallSignal, _ *CallCancel) { c.Target = "" }), words: `call "c":`},
		"a wish to cancel nobody":   {first: bad(func(_ *ScheduleStep, _ *StartChild, _ *CallSignal, d *CallCancel) { d.Target = "\x00" }), words: `call "d":`},
		"a run that is its child":   {first: []Command{own}, words: "a run cannot be its own child"},
		"nothing that is open":      {first: []Command{withdraw("never")}, words: `"never" was never opened`},
		"a step withdrawn and done": {first: []Command{stepNamed("x")}, second: []Command{withdraw("x")}, words: `step "x" is cancelled; use another ID`},
	} {
		r := newRig(t, func(s *State) Decision {
			if tc.second != nil && len(s.Peek("more")) > 0 {
				return decide(tc.second...)
			}
			return decide(tc.first...)
		})
		r.lim.OpenTasks = 5
		r.settle()
		rows := len(r.tasks)
		if tc.second != nil {
			sending("m", "more")(r)
			r.settle()
		}
		if r.run.Status != Blocked || !strings.Contains(r.run.BlockDiagnosis, tc.words) {
			t.Errorf("%s: %s %q", name, r.run.Status, r.run.BlockDiagnosis)
		}
		if len(r.tasks) != rows {
			t.Errorf("%s: rows %v", name, r.tasks)
		}
	}
}

// What a decision withdraws makes room for what it opens.
func TestTask_a_withdrawn_step_makes_room(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if len(s.Peek("more")) == 0 {
			return decide(many(5, func(id string) Command { return stepNamed(id) })...)
		}
		return decide(&WithdrawStep{ID: "x0"}, stepNamed("y"), stepNamed("z"), &WithdrawStep{ID: "z"})
	})
	r.lim.OpenTasks = 5
	r.settle()
	sending("m", "more")(r)
	r.settle()
	if r.run.Status != Running || len(r.tasks) != 5 {
		t.Errorf("%s: %s; rows %v", r.run.Status, r.run.BlockDiagnosis, r.tasks)
	}
}

// A settled task that is named again opens nothing, and the words of a run without progress say what to branch on.
func TestTask_no_progress_names_what_to_branch_on(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(*State) Decision {
		return decide(stepNamed("step"), childNamed("child", ChildAbandon), callNamed("call"))
	})
	r.settle()
	mustTake(t)(r.done(TaskStep, "step", 1))
	mustTake(t)(r.fail(TaskChild, "child", Failure{Reason: FailedConflict}))
	mustTake(t)(r.done(TaskCall, "call", nil))
	r.settle()
	for _, words := range []string{
		`step "step" is completed; branch on StepOutput`, `child "child" failed (conflict); branch on ChildFailed`,
		`call "call" is completed; branch on CallDelivered`,
	} {
		wantBlocked(t, r, BlockNoProgress, words)
	}
}
