package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// StepScheduled asks for a step. Times of attempts are Go duration strings.
type StepScheduled struct {
	StepID       spec.StepID      `json:"step_id"`
	Name         string           `json:"name"`
	Retry        spec.RetryPolicy `json:"retry"`
	StartToClose Span             `json:"start_to_close,omitempty"` // of one attempt
	Heartbeat    Span             `json:"heartbeat,omitempty"`      // longest silence of an attempt
	CloseAt      *time.Time       `json:"close_at,omitempty"`       // of all attempts
	OpenedAt     *time.Time       `json:"opened_at,omitempty"`      // effective time, where it is before the event's
	Digest       canon.Digest     `json:"digest"`
	Input        canon.Payload    `json:"-"`
}

// StepCompleted is the output of the attempt that succeeded.
type StepCompleted struct {
	StepID  spec.StepID   `json:"step_id"`
	Attempt int           `json:"attempt"`
	Digest  canon.Digest  `json:"digest"`
	Output  canon.Payload `json:"-"`
}

// StepFailed says why the step is not tried again.
type StepFailed struct {
	StepID  spec.StepID   `json:"step_id"`
	Attempt int           `json:"attempt"`
	Reason  FailureReason `json:"reason"`
	Code    string        `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
}

// StepTimedOut ends a step whose time for all attempts is over.
type StepTimedOut struct {
	StepID spec.StepID `json:"step_id"`
}

// StepCancelled ends a step that workflow code withdrew, or whose run ended.
type StepCancelled struct {
	StepID spec.StepID `json:"step_id"`
	Cause  HookState   `json:"cause"` // disposed, by code; cancelled or run_ended
}

// Type implements Data.
func (*StepScheduled) Type() Type { return TypeStepScheduled }

// Type implements Data.
func (*StepCompleted) Type() Type { return TypeStepCompleted }

// Type implements Data.
func (*StepFailed) Type() Type { return TypeStepFailed }

// Type implements Data.
func (*StepTimedOut) Type() Type { return TypeStepTimedOut }

// Type implements Data.
func (*StepCancelled) Type() Type { return TypeStepCancelled }

func (d *StepScheduled) payload() canon.Payload     { return d.Input }
func (d *StepScheduled) setPayload(p canon.Payload) { d.Input = p }
func (d *StepCompleted) payload() canon.Payload     { return d.Output }
func (d *StepCompleted) setPayload(p canon.Payload) { d.Output = p }
