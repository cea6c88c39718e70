package engine

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// SignalReceipt is an accepted signal and its fate. Its JSON is the signal receipt of the HTTP contract.
type SignalReceipt struct {
	RunID      spec.RunID    `json:"run_id"`
	SignalID   spec.SignalID `json:"signal_id"`
	Name       string        `json:"name"`
	Sequence   int64         `json:"sequence"`
	ReceivedAt time.Time     `json:"received_at"`
	Actor      string        `json:"actor,omitempty"`
	Source     string        `json:"source"`
	State      string        `json:"state"` // queued, consumed or unread_at_end
	ConsumedBy *ConsumedBy   `json:"consumed_by,omitempty"`
}

// ConsumedBy is the wait that consumed a signal.
type ConsumedBy struct {
	WaitID     spec.WaitID `json:"wait_id"`
	Generation int         `json:"generation"`
}

// The states of a signal.
const (
	SignalQueued   = "queued"
	SignalConsumed = "consumed"
	SignalUnread   = "unread_at_end"
)

// Receipt tells what became of a signal, for the life of the run. Errors: *InvalidError, ErrRunNotFound,
// ErrSignalNotFound, ErrUnavailable.
func (h *Handle) Receipt(ctx context.Context, run spec.RunID, id spec.SignalID) (SignalReceipt, error) {
	key, err := h.key(run)
	if err != nil {
		return SignalReceipt{}, err
	}
	if err := id.Validate(); err != nil {
		return SignalReceipt{}, err
	}
	// The run is read first: a signal that is unread then, of a run that had ended before, stays so.
	view, err := h.e.store.ReadRun(ctx, key)
	if err != nil {
		return SignalReceipt{}, err
	}
	s, err := h.e.store.Signal(ctx, key, id)
	if err != nil {
		return SignalReceipt{}, err
	}
	return showSignal(run, view.Status, s), nil
}

func showSignal(run spec.RunID, status Status, s history.Signal) SignalReceipt {
	r := SignalReceipt{
		RunID: run, SignalID: s.ID, Name: s.Name, Sequence: s.Seq, ReceivedAt: s.ReceivedAt, Actor: s.Actor,
		Source: s.Source, State: SignalQueued,
	}
	switch {
	case s.ConsumedBy != nil:
		r.State = SignalConsumed
		r.ConsumedBy = &ConsumedBy{WaitID: s.ConsumedBy.WaitID, Generation: s.ConsumedBy.Generation}
	case status.Ended():
		r.State = SignalUnread
	}
	return r
}
