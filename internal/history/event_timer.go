package history

import (
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// TimerStarted opens a durable deadline.
type TimerStarted struct {
	TimerID  spec.TimerID `json:"timer_id"`
	Due      time.Time    `json:"due"`
	OpenedAt *time.Time   `json:"opened_at,omitempty"` // effective time of the opening, where it is before the event's
	Again    bool         `json:"again,omitempty"`     // named again after a withdrawal: the first due time holds
}

// TimerFired ends a timer whose due time passed.
type TimerFired struct {
	TimerID spec.TimerID `json:"timer_id"`
}

// TimerCancelled ends a timer that workflow code no longer names.
type TimerCancelled struct {
	TimerID spec.TimerID `json:"timer_id"`
}

// Type implements Data.
func (*TimerStarted) Type() Type { return TypeTimerStarted }

// Type implements Data.
func (*TimerFired) Type() Type { return TypeTimerFired }

// Type implements Data.
func (*TimerCancelled) Type() Type { return TypeTimerCancelled }
