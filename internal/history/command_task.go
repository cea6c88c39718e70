package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// ScheduleStep opens a step. Naming a known one changes nothing.
type ScheduleStep struct {
	ID              spec.StepID
	Name            string
	Input           canon.Payload
	Retry           spec.RetryPolicy
	StartToClose    time.Duration
	Heartbeat       time.Duration  // 0 is none
	ScheduleToClose *time.Duration // from the time of the turn that opens it
}

// WithdrawStep ends an open step. On one that is settled or was never opened it changes nothing.
type WithdrawStep struct {
	ID spec.StepID
}

// StartChild opens a child. Naming a known one changes nothing.
type StartChild struct {
	ID          spec.ChildID
	Workflow    string
	Version     string
	RunID       spec.RunID
	Input       canon.Payload
	OnParentEnd OnParentEnd
}

// CallSignal sends a signal to another run. Naming a known call changes nothing.
type CallSignal struct {
	ID      spec.CallID
	Target  spec.RunID
	Signal  spec.SignalID
	Name    string
	Payload canon.Payload
}

// CallCancel asks to cancel another run. Naming a known call changes nothing.
type CallCancel struct {
	ID     spec.CallID
	Target spec.RunID
	Reason string
}

func (c *ScheduleStep) id() string { return string(c.ID) }
func (c *WithdrawStep) id() string { return string(c.ID) }
func (c *StartChild) id() string   { return string(c.ID) }
func (c *CallSignal) id() string   { return string(c.ID) }
func (c *CallCancel) id() string   { return string(c.ID) }

func (c *ScheduleStep) kind() Kind { return KindStep }
func (c *WithdrawStep) kind() Kind { return KindStep }
func (c *StartChild) kind() Kind   { return KindChild }
func (c *CallSignal) kind() Kind   { return KindCall }
func (c *CallCancel) kind() Kind   { return KindCall }
