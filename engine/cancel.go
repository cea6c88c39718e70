package engine

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// CancelRequest ends a run. Reason is optional, at most 1 KiB, and ends in the history; Actor as in SignalRequest.
type CancelRequest struct {
	RunID  spec.RunID
	Reason string
	Actor  string
}

// Cancel ends a run at once and without its code, also while it is blocked; its open hooks close with the cause
// cancelled. A run whose spec is CooperativeCancel is asked instead: its code sees CancelRequested and ends the run.
//
// Cancelling again is a duplicate, also of a run that was cancelled, and has the sequence and the time of the first
// request, of Cancel or Terminate, that was accepted for the run. Errors: *InvalidError, ErrRunNotFound, ErrRunEnded
// when the run completed or failed, ErrUnavailable.
func (h *Handle) Cancel(ctx context.Context, req CancelRequest) (Receipt, error) {
	return h.cancel(ctx, req, false)
}

// Terminate is Cancel that ends the run at once whatever its spec says. On a run that was asked to end and still runs it
// is accepted, with a receipt of its own; on a cancelled run it is a duplicate of the first request, as Cancel is.
func (h *Handle) Terminate(ctx context.Context, req CancelRequest) (Receipt, error) {
	return h.cancel(ctx, req, true)
}

func (h *Handle) cancel(ctx context.Context, req CancelRequest, terminate bool) (r Receipt, err error) {
	kind := MessageCancel
	if terminate {
		kind = MessageTerminate
	}
	defer func() { h.e.figures.received(kind, r.Verdict, err) }()
	key, err := h.key(req.RunID)
	if err != nil {
		return Receipt{}, err
	}
	if err := checkReason(req.Reason); err != nil {
		return Receipt{}, err
	}
	if err := checkSource("", req.Actor); err != nil {
		return Receipt{}, err
	}
	return h.e.accept(ctx, &history.CancelRun{Run: key, Terminate: terminate, Reason: req.Reason, Actor: req.Actor})
}

func checkReason(reason string) error {
	switch {
	case len(reason) > maxText:
		return &InvalidError{Field: "reason", Rule: fmt.Sprintf("must be at most %d bytes, has %d", maxText, len(reason))}
	case !utf8.ValidString(reason) || oneLine(reason) != reason:
		return &InvalidError{Field: "reason", Rule: "must be one line of valid UTF-8"}
	}
	return spec.CheckNoToken("reason", reason)
}

// Retry makes a blocked run due now, in place of waiting for its back-off. On a run that is not blocked it changes
// nothing. Errors: *InvalidError, ErrRunNotFound, ErrRunEnded, ErrUnavailable.
func (h *Handle) Retry(ctx context.Context, id spec.RunID) (err error) {
	var receipt Receipt
	defer func() { h.e.figures.received(MessageRetry, receipt.Verdict, err) }()
	key, err := h.key(id)
	if err != nil {
		return err
	}
	receipt, err = h.e.accept(ctx, &history.RetryRun{Run: key})
	return err
}
