package history

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// SignalRequested is a signal to be sent to another run.
type SignalRequested struct {
	CallID   spec.CallID   `json:"call_id"`
	Target   spec.RunID    `json:"target"`
	SignalID spec.SignalID `json:"signal_id"`
	Name     string        `json:"name"`
	Digest   canon.Digest  `json:"digest"`
	Payload  canon.Payload `json:"-"`
}

// CancelRequested is a wish to cancel another run.
type CancelRequested struct {
	CallID spec.CallID `json:"call_id"`
	Target spec.RunID  `json:"target"`
	Reason string      `json:"reason,omitempty"`
}

// CallDelivered says that the other run has accepted the message.
type CallDelivered struct {
	CallID spec.CallID `json:"call_id"`
}

// CallFailed says that the other run refused the message for good.
type CallFailed struct {
	CallID spec.CallID   `json:"call_id"`
	Reason FailureReason `json:"reason"`
}

// Type implements Data.
func (*SignalRequested) Type() Type { return TypeSignalRequested }

// Type implements Data.
func (*CancelRequested) Type() Type { return TypeCancelRequested }

// Type implements Data.
func (*CallDelivered) Type() Type { return TypeCallDelivered }

// Type implements Data.
func (*CallFailed) Type() Type { return TypeCallFailed }

func (d *SignalRequested) payload() canon.Payload     { return d.Payload }
func (d *SignalRequested) setPayload(p canon.Payload) { d.Payload = p }
