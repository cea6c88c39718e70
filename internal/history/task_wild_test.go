package history

import (
	"fmt"
	"hash"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// The tasks that wild asks for, by ID.
var (
	wildSteps    = []string{"st0", "st1", "st2"}
	wildChildren = []string{"ch0", "ch1"}
	wildCalls    = []string{"ca0", "ca1"}
	wildTasks    = slices.Concat(wildSteps, wildChildren, wildCalls)
)

// look adds what settled of the tasks to what decides.
func (w *wild) look(s *State, h hash.Hash64) {
	for _, id := range wildTasks {
		v := s.Task(id)
		if v.State != TaskCompleted && v.State != TaskFailed && w.settled {
			continue
		}
		_, _ = fmt.Fprint(h, id, v.State, string(v.Output.Bytes()))
		if v.Failure != nil {
			_, _ = fmt.Fprint(h, *v.Failure)
		}
	}
	_, _ = fmt.Fprint(h, s.First("st0", "ca0", "w0"), s.First(wildTasks...))
}

func stepNamed(id string) *ScheduleStep {
	return &ScheduleStep{ID: spec.StepID(id), Name: "charge", Input: payload(id), StartToClose: time.Minute}
}

func childNamed(id string, policy OnParentEnd) *StartChild {
	return &StartChild{ID: spec.ChildID(id), Workflow: "w", RunID: spec.RunID("run of " + id), Input: payload(id), OnParentEnd: policy}
}

func callNamed(id string) *CallSignal {
	return &CallSignal{ID: spec.CallID(id), Target: "other", Signal: spec.SignalID(id), Name: "go", Payload: payload(id)}
}

func cancelNamed(id string) *CallCancel {
	return &CallCancel{ID: spec.CallID(id), Target: "other", Reason: "enough"}
}

func (w *wild) tasks(b *bits) []Command {
	var cs []Command
	for i, id := range wildSteps {
		switch b.take(4) {
		case 0:
		case 1:
			cs = append(cs, &WithdrawStep{ID: spec.StepID(id)})
		default:
			step := stepNamed(id)
			if i > 0 && !w.absolute {
				step.ScheduleToClose, _ = w.deadline(2 * (i - 1))
			}
			cs = append(cs, step)
		}
	}
	for i, id := range wildChildren {
		if b.take(2) == 0 {
			cs = append(cs, childNamed(id, []OnParentEnd{ChildRequestCancel, ChildAbandon}[i]))
		}
	}
	for i, id := range wildCalls {
		if b.take(2) == 0 {
			cs = append(cs, []Command{callNamed(id), cancelNamed(id)}[i])
		}
	}
	return cs
}

// outliving leaves out what would never be done because the run ends in the same decision.
func outliving(s *State, tasks []Command) []Command {
	return slices.DeleteFunc(tasks, func(c Command) bool {
		child, ok := c.(*StartChild)
		_, step := c.(*ScheduleStep)
		return s.Task(c.id()).State == TaskUnknown && (step || ok && child.OnParentEnd != ChildAbandon)
	})
}

// leaving makes a decision that may continue as new: it withdraws the steps and asks for no children. False: one is open.
func leaving(s *State, tasks []Command) ([]Command, bool) {
	for _, id := range wildChildren {
		if s.Task(id).State == TaskOpen {
			return nil, false
		}
	}
	ready := slices.DeleteFunc(tasks, func(c Command) bool { return c.kind() != KindCall })
	for _, id := range wildSteps {
		ready = append(ready, &WithdrawStep{ID: spec.StepID(id)})
	}
	return ready, true
}

// anyTask draws one of the open tasks.
func anyTask(t *rapid.T, r *rig) (Task, bool) {
	if len(r.tasks) == 0 {
		return Task{}, false
	}
	keys := make([]TaskKey, 0, len(r.tasks))
	for key := range r.tasks {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, TaskKey.compare)
	return r.tasks[rapid.SampledFrom(keys).Draw(t, "task")], true
}

// task does with a task what workers and operators do. It reports false when there is none.
func (l *ledger) task(t *rapid.T) bool {
	r := l.r
	task, ok := anyTask(t, r)
	if !ok {
		return false
	}
	key := task.TaskKey
	switch rapid.IntRange(0, 9).Draw(t, "work") {
	case 0:
		r.attempt(key)
	case 1, 2, 3:
		r.attempt(key)
		r.outcomeOnce(t, &SettleTask{Run: testKey, Task: key, Attempt: r.tasks[key].Attempt, Output: payload(rapid.IntRange(0, 2).Draw(t, "v"))})
	case 4, 5:
		f := &Failure{Reason: FailedExhausted, Code: "c", Message: "m", Attempt: task.Attempt}
		r.outcomeOnce(t, &SettleTask{Run: testKey, Task: key, Attempt: task.Attempt, Failure: f, Letter: &Letter{Failure: *f}})
	case 6:
		m := &SettleTask{Run: testKey, Task: key, Attempt: task.Attempt + 1, Output: payload(0)}
		if _, err := r.accept(m); err == nil {
			t.Fatalf("the outcome of an attempt that never began is taken: %+v", task)
		}
	case 7:
		if key.Kind == TaskStep {
			_, _ = r.accept(&HoldTask{Run: testKey, Task: key, Attempt: task.Attempt, Letter: Letter{Failure: Failure{Reason: FailedExhausted}}})
		}
	case 8:
		_, _ = r.accept(&ReplayTask{Run: testKey, Task: key, Actor: "ada"})
	case 9:
		_, _ = r.accept(&DiscardTask{Run: testKey, Task: key, Actor: "ada"})
	}
	return true
}

// outcome is that of a task which is open in both runs; nil when there is none.
func (r *race) outcome(t *rapid.T, i int) Message {
	task, ok := anyTask(t, r.fast)
	if !ok || r.fast.run.Status.Ended() || r.slow.run.Status.Ended() {
		return nil
	}
	if _, both := r.slow.tasks[task.TaskKey]; !both || r.fast.run.Generation != r.slow.run.Generation {
		return nil
	}
	m := &SettleTask{Run: testKey, Task: task.TaskKey, Attempt: task.Attempt, Output: payload(i)}
	if rapid.Bool().Draw(t, "fails") {
		m.Failure = &Failure{Reason: FailedExhausted, Attempt: task.Attempt}
	}
	return m
}

// drawTaskMessage is one about a task that may be open, whose first attempt is under way.
func drawTaskMessage(t *rapid.T, generation int, v canon.Payload) Message {
	id := rapid.SampledFrom(wildTasks).Draw(t, "task")
	kind := map[string]TaskKind{"st": TaskStep, "ch": TaskChild, "ca": TaskCall}[id[:2]]
	key := TaskKey{Generation: generation, Kind: kind, ID: id}
	f := Failure{Reason: FailedExhausted}
	switch rapid.IntRange(0, 5).Draw(t, "about it") {
	case 0:
		return &HoldTask{Run: testKey, Task: TaskKey{Generation: generation, Kind: TaskStep, ID: "st0"}, Letter: Letter{Failure: f}}
	case 1:
		return &ReplayTask{Run: testKey, Task: TaskKey{Generation: generation, Kind: TaskStep, ID: "st0"}}
	case 2:
		return &DiscardTask{Run: testKey, Task: TaskKey{Generation: generation, Kind: TaskStep, ID: "st0"}}
	case 3:
		return &SettleTask{Run: testKey, Task: key, Failure: &f, Letter: &Letter{Failure: f}}
	}
	return &SettleTask{Run: testKey, Task: key, Output: v}
}
