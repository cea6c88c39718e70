package history

import (
	"fmt"
	"slices"

	"github.com/flowgate-go/flowgate/spec"
)

func (t *Turn) scheduleStep(c *ScheduleStep) {
	if _, known := t.state.tasks.get(string(c.ID)); known {
		return
	}
	deadline := t.deadline(c.ScheduleToClose, nil)
	t.openTask(string(c.ID), &StepScheduled{
		StepID: c.ID, Name: c.Name, Retry: c.Retry, StartToClose: Span(c.StartToClose), Heartbeat: Span(c.Heartbeat),
		CloseAt: deadline, OpenedAt: t.openedAt(deadline), Digest: c.Input.Digest(), Input: c.Input,
	})
}

func (t *Turn) startChild(c *StartChild) {
	if _, known := t.state.tasks.get(string(c.ID)); known {
		return
	}
	t.openTask(string(c.ID), &ChildRequested{
		ChildID: c.ID, Workflow: c.Workflow, Version: c.Version, RunID: c.RunID, OnParentEnd: c.OnParentEnd,
		Digest: c.Input.Digest(), Input: c.Input,
	})
}

func (t *Turn) sendCall(c Command) {
	if _, known := t.state.tasks.get(c.id()); known {
		return
	}
	switch c := c.(type) {
	case *CallSignal:
		t.openTask(c.id(), &SignalRequested{
			CallID: c.ID, Target: c.Target, SignalID: c.Signal, Name: c.Name, Digest: c.Payload.Digest(), Payload: c.Payload,
		})
	case *CallCancel:
		t.openTask(c.id(), &CancelRequested{CallID: c.ID, Target: c.Target, Reason: printable(c.Reason)})
	}
}

func (t *Turn) openTask(id string, data Data) {
	t.emit(data)
	if t.blocked != nil {
		return
	}
	opened, _ := t.state.tasks.get(id)
	t.newTasks = append(t.newTasks, opened.record(t.state.generation))
}

// withdrawStep ends an open step. One whose outcome was accepted keeps it, also when workflow code has not seen it yet; the
// code has done with it then: it may continue as new, as it may where its turn came before the outcome.
func (t *Turn) withdrawStep(id spec.StepID) {
	step, known := t.state.tasks.get(string(id))
	switch {
	case !known:
		return
	case step.state != TaskOpen:
		if step.shown == TaskOpen && !step.waived {
			step.waived = true
			t.waived = append(t.waived, spec.HookID(id))
		}
		return
	}
	t.closeRow(string(id))
	t.emit(&StepCancelled{StepID: id, Cause: StateDisposed})
}

// closeRow notes that the row of an open task goes. One that this turn opened does not come.
func (t *Turn) closeRow(id string) {
	open, _ := t.state.tasks.get(id)
	key := open.key(t.state.generation)
	if open.seq < t.run.NextSeq {
		t.closedTasks = append(t.closedTasks, key)
		return
	}
	t.newTasks = slices.DeleteFunc(t.newTasks, func(n Task) bool { return n.TaskKey == key })
}

// closeTasks ends the open steps and lets the open children go, in order of ID. Calls are sent although their run ends.
func (t *Turn) closeTasks(cause HookState) {
	for _, open := range t.state.openTasks() {
		switch open.kind {
		case KindStep:
			t.closeRow(open.id)
			t.emit(&StepCancelled{StepID: spec.StepID(open.id), Cause: cause})
		case KindChild:
			t.closeChild(open, cause)
		case KindCall, KindWait, KindTimer, KindHook, KindUpdate, KindEnding: // a call is sent; the others are no tasks
		}
	}
}

// closeChild lets a child go. One that is to go on without its parent keeps its row: it may not be started yet. One that
// this very turn asked for and that is not to go on is not started, so nobody is to be told.
func (t *Turn) closeChild(child *task, cause HookState) {
	if stop, told := child.record(t.state.generation).stop(); told {
		t.closeRow(child.id)
		if child.seq < t.run.NextSeq {
			t.newTasks = append(t.newTasks, stop)
		}
	}
	t.emit(&ChildReleased{ChildID: spec.ChildID(child.id), Cause: cause})
}

// describe says what the task already is and what to branch on.
func (t *task) describe() string {
	read := map[Kind][2]string{
		KindStep: {"StepOutput", "StepFailed"}, KindChild: {"ChildOutput", "ChildFailed"}, KindCall: {"CallDelivered", "CallFailed"},
	}[t.kind]
	switch t.shown {
	case TaskCompleted:
		return fmt.Sprintf("%s %q is completed; branch on %s", t.kind, t.id, read[0])
	case TaskFailed:
		return fmt.Sprintf("%s %q failed (%s); branch on %s", t.kind, t.id, t.failure.Reason, read[1])
	default:
		return fmt.Sprintf("%s %q is cancelled; use another ID to ask for it again", t.kind, t.id)
	}
}
