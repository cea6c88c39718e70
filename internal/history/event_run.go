package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// RunStarted opens generation 1 of a run.
type RunStarted struct {
	Workflow   string        `json:"workflow"`
	Version    string        `json:"version"`
	SpecDigest canon.Digest  `json:"spec_digest"`
	Labels     spec.Labels   `json:"labels,omitempty"`
	Actor      string        `json:"actor,omitempty"`
	Parent     *Parent       `json:"parent,omitempty"`
	Digest     canon.Digest  `json:"digest"`
	Input      canon.Payload `json:"-"`
}

// RunContinued closes a generation and opens the next one, whose first event it is. What goes over is named here: open
// hooks and answers not yet read as records, unread signals by seq.
type RunContinued struct {
	Workflow        string        `json:"workflow"`
	Version         string        `json:"version"`
	SpecDigest      canon.Digest  `json:"spec_digest"`
	Digest          canon.Digest  `json:"digest"`
	Input           canon.Payload `json:"-"`
	StartedAt       time.Time     `json:"started_at"`                 // of the run
	OpenedAt        *time.Time    `json:"opened_at,omitempty"`        // effective time, where it is before the event's
	CancelRequested bool          `json:"cancel_requested,omitempty"` // a wish to cancel was shown to workflow code
	CancelPending   *PendingWish  `json:"cancel_pending,omitempty"`   // one was accepted and not yet shown
	Hooks           []CarriedHook `json:"hooks,omitempty"`
	Unread          []SeqRange    `json:"unread,omitempty"`       // seqs of signal.received events of earlier generations
	OpenUpdates     []SeqRange    `json:"open_updates,omitempty"` // as Unread, of update.received events
	TakenTo         int64         `json:"taken_to"`               // messages up to this seq were shown to workflow code
}

// CarriedHook is a hook that goes over into the next generation.
type CarriedHook struct {
	ID        spec.HookID       `json:"hook_id"`
	Name      string            `json:"name"`
	Metadata  spec.HookMetadata `json:"metadata"`
	Grant     TokenGrant        `json:"grant"`
	State     HookState         `json:"state"`
	CreatedAt time.Time         `json:"created_at"`
	ExpiresAt *time.Time        `json:"expires_at,omitempty"`
	SettledAt *time.Time        `json:"settled_at,omitempty"`
	Seq       int64             `json:"seq,omitempty"`     // the settling event, when there is one
	Taken     bool              `json:"taken,omitempty"`   // the settling was shown but never asked about
	Payload   []byte            `json:"payload,omitempty"` // the answer's bytes as received
	Digest    canon.Digest      `json:"digest,omitzero"`
	Source    string            `json:"source,omitempty"`
	Actor     string            `json:"actor,omitempty"`
}

// PendingWish is an accepted run.cancel_requested of an earlier generation.
type PendingWish struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
}

// SeqRange is a run of consecutive seqs, both ends included.
type SeqRange struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// RunCompleted ends a run with an output.
type RunCompleted struct {
	Digest canon.Digest  `json:"digest"`
	Output canon.Payload `json:"-"`
}

// RunFailed ends a run with the error workflow code gave.
type RunFailed struct {
	Message string `json:"message"`
}

// RunCancelRequested records a wish to cancel.
type RunCancelRequested struct {
	Reason    string `json:"reason,omitempty"`
	Actor     string `json:"actor,omitempty"`
	Terminate bool   `json:"terminate,omitempty"`
}

// RunCancelled ends a run that was cancelled.
type RunCancelled struct {
	Reason string `json:"reason,omitempty"`
}

// RunBlocked says that workflow code could not go on; the run still accepts messages.
type RunBlocked struct {
	Cause     BlockCause `json:"cause"`
	Diagnosis string     `json:"diagnosis"`
}

// RunUnblocked says that workflow code went on after a block.
type RunUnblocked struct{}

// FactsTaken records messages that were shown to workflow code in a turn that appended nothing else.
type FactsTaken struct{}

// Type implements Data.
func (*RunStarted) Type() Type { return TypeRunStarted }

// Type implements Data.
func (*RunContinued) Type() Type { return TypeRunContinued }

// Type implements Data.
func (*RunCompleted) Type() Type { return TypeRunCompleted }

// Type implements Data.
func (*RunFailed) Type() Type { return TypeRunFailed }

// Type implements Data.
func (*RunCancelRequested) Type() Type { return TypeRunCancelRequested }

// Type implements Data.
func (*RunCancelled) Type() Type { return TypeRunCancelled }

// Type implements Data.
func (*RunBlocked) Type() Type { return TypeRunBlocked }

// Type implements Data.
func (*RunUnblocked) Type() Type { return TypeRunUnblocked }

// Type implements Data.
func (*FactsTaken) Type() Type { return TypeFactsTaken }

func (d *RunStarted) payload() canon.Payload       { return d.Input }
func (d *RunStarted) setPayload(p canon.Payload)   { d.Input = p }
func (d *RunContinued) payload() canon.Payload     { return d.Input }
func (d *RunContinued) setPayload(p canon.Payload) { d.Input = p }
func (d *RunCompleted) payload() canon.Payload     { return d.Output }
func (d *RunCompleted) setPayload(p canon.Payload) { d.Output = p }

// Carried names the events of earlier generations that go over by reference, ascending.
func (d *RunContinued) Carried() []SeqRange {
	all := slices.Concat(d.Unread, d.OpenUpdates)
	slices.SortFunc(all, func(a, b SeqRange) int { return cmp.Compare(a.From, b.From) })
	return all
}
