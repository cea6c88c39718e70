package history

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

func stepFor(id string, d time.Duration) *ScheduleStep {
	s := stepNamed(id)
	s.ScheduleToClose = &d
	return s
}

// allThree asks for one task of each kind and completes when all have settled.
func allThree(s *State) Decision {
	for _, id := range []string{"step", "child", "call"} {
		if v := s.Task(id); v.State == TaskUnknown || v.State == TaskOpen {
			return decide(stepNamed("step"), childNamed("child", ChildRequestCancel), callNamed("call"))
		}
	}
	return decide(complete(s.First("step", "child", "call")))
}

// stepTime is workflow code that asks for a step with a deadline, and says in the end what became of it.
func stepTime(s *State) Decision {
	if v := s.Task("s"); v.State != TaskUnknown && v.State != TaskOpen {
		return decide(complete(string(v.State) + " " + string(v.Failure.Reason)))
	}
	return decide(stepFor("s", time.Minute))
}

func must(t *testing.T, _ Receipt, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustTake(t *testing.T) func(Receipt, error) {
	return func(r Receipt, err error) { t.Helper(); must(t, r, err) }
}

// Each kind opens once, settles once, and is shown to the code with its outcome; the one taken first stays the first.
func TestTask_opens_settles_and_is_shown(t *testing.T) {
	t.Parallel()
	do := mustTake(t)
	r := newRig(t, allThree)
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled step", "child.requested child", "call.signal_requested call")
	do(r.done(TaskCall, "call", nil))
	do(r.fail(TaskChild, "child", Failure{Reason: FailedChild, Message: "no"}))
	r.turn()
	s := r.cold()
	if v := s.Task("child"); v.State != TaskFailed || v.Kind != KindChild || v.Failure == nil || v.Failure.Message != "no" {
		t.Errorf("the child is %+v", v)
	}
	if v := s.Task("step"); v.State != TaskOpen || v.Output.Bytes() != nil || v.Failure != nil {
		t.Errorf("the step is %+v", v)
	}
	do(r.done(TaskStep, "step", 7))
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled step", "child.requested child", "call.signal_requested call", "call.delivered call",
		"child.failed child failed", "facts.taken", "step.completed step", `run.completed "call"`)
	if v := r.cold().Task("step"); v.State != TaskCompleted || string(v.Output.Bytes()) != "7" {
		t.Errorf("the step is %+v", v)
	}
	if len(r.tasks) != 0 {
		t.Errorf("rows are left: %v", r.tasks)
	}
}

// What a step that has outcome, or deadline, or was withdrawn comes to.
func TestTask_deadline_of_a_step(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at   time.Duration
		err  error
		want string
	}{
		"an outcome before it":             {time.Minute - time.Microsecond, nil, `run.completed "failed exhausted"`},
		"an outcome at the very instant":   {time.Minute, ErrTaskClosed, `run.completed "failed schedule_to_close"`},
		"an outcome after it, before turn": {time.Hour, ErrTaskClosed, `run.completed "failed schedule_to_close"`},
	} {
		r := newRig(t, stepTime)
		r.settle()
		if !r.run.WakeAt.Equal(epoch.Add(time.Minute)) {
			t.Errorf("%s: alarm %s", name, stamp(r.run.WakeAt))
		}
		r.pass(tc.at)
		if _, err := r.fail(TaskStep, "s", Failure{Reason: FailedExhausted}); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		r.settle()
		if last := r.story()[len(r.events)-1]; last != tc.want || len(r.tasks) != 0 {
			t.Errorf("%s: %s, rows %v", name, last, r.tasks)
		}
	}
}

// A step that is due when it is opened ends at once, and never has a row.
func TestTask_step_without_time_has_no_row(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.Task("s").State == TaskFailed {
			return decide(complete(1))
		}
		return decide(stepFor("s", 0))
	})
	out := r.turn()
	if len(out.NewTasks)+len(out.ClosedTasks) != 0 {
		t.Errorf("rows %v and %v", out.NewTasks, out.ClosedTasks)
	}
	equalStory(t, r, "run.started", "step.scheduled s", "step.timed_out s", "run.completed 1")
}

