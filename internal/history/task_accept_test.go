package history

import (
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// holding has a run whose step is under way in its second attempt.
func holding(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, func(s *State) Decision {
		if v := s.Task("s"); v.State == TaskFailed {
			return decide(complete(string(v.Failure.Reason)))
		} else if v.State == TaskCompleted {
			return decide(complete(v.State))
		}
		return decide(stepFor("s", time.Hour))
	})
	r.settle()
	r.attempt(taskKey(TaskStep, "s"))
	r.attempt(taskKey(TaskStep, "s"))
	return r
}

var stepS = taskKey(TaskStep, "s")

func exhausted(attempt int) Failure {
	return Failure{Reason: FailedExhausted, Code: "c", Message: "m", Attempt: attempt}
}

// Only the attempt under way has an outcome, and only an open task takes one.
func TestTask_outcomes_that_are_refused(t *testing.T) {
	t.Parallel()
	outcome := func(key TaskKey, attempt int) Message {
		return &SettleTask{Run: testKey, Task: key, Attempt: attempt, Output: payload(1)}
	}
	for name, tc := range map[string]struct {
		m    Message
		want error
	}{
		"of the attempt before":         {outcome(stepS, 1), ErrStaleAttempt},
		"of an attempt to come":         {outcome(stepS, 3), ErrStaleAttempt},
		"of no attempt":                 {outcome(stepS, 0), ErrStaleAttempt},
		"of another generation":         {outcome(TaskKey{2, TaskStep, "s"}, 2), ErrTaskClosed},
		"of another kind":               {outcome(TaskKey{1, TaskCall, "s"}, 2), ErrTaskClosed},
		"of an unknown task":            {outcome(TaskKey{1, TaskStep, "t"}, 2), ErrTaskClosed},
		"holding of the attempt before": {&HoldTask{Run: testKey, Task: stepS, Attempt: 1}, ErrStaleAttempt},
		"holding of an unknown task":    {&HoldTask{Run: testKey, Task: TaskKey{1, TaskStep, "t"}, Attempt: 1}, ErrTaskClosed},
		"replay of one that is not held": {
			&ReplayTask{Run: testKey, Task: stepS}, ErrTaskClosed,
		},
		"discard of one that is not held": {&DiscardTask{Run: testKey, Task: stepS}, ErrTaskClosed},
		"replay of an unknown task":       {&ReplayTask{Run: testKey, Task: TaskKey{1, TaskStep, "t"}}, ErrTaskClosed},
		"discard of an unknown task":      {&DiscardTask{Run: testKey, Task: TaskKey{1, TaskStep, "t"}}, ErrTaskClosed},
	} {
		r := holding(t)
		n, rows := len(r.events), gocmp.Diff(map[TaskKey]Task{}, r.tasks)
		if _, err := r.accept(tc.m); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.events) != n || gocmp.Diff(map[TaskKey]Task{}, r.tasks) != rows || len(r.letters) > 0 {
			t.Errorf("%s changed something", name)
		}
	}
}

// A child takes the report of its end whatever became of its start; a start that failed is of the attempt that made it.
func TestTask_outcomes_of_a_child(t *testing.T) {
	t.Parallel()
	child := taskKey(TaskChild, "c")
	for attempt, want := range map[int]error{0: nil, 1: ErrStaleAttempt, 2: nil} {
		r := newRig(t, func(*State) Decision { return decide(childNamed("c", ChildAbandon), wait1("end", "end")) })
		r.settle()
		r.attempt(child)
		r.attempt(child)
		if _, err := r.accept(&SettleTask{Run: testKey, Task: child, Attempt: attempt, Failure: &Failure{Reason: FailedConflict}}); !errors.Is(err, want) {
			t.Errorf("attempt %d: %v", attempt, err)
		}
	}
}

