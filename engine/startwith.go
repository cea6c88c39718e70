package engine

import (
	"context"
	"errors"

	"github.com/flowgate-go/flowgate/internal/history"
)

// StartError says that of a message with a start it was the start that was refused. It wraps the refusal.
type StartError struct {
	Err error
}

// Error says which part it is about.
func (e *StartError) Error() string { return "start: " + e.Err.Error() }

// Unwrap returns the refusal.
func (e *StartError) Unwrap() error { return e.Err }

// SignalWithStart starts a run and sends it a signal, in one transaction: both are committed or neither is. A run that is
// there is attached to: it gets the signal if it is one of the same workflow; its version, input and labels are not
// compared. The run sees the signal from its first turn on. Receipt.StartedFresh says whether the run was started.
//
// The start must name the run; the signal need not. It is idempotent by (run, SignalID) as SendSignal is: a known signal is
// a duplicate whatever the rest of the call says and whatever became of the run. A signal that is refused starts no run.
//
// Errors: those of SendSignal but ErrRunNotFound; of the start, *StartError around *InvalidError, *PayloadError,
// ErrPayloadTooLarge, and where there is no run to attach to, ErrWorkflowNotFound or *SchemaError; *RunConflictError when the
// run is one of another workflow. After ErrUnavailable the same call is safe to repeat.
func (h *Handle) SignalWithStart(ctx context.Context, start StartRequest, signal SignalRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageSignalWithStart, r.Verdict, err) }()
	m, err := h.startWith(ctx, start)
	if err != nil {
		return Receipt{}, err
	}
	if signal.RunID == "" {
		signal.RunID = start.RunID
	}
	if signal.RunID != start.RunID {
		return Receipt{}, &InvalidError{Field: "run_id", Rule: "must be that of the start"}
	}
	send, err := h.signal(signal)
	if err != nil {
		return Receipt{}, err
	}
	m.Send = send
	return h.e.accept(ctx, m)
}

// UpdateWithStart starts a run and sends it an update, in one transaction, under the rules of SignalWithStart: it is
// idempotent by (run, UpdateID), and an update that is refused starts no run. What the run answers is told by WaitUpdate.
//
// Errors: those of SendUpdate but ErrRunNotFound; of the start, those of SignalWithStart.
func (h *Handle) UpdateWithStart(ctx context.Context, start StartRequest, update UpdateRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageUpdateWithStart, r.Verdict, err) }()
	m, err := h.startWith(ctx, start)
	if err != nil {
		return Receipt{}, err
	}
	if update.RunID == "" {
		update.RunID = start.RunID
	}
	if update.RunID != start.RunID {
		return Receipt{}, &InvalidError{Field: "run_id", Rule: "must be that of the start"}
	}
	send, err := h.update(update)
	if err != nil {
		return Receipt{}, err
	}
	m.Send = send
	return h.e.accept(ctx, m)
}

// startWith checks the form of a start that goes with a message. What today's stored specs say against it counts only if
// there is no such run: that is known under the run's lock.
func (h *Handle) startWith(ctx context.Context, req StartRequest) (*history.StartWith, error) {
	if err := req.RunID.Validate(); err != nil {
		return nil, &StartError{err} // none is made: a retry would start another run, and the message would not be known
	}
	m, err := h.start(req)
	if err != nil {
		return nil, &StartError{err}
	}
	refusal := h.e.resolve(ctx, m)
	if refusal == nil {
		return &history.StartWith{Start: m}, nil
	}
	if errors.Is(refusal, ErrWorkflowNotFound) || as[*SchemaError](refusal) {
		return &history.StartWith{Start: m, Barred: &StartError{refusal}}, nil
	}
	return nil, refusal
}
