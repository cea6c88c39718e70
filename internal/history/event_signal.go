package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// SignalReceived is an accepted message; it stays buffered until a wait consumes it.
type SignalReceived struct {
	SignalID spec.SignalID `json:"signal_id"`
	Name     string        `json:"name"`
	Source   string        `json:"source,omitempty"`
	Actor    string        `json:"actor,omitempty"`
	Digest   canon.Digest  `json:"digest"`
	Payload  canon.Payload `json:"-"`
}

// WaitOpened is a claim on the next signal of one name.
type WaitOpened struct {
	WaitID   spec.WaitID `json:"wait_id"`
	Signal   string      `json:"signal"`
	Deadline *time.Time  `json:"deadline,omitempty"`
	OpenedAt *time.Time  `json:"opened_at,omitempty"` // effective time of the opening, where it is before the event's
	Again    bool        `json:"again,omitempty"`     // named again after a withdrawal: the first deadline holds
}

// WaitCompleted pairs a wait with the signal it consumed.
type WaitCompleted struct {
	WaitID    spec.WaitID   `json:"wait_id"`
	SignalID  spec.SignalID `json:"signal_id"`
	SignalSeq int64         `json:"signal_seq"`
}

// WaitTimedOut ends a wait whose deadline passed.
type WaitTimedOut struct {
	WaitID spec.WaitID `json:"wait_id"`
}

// WaitWithdrawn ends a wait that workflow code no longer names.
type WaitWithdrawn struct {
	WaitID spec.WaitID `json:"wait_id"`
}

// Type implements Data.
func (*SignalReceived) Type() Type { return TypeSignalReceived }

// Type implements Data.
func (*WaitOpened) Type() Type { return TypeWaitOpened }

// Type implements Data.
func (*WaitCompleted) Type() Type { return TypeWaitCompleted }

// Type implements Data.
func (*WaitTimedOut) Type() Type { return TypeWaitTimedOut }

// Type implements Data.
func (*WaitWithdrawn) Type() Type { return TypeWaitWithdrawn }

func (d *SignalReceived) payload() canon.Payload     { return d.Payload }
func (d *SignalReceived) setPayload(p canon.Payload) { d.Payload = p }