// Facts are taken in order of their effective times: a deadline before a message of the same instant.
func TestTask_deadline_comes_before_a_message_of_its_instant(t *testing.T) {
	t.Parallel()
	var seen []string
	r := newRig(t, func(s *State) Decision {
		if first := s.First("s", "go", "call"); first != "" && !slices.Contains(seen, first) {
			seen = append(seen, first)
		}
		return decide(stepFor("s", time.Minute), wait1("go", "go"), callNamed("call"), wait1("end", "end"))
	})
	r.settle()
	r.pass(time.Minute)
	must(t, Receipt{}, func() error { _, err := r.signal("g", "go", 1); return err }())
	mustTake(t)(r.done(TaskCall, "call", nil))
	r.settle()
	if !slices.Equal(seen, []string{"s"}) {
		t.Errorf("first %v", seen)
	}
	equalStory(t, r, "run.started", "step.scheduled s", "wait.opened go", "call.signal_requested call", "wait.opened end", "signal.received g",
		"call.delivered call", "step.timed_out s", "wait.completed go<g", "facts.taken")
}

// A withdrawn step ends at once; one whose outcome was accepted keeps it, and the code sees it.
func TestTask_withdrawn_step(t *testing.T) {
	t.Parallel()
	withdraws := func(s *State) Decision {
		if _, ok := got(s, "go"); ok && s.Task("s").State != TaskCompleted {
			return decide(&WithdrawStep{ID: "s"}, &WithdrawStep{ID: "never"}, wait1("end", "end"))
		}
		return decide(stepNamed("s"), wait1("go", "go"), wait1("end", "end"))
	}
	r := newRig(t, withdraws)
	r.settle()
	sending("g", "go")(r)
	r.settle()
	if v := r.cold().Task("s"); v.State != TaskCancelled || len(r.tasks) != 0 {
		t.Errorf("%+v, rows %v", v, r.tasks)
	}
	if _, err := r.accept(&SettleTask{Run: testKey, Task: taskKey(TaskStep, "s"), Attempt: 1}); !errors.Is(err, ErrTaskClosed) {
		t.Errorf("its outcome: %v", err)
	}

	r = newRig(t, withdraws)
	r.settle()
	sending("g", "go")(r)
	mustTake(t)(r.done(TaskStep, "s", 5))
	r.settle()
	if v := r.cold().Task("s"); v.State != TaskCompleted || string(v.Output.Bytes()) != "5" {
		t.Errorf("%+v", v)
	}
	if stories := strings.Join(r.story(), " "); strings.Contains(stories, "step.cancelled") {
		t.Error(stories)
	}
}

// Code that withdrew a step may continue as new, be its turn ever so late: also when the outcome was accepted before the
// turn that withdraws it, and when the turn that continues is another one.
func TestTask_a_step_withdrawn_late_does_not_block_continuing(t *testing.T) {
	t.Parallel()
	code := func(s *State) Decision {
		if s.Generation() == 2 {
			return decide(complete("second"))
		}
		if _, ok := got(s, "roll"); ok {
			return decide(&ContinueAsNew{Input: payload(2)})
		}
		if _, ok := got(s, "go"); ok {
			return decide(&WithdrawStep{ID: "s"}, wait1("roll", "roll"))
		}
		return decide(stepNamed("s"), wait1("go", "go"))
	}
	for name, budget := range map[string]int{"in one turn": 1000, "in turns of one event": 1} {
		r := newRig(t, code)
		r.lim.TurnEvents = budget
		r.settle()
		sending("g", "go")(r)
		sending("r", "roll")(r)
		mustTake(t)(r.done(TaskStep, "s", 5))
		for range 20 {
			if r.run.Status == Running {
				r.turn()
				r.warm = nil
			}
		}
		if r.run.Status != Completed {
			t.Errorf("%s: %s: %s\n%v", name, r.run.Status, r.run.BlockDiagnosis, r.story())
		}
	}
}

