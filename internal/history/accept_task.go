package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// SettleTask is the outcome of a task. That of a step or a call, and of a child that could not be started, comes from the
// attempt that it names; that of a child which ended has no attempt.
type SettleTask struct {
	Run     RunKey
	Task    TaskKey
	Attempt int
	Output  canon.Payload // of a step or a child that did not fail
	Failure *Failure      // nil for one that did not fail
	Letter  *Letter       // goes to the dead letters with the failure
	Begun   *Task         // the record, as the attempt has it; nil where it is not at hand
}

// HoldTask keeps a step open whose attempts are used up, until somebody replays or discards it.
type HoldTask struct {
	Run     RunKey
	Task    TaskKey
	Attempt int
	Letter  Letter
}

// ReplayTask has a held step tried again, with all its attempts.
type ReplayTask struct {
	Run   RunKey
	Task  TaskKey
	Actor string
}

// DiscardTask lets a held step fail.
type DiscardTask struct {
	Run   RunKey
	Task  TaskKey
	Actor string
}

// Letter is what the dead letters keep of a step that failed for good.
type Letter struct {
	Failure Failure
}

// Target implements Message.
func (m *SettleTask) Target() RunKey { return m.Run }

// Target implements Message.
func (m *HoldTask) Target() RunKey { return m.Run }

// Target implements Message.
func (m *ReplayTask) Target() RunKey { return m.Run }

// Target implements Message.
func (m *DiscardTask) Target() RunKey { return m.Run }

// TaskOf is the task that a message is about, if it is about one.
func TaskOf(m Message) (TaskKey, bool) {
	switch m := m.(type) {
	case *SettleTask:
		return m.Task, true
	case *HoldTask:
		return m.Task, true
	case *ReplayTask:
		return m.Task, true
	case *DiscardTask:
		return m.Task, true
	}
	return TaskKey{}, false
}

// settleTask judges an outcome. What is settled, withdrawn or past its deadline, what another attempt does by now, and what
// is held takes none: the first outcome stands, and that of an attempt that was given up is refused.
func (r *Records) settleTask(m *SettleTask, now time.Time) (Receipt, error) {
	t, open := r.Tasks[m.Task]
	switch {
	case !open || t.CloseAt != nil && !now.Before(*t.CloseAt):
		return Receipt{}, ErrTaskClosed
	case t.Held || t.Attempt != m.Attempt && !(t.Kind == TaskChild && m.Attempt == 0):
		return Receipt{}, ErrStaleAttempt
	}
	if m.Letter != nil {
		r.Letters = append(r.Letters, t.letter(*m.Letter, now))
	}
	return r.settle(m, t, now), nil
}

// letter is what the dead letters keep of the step.
func (t Task) letter(l Letter, now time.Time) DeadLetter {
	l.Failure.Code, l.Failure.Message = printable(l.Failure.Code), printable(l.Failure.Message)
	return DeadLetter{Task: t, Letter: l, At: now}
}

// settle stores the outcome of an open task.
func (r *Records) settle(m *SettleTask, t Task, now time.Time) Receipt {
	r.closeTask(m.Task)
	receipt := Receipt{Verdict: Accepted, Run: m.Run, ReceivedAt: now}
	if r.Run.Status.Ended() || t.Generation != r.Run.Generation || m.Task.silent() {
		return receipt // nobody is to be told
	}
	receipt.Sequence = r.append(now, m.event())
	r.wakeUnlessBlocked(now)
	return receipt
}

// silent says that the outcome of the task is no event: it is the engine's own.
func (k TaskKey) silent() bool { return k.Kind == TaskReport || k.Kind == TaskStop }

