package engine

import (
	"fmt"

	"github.com/flowgate-go/flowgate/internal/history"
)

// FailureReason says why a step, a child or a call failed. The set is closed.
type FailureReason = history.FailureReason

// The reasons.
const (
	FailedExhausted       = history.FailedExhausted       // step: its attempts are used up
	FailedNonRetryable    = history.FailedNonRetryable    // step: its error allows no other attempt
	FailedQuarantined     = history.FailedQuarantined     // step: it took its process down too often
	FailedScheduleToClose = history.FailedScheduleToClose // step: its time for all attempts is over
	FailedDiscarded       = history.FailedDiscarded       // step: somebody discarded it among the dead letters
	FailedChild           = history.FailedChild           // child: it ended as failed
	FailedCancelled       = history.FailedCancelled       // child: it was cancelled
	FailedUnknownWorkflow = history.FailedUnknownWorkflow // child: nobody has registered the workflow
	FailedDepth           = history.FailedDepth           // child: too many parents above it
	FailedTargetUnknown   = history.FailedTargetUnknown   // call: there is no such run, and was none for some time
	FailedTargetEnded     = history.FailedTargetEnded     // call: the run ended before
	FailedUndeclared      = history.FailedUndeclared      // call: the run's spec does not declare the signal
	FailedSchema          = history.FailedSchema          // call, child: payload or input breaks the schema
	FailedConflict        = history.FailedConflict        // call: the signal ID is used; child: the run ID is
)

// StepFailure is why a step failed. It is an error: a workflow function that returns it ends the run as failed.
type StepFailure struct {
	StepID  string
	Reason  FailureReason
	Code    string // of the last error, see Coded
	Message string // of the last error
	Attempt int    // the last one
}

// Error implements error.
func (f *StepFailure) Error() string {
	text := fmt.Sprintf("step %q failed (%s)", f.StepID, f.Reason)
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}

// ChildFailure is why a child failed. It is an error: a workflow function that returns it ends the run as failed.
type ChildFailure struct {
	ChildID string
	Reason  FailureReason
	Message string
}

// Error implements error.
func (f *ChildFailure) Error() string {
	text := fmt.Sprintf("child %q failed (%s)", f.ChildID, f.Reason)
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}

// CallFailure is why a message to another run was not delivered. It is an error: a workflow function that returns it ends
// the run as failed.
type CallFailure struct {
	CallID string
	Reason FailureReason
}

// Error implements error.
func (f *CallFailure) Error() string { return fmt.Sprintf("call %q failed (%s)", f.CallID, f.Reason) }

// StepOutput decodes the output of a step. The bool is false while the step has none; once the step has failed the error
// is its *StepFailure. Decoding is that of Input.
func StepOutput[T any](ctx Reader, stepID string) (T, bool, error) {
	if f, failed := ctx.StepFailed(stepID); failed {
		var none T
		return none, false, f
	}
	return taskOutput[T](ctx, stepID, history.KindStep)
}

// ChildOutput decodes the output of a child. The bool is false while the child has none; once the child has failed the
// error is its *ChildFailure. Decoding is that of Input.
func ChildOutput[T any](ctx Reader, childID string) (T, bool, error) {
	if f, failed := ctx.ChildFailed(childID); failed {
		var none T
		return none, false, f
	}
	return taskOutput[T](ctx, childID, history.KindChild)
}

func taskOutput[T any](ctx Reader, id string, kind history.Kind) (T, bool, error) {
	t := ctx.use().Task(id)
	if t.Kind != kind || t.State != history.TaskCompleted {
		var none T
		return none, false, nil
	}
	v, err := decode[T](fmt.Sprintf("output of %s %q", kind, id), t.Output.Bytes())
	return v, true, err
}

// failed gives why a task of a kind failed; nil when it did not.
func (r *reads) failed(id string, kind history.Kind) *history.Failure {
	if t := r.use().Task(id); t.Kind == kind {
		return t.Failure
	}
	return nil
}

// StepFailed says that a step failed for good, and why.
func (r *reads) StepFailed(stepID string) (*StepFailure, bool) {
	f := r.failed(stepID, history.KindStep)
	if f == nil {
		return nil, false
	}
	return &StepFailure{StepID: stepID, Reason: f.Reason, Code: f.Code, Message: f.Message, Attempt: f.Attempt}, true
}

// StepCancelled says that the step was withdrawn with CancelStep before it had an outcome.
func (r *reads) StepCancelled(stepID string) bool {
	t := r.use().Task(stepID)
	return t.Kind == history.KindStep && t.State == history.TaskCancelled
}

// ChildFailed says that a child failed, was cancelled or could not be started, and why.
func (r *reads) ChildFailed(childID string) (*ChildFailure, bool) {
	f := r.failed(childID, history.KindChild)
	if f == nil {
		return nil, false
	}
	return &ChildFailure{ChildID: childID, Reason: f.Reason, Message: f.Message}, true
}

// CallDelivered says that another run has accepted the message of a call.
func (r *reads) CallDelivered(callID string) bool {
	t := r.use().Task(callID)
	return t.Kind == history.KindCall && t.State == history.TaskCompleted
}

// CallFailed says that another run refused the message of a call for good, and why.
func (r *reads) CallFailed(callID string) (*CallFailure, bool) {
	f := r.failed(callID, history.KindCall)
	if f == nil {
		return nil, false
	}
	return &CallFailure{CallID: callID, Reason: f.Reason}, true
}

// factual says that an error is one of the history: returning it is a decision like any other.
func factual(err error) bool {
	return as[*StepFailure](err) || as[*ChildFailure](err) || as[*CallFailure](err)
}
