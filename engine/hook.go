package engine

import (
	"context"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// HookRequest answers or withdraws a hook by run and hook ID. Source and Actor are optional, at most 255 bytes each.
type HookRequest struct {
	RunID   spec.RunID
	HookID  spec.HookID
	Payload []byte // JSON; ignored by DisposeHook
	Source  string
	Actor   string
}

// ResumeHook answers a hook. A nil error means that the answer is committed and that the run will see it.
//
// It is idempotent for the life of the run: an equal answer gets the first receipt as a duplicate, also after the run
// ended; another answer gets *HookConflictError and changes nothing.
//
// Errors of form: *InvalidError, *PayloadError, ErrPayloadTooLarge. Of the hook: ErrRunNotFound, ErrHookNotFound,
// *HookClosedError (disposed, expired, cancelled, run ended), ErrSelfApproval and *SchemaError (the hook stays open). Else
// ErrUnavailable.
func (h *Handle) ResumeHook(ctx context.Context, req HookRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageHook, r.Verdict, err) }()
	key, err := h.hook(req)
	if err != nil {
		return Receipt{}, err
	}
	payload, err := h.parse(req.Payload)
	if err != nil {
		return Receipt{}, err
	}
	return h.e.accept(ctx, &history.ResumeHook{
		Run: key, HookID: req.HookID, Payload: payload, Source: req.Source, Actor: req.Actor,
	})
}

// DisposeHook withdraws a hook: from then on it answers gone. Disposing of it again is a duplicate.
//
// Errors: *InvalidError, ErrRunNotFound, ErrHookNotFound, *HookConflictError when it was answered, *HookClosedError when
// it expired or its run ended, ErrUnavailable.
func (h *Handle) DisposeHook(ctx context.Context, req HookRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageDispose, r.Verdict, err) }()
	key, err := h.hook(req)
	if err != nil {
		return Receipt{}, err
	}
	return h.e.accept(ctx, &history.DisposeHook{Run: key, HookID: req.HookID, Source: req.Source, Actor: req.Actor})
}

// hook checks the form of a request but for its payload.
func (h *Handle) hook(req HookRequest) (history.RunKey, error) {
	key, err := h.key(req.RunID)
	if err != nil {
		return key, err
	}
	if err := req.HookID.Validate(); err != nil {
		return key, err
	}
	return key, checkSource(req.Source, req.Actor)
}