// event is what the outcome adds to the history.
func (m *SettleTask) event() Data {
	f := m.Failure
	switch {
	case m.Task.Kind == TaskStep && f == nil:
		return &StepCompleted{StepID: spec.StepID(m.Task.ID), Attempt: m.Attempt, Digest: m.Output.Digest(), Output: m.Output}
	case m.Task.Kind == TaskStep:
		return &StepFailed{
			StepID: spec.StepID(m.Task.ID), Attempt: f.Attempt, Reason: f.Reason, Code: printable(f.Code), Message: printable(f.Message),
		}
	case m.Task.Kind == TaskChild && f == nil:
		return &ChildCompleted{ChildID: spec.ChildID(m.Task.ID), Digest: m.Output.Digest(), Output: m.Output}
	case m.Task.Kind == TaskChild:
		return &ChildFailed{ChildID: spec.ChildID(m.Task.ID), Reason: f.Reason, Message: printable(f.Message)}
	case f == nil:
		return &CallDelivered{CallID: spec.CallID(m.Task.ID)}
	default:
		return &CallFailed{CallID: spec.CallID(m.Task.ID), Reason: f.Reason}
	}
}

func (r *Records) holdTask(m *HoldTask, now time.Time) (Receipt, error) {
	t, open := r.Tasks[m.Task]
	switch {
	case !open || t.CloseAt != nil && !now.Before(*t.CloseAt):
		return Receipt{}, ErrTaskClosed
	case t.Attempt != m.Attempt || t.Held || !t.Begun: // it was held before, and perhaps replayed since
		return Receipt{}, ErrStaleAttempt
	}
	t.Held, t.Begun = true, false
	r.changeTask(t)
	r.Letters = append(r.Letters, t.letter(m.Letter, now))
	return Receipt{Verdict: Accepted, Run: m.Run, ReceivedAt: now}, nil
}

func (r *Records) replayTask(m *ReplayTask, now time.Time) (Receipt, error) {
	t, open := r.Tasks[m.Task]
	if !open || !t.Held || t.CloseAt != nil && !now.Before(*t.CloseAt) {
		return Receipt{}, ErrTaskClosed
	}
	t.Held = false
	r.changeTask(t)
	r.Decided = append(r.Decided, LetterDecision{Task: m.Task, State: LetterReplayed, Actor: m.Actor, At: now})
	return Receipt{Verdict: Accepted, Run: m.Run, ReceivedAt: now}, nil
}

func (r *Records) discardTask(m *DiscardTask, now time.Time) (Receipt, error) {
	t, open := r.Tasks[m.Task]
	if !open || !t.Held || t.CloseAt != nil && !now.Before(*t.CloseAt) {
		return Receipt{}, ErrTaskClosed
	}
	r.Decided = append(r.Decided, LetterDecision{Task: m.Task, State: LetterDiscarded, Actor: m.Actor, At: now})
	return r.settle(&SettleTask{
		Run: m.Run, Task: m.Task, Attempt: t.Attempt, Failure: &Failure{Reason: FailedDiscarded, Attempt: t.Attempt},
	}, t, now), nil
}

func (r *Records) changeTask(t Task) {
	r.Tasks[t.TaskKey] = t
	if r.ChangedTasks == nil {
		r.ChangedTasks = map[TaskKey]bool{}
	}
	r.ChangedTasks[t.TaskKey] = true
}

func (r *Records) closeTask(key TaskKey) {
	delete(r.Tasks, key)
	delete(r.ChangedTasks, key)
	r.ClosedTasks = append(r.ClosedTasks, key)
}

// closeTasks ends the open steps and lets the open children go when the run is cancelled, in order of ID.
func (r *Records) closeTasks(now time.Time) {
	open := slices.SortedFunc(maps.Values(r.Tasks), func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range open {
		switch t.Kind {
		case TaskStep:
			r.append(now, &StepCancelled{StepID: spec.StepID(t.ID), Cause: StateCancelled})
			r.closeTask(t.TaskKey)
		case TaskChild:
			r.append(now, &ChildReleased{ChildID: spec.ChildID(t.ID), Cause: StateCancelled})
			if stop, told := t.stop(); told {
				r.closeTask(t.TaskKey)
				r.NewTasks = append(r.NewTasks, stop)
			}
		case TaskCall, TaskReport, TaskStop: // goes on
		}
	}
	if parent := r.Run.Parent; parent != nil {
		r.NewTasks = append(r.NewTasks, parent.report(r.Run.Generation))
	}
}
