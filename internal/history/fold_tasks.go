package history

import "time"

// newTask is the task that an event asks for.
func newTask(d Data) (t *task, openedAt *time.Time) {
	switch d := d.(type) {
	case *StepScheduled:
		return &task{id: string(d.StepID), kind: KindStep, name: d.Name, digest: d.Digest, closeAt: d.CloseAt}, d.OpenedAt
	case *ChildRequested:
		return &task{
			id: string(d.ChildID), kind: KindChild, name: d.Workflow, target: d.RunID, digest: d.Digest, stop: d.OnParentEnd,
		}, nil
	case *SignalRequested:
		return &task{id: string(d.CallID), kind: KindCall, name: d.Name, target: d.Target, digest: d.Digest}, nil
	case *CancelRequested:
		return &task{id: string(d.CallID), kind: KindCall, target: d.Target}, nil
	}
	panic("history: asks for no task")
}

func (s *State) openTask(e Event) string {
	t, openedAt := newTask(e.Data)
	if _, known := s.kindOf(t.id); known {
		return "the ID was used before"
	}
	t.openedAt, t.seq, t.state, t.shown = e.At, e.Seq, TaskOpen, TaskOpen
	if openedAt != nil {
		t.openedAt = *openedAt
	}
	s.tasks.add(t)
	s.working = append(s.working, t)
	s.engaged++
	s.watch(t.closeAt, e.At)
	return ""
}

// ending is what an event says of the task that it ends.
type taskEnding struct {
	id      string
	kind    Kind
	state   TaskState
	failure *Failure
}

func endingOf(d Data) taskEnding {
	switch d := d.(type) {
	case *StepCompleted:
		return taskEnding{string(d.StepID), KindStep, TaskCompleted, nil}
	case *StepFailed:
		return taskEnding{string(d.StepID), KindStep, TaskFailed, &Failure{d.Reason, d.Code, d.Message, d.Attempt}}
	case *StepTimedOut:
		return taskEnding{string(d.StepID), KindStep, TaskFailed, &Failure{Reason: FailedScheduleToClose}}
	case *StepCancelled:
		return taskEnding{string(d.StepID), KindStep, TaskCancelled, nil}
	case *ChildCompleted:
		return taskEnding{string(d.ChildID), KindChild, TaskCompleted, nil}
	case *ChildFailed:
		return taskEnding{string(d.ChildID), KindChild, TaskFailed, &Failure{Reason: d.Reason, Message: d.Message}}
	case *ChildReleased:
		return taskEnding{string(d.ChildID), KindChild, TaskCancelled, nil}
	case *CallDelivered:
		return taskEnding{string(d.CallID), KindCall, TaskCompleted, nil}
	case *CallFailed:
		return taskEnding{string(d.CallID), KindCall, TaskFailed, &Failure{Reason: d.Reason}}
	}
	panic("history: ends no task")
}

// openTaskOf finds the open task that an event ends; the rule it breaks says that there is none.
func (s *State) openTaskOf(end taskEnding) (t *task, rule string) {
	t, known := s.tasks.get(end.id)
	if !known || t.kind != end.kind || t.state != TaskOpen {
		return nil, "the " + string(end.kind) + " is not open"
	}
	return t, ""
}

// settleTask takes an outcome that was accepted. It is shown to workflow code once it is taken.
func (s *State) settleTask(e Event) string {
	end := endingOf(e.Data)
	t, rule := s.openTaskOf(end)
	switch {
	case rule != "":
		return rule
	case t.closeAt != nil && !e.At.Before(*t.closeAt):
		return "the step is past its deadline"
	}
	if c, ok := e.Data.(carrier); ok {
		t.output = c.payload()
	}
	t.state, t.failure = end.state, end.failure
	s.stopWorking(t)
	s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, name: t.id, kind: factTask})
	return ""
}

// closeTask ends a task by the turn's own doing, or by that of an ending: it is shown at once.
func (s *State) closeTask(e Event) string {
	end := endingOf(e.Data)
	t, rule := s.openTaskOf(end)
	if rule != "" {
		return rule
	}
	switch d := e.Data.(type) {
	case *StepTimedOut:
		if t.closeAt == nil || e.At.Before(*t.closeAt) {
			return "the step is not past its deadline"
		}
		s.opened = true
		s.advance(later(*t.closeAt, t.openedAt))
	case *StepCancelled:
		if d.Cause == StateDisposed {
			s.opened = true
			break
		}
		if rule := endingCause(d.Cause); rule != "" {
			return rule
		}
	case *ChildReleased:
		if rule := endingCause(d.Cause); rule != "" {
			return rule
		}
	}
	t.state, t.failure = end.state, end.failure
	s.stopWorking(t)
	s.showTask(t)
	return ""
}

func endingCause(cause HookState) string {
	if cause != StateRunEnded && cause != StateCancelled {
		return "the cause is not one of an ending"
	}
	return ""
}

func (s *State) showTask(t *task) {
	t.shown = t.state
	s.engaged--
	s.settle(&t.settled)
}