// Endings close steps and children with their cause, and leave calls to be sent.
func TestTask_endings(t *testing.T) {
	t.Parallel()
	parent := &Parent{RunID: "p", Generation: 3, ChildID: "me", Depth: 1}
	report := Task{TaskKey: taskKey(TaskReport, "me"), Target: "p"}
	open := []Command{
		stepNamed("step"), childNamed("asked", ChildRequestCancel), childNamed("ended", ChildTerminate), childNamed("free", ChildAbandon),
		callNamed("call"), wait1("end", "end"),
	}
	stop := func(id string, policy OnParentEnd) Task {
		return Task{TaskKey: taskKey(TaskStop, id), Target: spec.RunID("run of " + id), Policy: policy}
	}
	free := Task{TaskKey: taskKey(TaskChild, "free"), Seq: 5, Target: "run of free", Policy: ChildAbandon}
	call := Task{TaskKey: taskKey(TaskCall, "call"), Seq: 6, Target: "other"}
	for name, tc := range map[string]struct {
		ending Command
		cancel *CancelRun
		cause  string
		last   string
	}{
		"complete":    {ending: complete(1), cause: "run_ended", last: "run.completed 1"},
		"fail":        {ending: &Fail{Message: "no"}, cause: "run_ended", last: "run.failed"},
		"cancelled":   {ending: &AcceptCancel{}, cancel: &CancelRun{Run: testKey}, cause: "cancelled", last: "run.cancelled"},
		"terminated":  {cancel: &CancelRun{Run: testKey, Terminate: true}, cause: "cancelled", last: "run.cancelled"},
		"as a parent": {cancel: &CancelRun{Run: testKey, Terminate: true, ChildOf: parent}, cause: "cancelled", last: "run.cancelled"},
	} {
		r := newRig(t, func(s *State) Decision {
			if _, ok := got(s, "end"); ok || s.CancelRequested() {
				return decide(tc.ending)
			}
			return decide(open...)
		})
		r.run.Parent, r.auth.cooperative = parent, true
		r.settle()
		if tc.cancel == nil {
			sending("e", "end")(r)
		} else {
			mustTake(t)(r.accept(tc.cancel))
		}
		r.settle()
		var closed []string
		for _, line := range r.story() {
			if strings.HasPrefix(line, "step.cancelled") || strings.HasPrefix(line, "child.released") {
				closed = append(closed, line)
			}
		}
		want := []string{
			"child.released asked " + tc.cause, "child.released ended " + tc.cause, "child.released free " + tc.cause,
			"step.cancelled step " + tc.cause,
		}
		if diff := gocmp.Diff(want, closed); diff != "" || r.story()[len(r.events)-1] != tc.last {
			t.Errorf("%s (-want +got):\n%s\n%v", name, diff, r.story())
		}
		rows := map[TaskKey]Task{}
		for _, row := range []Task{report, stop("asked", ChildRequestCancel), stop("ended", ChildTerminate), free, call} {
			rows[row.TaskKey] = row
		}
		if diff := gocmp.Diff(rows, r.tasks); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
		n := len(r.events)
		for key := range rows { // what is done for a run that ended is no event
			mustTake(t)(r.accept(&SettleTask{Run: testKey, Task: key, Output: payload(1)}))
		}
		if len(r.events) != n || len(r.tasks) != 0 {
			t.Errorf("%s: %v, rows %v", name, r.story()[n:], r.tasks)
		}
	}
}

// A child that is asked for and let go by one turn is not started, so nobody is told to stop it; one that is to go on is.
func TestTask_a_child_of_the_last_turn(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if _, ok := got(s, "go"); ok {
			return decide(complete(1))
		}
		return decide(childNamed("kept", ChildAbandon), childNamed("gone", ChildTerminate), stepNamed("s"), wait1("go", "go"))
	})
	sending("g", "go")(r)
	r.settle()
	want := map[TaskKey]Task{taskKey(TaskChild, "kept"): {
		TaskKey: taskKey(TaskChild, "kept"), Seq: 3, Target: "run of kept", Policy: ChildAbandon,
	}}
	if diff := gocmp.Diff(want, r.tasks); diff != "" {
		t.Errorf("rows (-want +got):\n%s\n%v", diff, r.story())
	}
	if found, n := compareRows(project(r.events), r, r.now); n > 0 {
		t.Error(found)
	}
}