// A held step waits for a decision, and is replayed or discarded once.
func TestTask_held_step(t *testing.T) {
	t.Parallel()
	hold := &HoldTask{Run: testKey, Task: stepS, Attempt: 2, Letter: Letter{Failure: exhausted(2)}}
	r := holding(t)
	mustTake(t)(r.accept(hold))
	if row := r.tasks[stepS]; !row.Held || len(r.letters) != 1 || r.letters[0].State() != LetterHeld || r.run.WakeAt.After(epoch.Add(time.Hour)) {
		t.Errorf("row %+v, letters %+v, alarm %s", row, r.letters, stamp(r.run.WakeAt))
	}
	for name, m := range map[string]Message{
		"held again":                   hold,
		"an outcome of its attempt":    &SettleTask{Run: testKey, Task: stepS, Attempt: 2, Output: payload(1)},
		"an outcome of a later one":    &SettleTask{Run: testKey, Task: stepS, Attempt: 3, Output: payload(1)},
		"a failure that has a letter":  &SettleTask{Run: testKey, Task: stepS, Attempt: 2, Failure: &Failure{}, Letter: &Letter{}},
		"a holding of a later attempt": &HoldTask{Run: testKey, Task: stepS, Attempt: 3},
	} {
		if _, err := r.accept(m); !errors.Is(err, ErrStaleAttempt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.letters) != 1 {
		t.Errorf("letters %+v", r.letters)
	}
	mustTake(t)(r.accept(&ReplayTask{Run: testKey, Task: stepS, Actor: "ada"}))
	if _, err := r.accept(&ReplayTask{Run: testKey, Task: stepS}); !errors.Is(err, ErrTaskClosed) {
		t.Errorf("replayed again: %v", err)
	}
	if _, err := r.accept(hold); !errors.Is(err, ErrStaleAttempt) {
		t.Errorf("held again by who was not told that it is: %v", err)
	}
	mustTake(t)(r.done(TaskStep, "s", 1))
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled s", "step.completed s", `run.completed "completed"`)

	r = holding(t)
	mustTake(t)(r.accept(hold))
	mustTake(t)(r.accept(&DiscardTask{Run: testKey, Task: stepS, Actor: "ada"}))
	if _, err := r.accept(&DiscardTask{Run: testKey, Task: stepS}); !errors.Is(err, ErrTaskClosed) {
		t.Errorf("discarded again: %v", err)
	}
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled s", "step.failed s discarded", `run.completed "discarded"`)
}

// A held step still ends by its deadline, and nobody decides about it any more.
func TestTask_held_step_ends_by_time(t *testing.T) {
	t.Parallel()
	r := holding(t)
	mustTake(t)(r.accept(&HoldTask{Run: testKey, Task: stepS, Attempt: 2}))
	r.pass(time.Hour)
	for _, m := range []Message{&ReplayTask{Run: testKey, Task: stepS}, &DiscardTask{Run: testKey, Task: stepS}} {
		if _, err := r.accept(m); !errors.Is(err, ErrTaskClosed) {
			t.Errorf("%T: %v", m, err)
		}
	}
	r.settle()
	equalStory(t, r, "run.started", "step.scheduled s", "step.timed_out s", `run.completed "schedule_to_close"`)
}

// Decisions about a step are judged one after the other also when they come together.
func TestTask_decisions_in_one_batch(t *testing.T) {
	t.Parallel()
	r := holding(t)
	rec := r.records()
	take := func(m Message, want error) {
		t.Helper()
		if _, err := rec.Accept(m, r.auth, r.lim, r.now); !errors.Is(err, want) {
			t.Errorf("%T: %v", m, err)
		}
	}
	take(&HoldTask{Run: testKey, Task: stepS, Attempt: 2, Letter: Letter{Failure: exhausted(2)}}, nil)
	take(&DiscardTask{Run: testKey, Task: stepS, Actor: "ada"}, nil)
	take(&ReplayTask{Run: testKey, Task: stepS, Actor: "eve"}, ErrTaskClosed)
	take(&CancelRun{Run: testKey}, nil)
	take(&SettleTask{Run: testKey, Task: stepS, Attempt: 2}, ErrTaskClosed)
	if len(rec.ChangedTasks) != 0 || len(rec.ClosedTasks) != 1 || len(rec.Letters) != 1 || len(rec.Decided) != 1 {
		t.Errorf("%v %v %v %v", rec.ChangedTasks, rec.ClosedTasks, rec.Letters, rec.Decided)
	}
	r.commit(rec)
	equalStory(t, r, "run.started", "step.scheduled s", "step.failed s discarded", "run.cancel_requested", "run.cancelled")
}

// What an author's error says is such as any store takes, in the history and among the dead letters.
func TestTask_texts_of_failures_are_printable(t *testing.T) {
	t.Parallel()
	wild := Failure{Reason: FailedExhausted, Code: "a\x00\xff" + strings.Repeat("c", 5000), Message: "b\x00\xff" + strings.Repeat("m", 5000)}
	check := func(what, code, message string) {
		t.Helper()
		for _, text := range []string{code, message} {
			if strings.ContainsAny(text, "\x00") || strings.ToValidUTF8(text, "") != text || len(text) > 1024 || len(text) < 1000 {
				t.Errorf("%s: %d bytes of %.20q", what, len(text), text)
			}
		}
	}
	r := holding(t)
	mustTake(t)(r.accept(&SettleTask{Run: testKey, Task: stepS, Attempt: 2, Failure: &wild, Letter: &Letter{Failure: wild}}))
	failed := r.events[len(r.events)-1].Data.(*StepFailed)
	check("event", failed.Code, failed.Message)
	check("letter", r.letters[0].Letter.Failure.Code, r.letters[0].Letter.Failure.Message)
	r = holding(t)
	mustTake(t)(r.accept(&HoldTask{Run: testKey, Task: stepS, Attempt: 2, Letter: Letter{Failure: wild}}))
	check("held", r.letters[0].Letter.Failure.Code, r.letters[0].Letter.Failure.Message)
}

// A cancellation is its child's parent's only when it says so rightly.
func TestTask_cancellation_by_a_parent(t *testing.T) {
	t.Parallel()
	parent := Parent{RunID: "p", Generation: 3, ChildID: "me", Depth: 1}
	for name, tc := range map[string]struct {
		of   *Parent
		want error
	}{
		"by its parent":              {&Parent{RunID: "p", Generation: 3, ChildID: "me", Depth: 9}, nil},
		"by nobody":                  {nil, nil},
		"by another run":             {&Parent{RunID: "q", Generation: 3, ChildID: "me"}, ErrRunNotFound},
		"by another generation":      {&Parent{RunID: "p", Generation: 2, ChildID: "me"}, ErrRunNotFound},
		"as another child":           {&Parent{RunID: "p", Generation: 3, ChildID: "you"}, ErrRunNotFound},
		"by an empty parent":         {&Parent{}, ErrRunNotFound},
		"of a run that has no other": {&parent, nil},
	} {
		r := newRig(t, func(*State) Decision { return decide(wait1("end", "end")) })
		r.run.Parent = &parent
		if _, err := r.accept(&CancelRun{Run: testKey, ChildOf: tc.of}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newRig(t, func(*State) Decision { return decide(wait1("end", "end")) })
	if _, err := r.accept(&CancelRun{Run: testKey, ChildOf: &parent}); !errors.Is(err, ErrRunNotFound) {
		t.Errorf("of a run without a parent: %v", err)
	}
}

// Starting again is starting the same run only by the same parent.
func TestTask_start_by_another_parent(t *testing.T) {
	t.Parallel()
	parent := Parent{RunID: "p", Generation: 1, ChildID: "c", Depth: 1}
	start := func(p *Parent) *StartRun {
		return &StartRun{Run: testKey, Workflow: "w", Version: "1", Input: payload(nil), Parent: p}
	}
	r := newRig(t, func(*State) Decision { return decide(wait1("end", "end")) })
	r.run.Parent = &parent
	for name, tc := range map[string]struct {
		by   *Parent
		same bool
	}{
		"the same": {&Parent{RunID: "p", Generation: 1, ChildID: "c", Depth: 1}, true}, "nobody": {nil, false},
		"another call of it": {&Parent{RunID: "p", Generation: 1, ChildID: "d", Depth: 1}, false},
	} {
		receipt, err := r.accept(start(tc.by))
		conflict, differs := errors.AsType[*RunConflictError](err)
		if tc.same != (err == nil && receipt.Verdict == Duplicate) || !tc.same && (!differs || conflict.Differs[0] != "parent") {
			t.Errorf("%s: %+v %v", name, receipt, err)
		}
	}
}
