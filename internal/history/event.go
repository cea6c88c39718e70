package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Event is one fact of a run. Seq runs on over the generations of a run without a gap; At never goes back.
type Event struct {
	Generation int
	Seq        int64
	At         time.Time
	// Taken lists the accepted messages, by seq, that the turn showed to workflow code before this event, in order.
	// First and every later turn use this order.
	Taken []int64
	// Read lists settled hooks that workflow code asked about for the first time in the turn that ends here, and steps that it
	// withdrew before it was shown their outcome.
	Read []spec.HookID
	Data Data
}

// PayloadSize is the number of bytes that the event's payload has; 0 when it carries none.
func (e Event) PayloadSize() int64 {
	if c, ok := e.Data.(carrier); ok {
		return int64(len(c.payload().Bytes()))
	}
	return 0
}

// Data is the content of an event; each kind is one struct of this package.
type Data interface {
	Type() Type
}

// carrier is Data that holds a payload, which is stored beside the rest so that its bytes stay as received.
type carrier interface {
	Data
	payload() canon.Payload
	setPayload(canon.Payload)
}

// Type is the name of an event kind, as stored and as shown.
type Type string

// The event kinds.
const (
	TypeRunStarted         Type = "run.started"
	TypeRunContinued       Type = "run.continued"
	TypeRunCompleted       Type = "run.completed"
	TypeRunFailed          Type = "run.failed"
	TypeRunCancelRequested Type = "run.cancel_requested"
	TypeRunCancelled       Type = "run.cancelled"
	TypeRunBlocked         Type = "run.blocked"
	TypeRunUnblocked       Type = "run.unblocked"
	TypeSignalReceived     Type = "signal.received"
	TypeWaitOpened         Type = "wait.opened"
	TypeWaitCompleted      Type = "wait.completed"
	TypeWaitTimedOut       Type = "wait.timed_out"
	TypeWaitWithdrawn      Type = "wait.withdrawn"
	TypeHookCreated        Type = "hook.created"
	TypeHookRejected       Type = "hook.rejected"
	TypeHookResumed        Type = "hook.resumed"
	TypeHookDisposed       Type = "hook.disposed"
	TypeHookExpired        Type = "hook.expired"
	TypeHookClosed         Type = "hook.closed"
	TypeTimerStarted       Type = "timer.started"
	TypeTimerFired         Type = "timer.fired"
	TypeTimerCancelled     Type = "timer.cancelled"
	TypeStepScheduled      Type = "step.scheduled"
	TypeStepCompleted      Type = "step.completed"
	TypeStepFailed         Type = "step.failed"
	TypeStepTimedOut       Type = "step.timed_out"
	TypeStepCancelled      Type = "step.cancelled"
	TypeChildRequested     Type = "child.requested"
	TypeChildCompleted     Type = "child.completed"
	TypeChildFailed        Type = "child.failed"
	TypeChildReleased      Type = "child.released"
	TypeSignalRequested    Type = "call.signal_requested"
	TypeCancelRequested    Type = "call.cancel_requested"
	TypeCallDelivered      Type = "call.delivered"
	TypeCallFailed         Type = "call.failed"
	TypeUpdateReceived     Type = "update.received"
	TypeUpdateCompleted    Type = "update.completed"
	TypeUpdateRejected     Type = "update.rejected"
	TypeUpdateOrphaned     Type = "update.orphaned"
	TypeFactsTaken         Type = "facts.taken"
)
