package engine

import (
	"context"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// SignalRequest is a message for a run. Source and Actor are optional and end in the history: the system the message
// came through and the verified principal that sent it, at most 255 bytes each.
type SignalRequest struct {
	RunID    spec.RunID
	SignalID spec.SignalID // the caller's identity of the message: the same one on every retry
	Name     string        // one of the signals that the run's spec declares
	Payload  []byte        // JSON; null for none
	Source   string
	Actor    string
}

// SendSignal stores a message for a run, before or after the run waits for it. The receipt is durable and needs no
// workflow code: a nil error means that the message is committed and that the run will see it.
//
// It is idempotent by (run, SignalID) for the life of the run, over generations and after its end: an equal message
// gets the first receipt as a duplicate, another name or payload gets *SignalConflictError and changes nothing.
//
// Errors of form: *InvalidError, *PayloadError, ErrPayloadTooLarge. Of the run: ErrRunNotFound, ErrRunEnded,
// ErrSignalUndeclared, *SchemaError, ErrBacklogFull. Else ErrUnavailable, after which the same call is safe to repeat.
func (h *Handle) SendSignal(ctx context.Context, req SignalRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageSignal, r.Verdict, err) }()
	m, err := h.signal(req)
	if err != nil {
		return Receipt{}, err
	}
	return h.e.accept(ctx, m)
}

// signal checks the form of a request.
func (h *Handle) signal(req SignalRequest) (*history.SendSignal, error) {
	key, err := h.key(req.RunID)
	if err != nil {
		return nil, err
	}
	if err := req.SignalID.Validate(); err != nil {
		return nil, err
	}
	if err := spec.CheckName("name", req.Name); err != nil {
		return nil, err
	}
	if err := checkSource(req.Source, req.Actor); err != nil {
		return nil, err
	}
	payload, err := h.parse(req.Payload)
	if err != nil {
		return nil, err
	}
	return &history.SendSignal{
		Run: key, ID: req.SignalID, Name: req.Name, Payload: payload, Source: req.Source, Actor: req.Actor,
	}, nil
}
