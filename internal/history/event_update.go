package history

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// UpdateReceived is an accepted update; it stays open until workflow code answers it or the run ends.
type UpdateReceived struct {
	UpdateID spec.UpdateID `json:"update_id"`
	Name     string        `json:"name"`
	Source   string        `json:"source,omitempty"`
	Actor    string        `json:"actor,omitempty"`
	Digest   canon.Digest  `json:"digest"`
	Payload  canon.Payload `json:"-"`
}

// UpdateCompleted is the result of an update.
type UpdateCompleted struct {
	UpdateID spec.UpdateID `json:"update_id"`
	Digest   canon.Digest  `json:"digest"`
	Output   canon.Payload `json:"-"`
}

// UpdateRejected says that workflow code refused an update, and in which words.
type UpdateRejected struct {
	UpdateID spec.UpdateID `json:"update_id"`
	Message  string        `json:"message"`
}

// UpdateOrphaned ends an update that nobody answered before the run ended.
type UpdateOrphaned struct {
	UpdateID spec.UpdateID `json:"update_id"`
	Cause    HookState     `json:"cause"` // run_ended or cancelled
}

// Type implements Data.
func (*UpdateReceived) Type() Type { return TypeUpdateReceived }

// Type implements Data.
func (*UpdateCompleted) Type() Type { return TypeUpdateCompleted }

// Type implements Data.
func (*UpdateRejected) Type() Type { return TypeUpdateRejected }

// Type implements Data.
func (*UpdateOrphaned) Type() Type { return TypeUpdateOrphaned }

func (d *UpdateReceived) payload() canon.Payload      { return d.Payload }
func (d *UpdateReceived) setPayload(p canon.Payload)  { d.Payload = p }
func (d *UpdateCompleted) payload() canon.Payload     { return d.Output }
func (d *UpdateCompleted) setPayload(p canon.Payload) { d.Output = p }
