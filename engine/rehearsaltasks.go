package engine

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// A Rehearsal does no steps, starts no children and sends nothing: its user says what comes of them.

// CompleteStep gives an open step its output, which is JSON. Errors: ErrTaskClosed for one that is not open, *PayloadError.
func (r *Rehearsal) CompleteStep(id spec.StepID, output []byte) error {
	return r.complete(history.TaskStep, string(id), output)
}

// FailStep has an open step fail; the reason is FailedExhausted where f names none. Errors: ErrTaskClosed.
func (r *Rehearsal) FailStep(id spec.StepID, f StepFailure) error {
	failure := &history.Failure{Reason: f.Reason, Code: f.Code, Message: f.Message, Attempt: max(f.Attempt, 1)}
	if failure.Reason == "" {
		failure.Reason = FailedExhausted
	}
	return r.settleTask(history.TaskStep, string(id), canon.Payload{}, failure)
}

// CompleteChild gives an open child its output, which is JSON. Errors: ErrTaskClosed, *PayloadError.
func (r *Rehearsal) CompleteChild(id spec.ChildID, output []byte) error {
	return r.complete(history.TaskChild, string(id), output)
}

// FailChild has an open child fail. Errors: ErrTaskClosed.
func (r *Rehearsal) FailChild(id spec.ChildID, reason FailureReason, message string) error {
	return r.settleTask(history.TaskChild, string(id), canon.Payload{}, &history.Failure{Reason: reason, Message: message})
}

// DeliverCall has the other run accept the message of an open call. Errors: ErrTaskClosed.
func (r *Rehearsal) DeliverCall(id spec.CallID) error {
	return r.settleTask(history.TaskCall, string(id), canon.Payload{}, nil)
}

// FailCall has the other run refuse it for good. Errors: ErrTaskClosed.
func (r *Rehearsal) FailCall(id spec.CallID, reason FailureReason) error {
	return r.settleTask(history.TaskCall, string(id), canon.Payload{}, &history.Failure{Reason: reason})
}

// StepInput is the name and the input of an open step. Errors: ErrTaskClosed.
func (r *Rehearsal) StepInput(id spec.StepID) (name string, input json.RawMessage, err error) {
	t, open := r.tasks[r.taskKey(history.TaskStep, string(id))]
	if !open {
		return "", nil, ErrTaskClosed
	}
	return t.Name, r.events[t.Seq-1].Data.(*history.StepScheduled).Input.Bytes(), nil
}

func (r *Rehearsal) complete(kind history.TaskKind, id string, output []byte) error {
	p, err := r.parse(output)
	if err != nil {
		return err
	}
	return r.settleTask(kind, id, p, nil)
}

func (r *Rehearsal) settleTask(kind history.TaskKind, id string, output canon.Payload, f *history.Failure) error {
	m := &history.SettleTask{Run: r.key, Task: r.taskKey(kind, id), Output: output, Failure: f}
	if t, open := r.tasks[m.Task]; open { // as a worker begins it
		t.Attempt, m.Attempt = 1, 1
		r.tasks[m.Task] = t
	}
	_, err := r.accept(m)
	return err
}

func (r *Rehearsal) taskKey(kind history.TaskKind, id string) history.TaskKey {
	return history.TaskKey{Generation: r.run.Generation, Kind: kind, ID: id}
}

// keepTasks keeps what was opened and lets go of what was closed.
func (r *Rehearsal) keepTasks(opened []history.Task, closed []history.TaskKey) {
	for _, key := range closed {
		delete(r.tasks, key)
	}
	for _, t := range opened {
		r.tasks[t.TaskKey] = t
	}
}
