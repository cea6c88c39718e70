package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Status is where a run stands.
type Status string

// The statuses. A blocked run goes on accepting messages.
const (
	Running   Status = "running"
	Blocked   Status = "blocked"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended says that the run takes no new message.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// BlockCause says what stopped workflow code.
type BlockCause string

// The causes.
const (
	BlockError          BlockCause = "error"           // the function returned a Go error
	BlockPanic          BlockCause = "panic"           // the function panicked
	BlockBudget         BlockCause = "over_budget"     // the function ran longer than it may
	BlockNonDeterminism BlockCause = "nondeterminism"  // the decision contradicts the history
	BlockNoProgress     BlockCause = "no_progress"     // the decision names nothing open and does not end the run
	BlockDecision       BlockCause = "decision"        // the decision is malformed or beyond a limit
	BlockHistory        BlockCause = "history_corrupt" // the stored events do not fold
)

// Run is the record of a run: the row beside its events, and the part of the fold that accepting needs.
type Run struct {
	Key               RunKey
	Workflow, Version string
	SpecDigest        canon.Digest
	InputDigest       canon.Digest // of the start, not of a later generation
	Labels            spec.Labels
	Parent            *Parent // that asked for the run; nil when nobody did
	Status            Status
	Generation        int
	FirstSeq          int64      // seq of the generation's first event
	NextSeq           int64      // seq of the next event
	Backlog           int        // unread signals
	CancelRequestedAt *time.Time // of the first wish to cancel; nil while there is none
	CancelSeq         int64      // of its event; 0 while there is none
	BlockCause        BlockCause
	BlockDiagnosis    string
	BlockAttempts     int
	WakeAt            *time.Time // when a turn is due; nil while nothing is
	StartedAt         time.Time
	UpdatedAt         time.Time // time of the last event
	ClosedAt          *time.Time
}

// HistoryLength is the number of events in the current generation.
func (r Run) HistoryLength() int64 { return r.NextSeq - r.FirstSeq }

// Signal is the record of one accepted message.
type Signal struct {
	ID         spec.SignalID
	Name       string
	Digest     canon.Digest
	Seq        int64
	ReceivedAt time.Time
	Source     string
	Actor      string
	ConsumedBy *Consumption // nil while unread
}

// Consumption says which wait consumed a signal.
type Consumption struct {
	WaitID     spec.WaitID
	Generation int
}

// HookState is where a hook stands; the closed states are also the causes of a closing.
type HookState string

// The states of a hook.
const (
	StateActive    HookState = "active"
	StateResumed   HookState = "resumed"
	StateDisposed  HookState = "disposed"
	StateExpired   HookState = "expired"
	StateCancelled HookState = "cancelled"
	StateRunEnded  HookState = "run_ended"
)

// Hook is the record of one hook.
type Hook struct {
	ID            spec.HookID
	Name          string
	Metadata      spec.HookMetadata
	Grant         TokenGrant
	State         HookState
	PayloadDigest canon.Digest // of the answer, when resumed
	CreatedAt     time.Time
	ExpiresAt     *time.Time
	ResolvedAt    *time.Time
	ResolvedSeq   int64
	Source        string
	Actor         string // who answered or withdrew it
}

// Expired says that the hook is past its deadline at now, whether or not a turn has recorded it.
func (h Hook) Expired(now time.Time) bool {
	return h.State == StateExpired || h.State == StateActive && h.ExpiresAt != nil && !now.Before(*h.ExpiresAt)
}

// Receipt is the durable record of one accepted message. The same identity yields the same receipt again.
type Receipt struct {
	Verdict    Verdict // Accepted or Duplicate
	Run        RunKey
	HookID     spec.HookID   // of a hook's receipt
	SignalID   spec.SignalID // of a signal's receipt
	UpdateID   spec.UpdateID // of an update's receipt
	Sequence   int64         // seq of the event that holds the message
	ReceivedAt time.Time
	// StartedFresh says, of a message sent with a start, that it started the run.
	StartedFresh bool
	// Backlog warns whoever sends a signal that is accepted: from four fifths of the limit on it says how full the run is.
	Backlog *Backlog
}

// Backlog is how many unread signals a run holds, of how many it may.
type Backlog struct {
	Unread int
	Limit  int
}
