package enginetest

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// CompleteStep gives an open step its output, which is encoded as JSON: no function of a step is called.
func (r *Run) CompleteStep(id spec.StepID, output any) {
	r.t.Helper()
	r.done("complete step "+string(id), r.r.CompleteStep(id, r.encode(output)))
}

// FailStep has an open step fail for good, with the code and the words of its last error.
func (r *Run) FailStep(id spec.StepID, code, message string) {
	r.t.Helper()
	r.done("fail step "+string(id), r.r.FailStep(id, engine.StepFailure{Code: code, Message: message}))
}

// TryCompleteStep is CompleteStep for a step that may not be open: then it is engine.ErrTaskClosed.
func (r *Run) TryCompleteStep(id spec.StepID, output any) error {
	r.t.Helper()
	err := r.r.CompleteStep(id, r.encode(output))
	r.check("complete step " + string(id))
	return err
}

// TryFailStep is FailStep for a step that may not be open: then it is engine.ErrTaskClosed.
func (r *Run) TryFailStep(id spec.StepID, code, message string) error {
	r.t.Helper()
	err := r.r.FailStep(id, engine.StepFailure{Code: code, Message: message})
	r.check("fail step " + string(id))
	return err
}

// StepInput is the name under which an open step is registered, and its input.
func (r *Run) StepInput(id spec.StepID) (name string, input json.RawMessage) {
	r.t.Helper()
	name, input, err := r.r.StepInput(id)
	r.done("read the input of step "+string(id), err)
	return name, input
}

// CompleteChild gives an open child its output, which is encoded as JSON: no run is started.
func (r *Run) CompleteChild(id spec.ChildID, output any) {
	r.t.Helper()
	r.done("complete child "+string(id), r.r.CompleteChild(id, r.encode(output)))
}

// FailChild has an open child fail.
func (r *Run) FailChild(id spec.ChildID, reason engine.FailureReason, message string) {
	r.t.Helper()
	r.done("fail child "+string(id), r.r.FailChild(id, reason, message))
}

// DeliverCall has the other run accept the message of an open call: nothing is sent.
func (r *Run) DeliverCall(id spec.CallID) {
	r.t.Helper()
	r.done("deliver call "+string(id), r.r.DeliverCall(id))
}

// FailCall has the other run refuse the message of an open call for good.
func (r *Run) FailCall(id spec.CallID, reason engine.FailureReason) {
	r.t.Helper()
	r.done("fail call "+string(id), r.r.FailCall(id, reason))
}
