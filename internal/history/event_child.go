package history

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// ChildRequested asks for a run of its own, of which this run is the parent.
type ChildRequested struct {
	ChildID     spec.ChildID  `json:"child_id"`
	Workflow    string        `json:"workflow"`
	Version     string        `json:"version,omitempty"` // empty is the one registered last
	RunID       spec.RunID    `json:"run_id"`
	OnParentEnd OnParentEnd   `json:"on_parent_end"`
	Digest      canon.Digest  `json:"digest"`
	Input       canon.Payload `json:"-"`
}

// OnParentEnd says what becomes of a child that has not ended when its parent ends.
type OnParentEnd string

// The policies.
const (
	ChildRequestCancel OnParentEnd = "request_cancel"
	ChildTerminate     OnParentEnd = "terminate"
	ChildAbandon       OnParentEnd = "abandon"
)

// ChildCompleted is the output of a child.
type ChildCompleted struct {
	ChildID spec.ChildID  `json:"child_id"`
	Digest  canon.Digest  `json:"digest"`
	Output  canon.Payload `json:"-"`
}

// ChildFailed says that the child failed, was cancelled, or could not be started.
type ChildFailed struct {
	ChildID spec.ChildID  `json:"child_id"`
	Reason  FailureReason `json:"reason"`
	Message string        `json:"message,omitempty"`
}

// ChildReleased says that the parent ended before the child, which goes on or is told to end, by its policy.
type ChildReleased struct {
	ChildID spec.ChildID `json:"child_id"`
	Cause   HookState    `json:"cause"` // cancelled or run_ended
}

// Parent is the run that asked for a run.
type Parent struct {
	RunID      spec.RunID   `json:"run_id"`
	Generation int          `json:"generation"`
	ChildID    spec.ChildID `json:"child_id"`
	Depth      int          `json:"depth"` // of the child: 1 is the child of a run that has no parent
}

func (p *Parent) equal(q *Parent) bool {
	if p == nil || q == nil {
		return p == q
	}
	return *p == *q
}

// same says that both are the same child of the same parent.
func (p *Parent) same(q *Parent) bool {
	return p != nil && p.RunID == q.RunID && p.Generation == q.Generation && p.ChildID == q.ChildID
}

// Type implements Data.
func (*ChildRequested) Type() Type { return TypeChildRequested }

// Type implements Data.
func (*ChildCompleted) Type() Type { return TypeChildCompleted }

// Type implements Data.
func (*ChildFailed) Type() Type { return TypeChildFailed }

// Type implements Data.
func (*ChildReleased) Type() Type { return TypeChildReleased }

func (d *ChildRequested) payload() canon.Payload     { return d.Input }
func (d *ChildRequested) setPayload(p canon.Payload) { d.Input = p }
func (d *ChildCompleted) payload() canon.Payload     { return d.Output }
func (d *ChildCompleted) setPayload(p canon.Payload) { d.Output = p }
