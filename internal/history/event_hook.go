package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// HookCreated opens a hook. Its grant never leaves the engine; what is shown is the token ID.
type HookCreated struct {
	HookID    spec.HookID       `json:"hook_id"`
	Name      string            `json:"name"`
	Metadata  spec.HookMetadata `json:"metadata"`
	Grant     TokenGrant        `json:"grant"`
	ExpiresAt *time.Time        `json:"expires_at,omitempty"`
	OpenedAt  *time.Time        `json:"opened_at,omitempty"` // effective time of the opening, where it is before the event's
}

// HookRejected says that a hook could not be opened.
type HookRejected struct {
	HookID   spec.HookID  `json:"hook_id"`
	Reason   RejectReason `json:"reason"`
	OwnerRun spec.RunID   `json:"owner_run,omitempty"` // who holds the token, when it is a run of the same namespace
}

// RejectReason says why a hook could not be opened.
type RejectReason string

// The reasons.
const (
	RejectTaken  RejectReason = "taken"   // another hook, of any namespace, has the token
	RejectIDUsed RejectReason = "id_used" // an earlier generation of the run used the hook ID
)

// HookResumed is the accepted answer to a hook.
type HookResumed struct {
	HookID  spec.HookID   `json:"hook_id"`
	Source  string        `json:"source,omitempty"`
	Actor   string        `json:"actor,omitempty"`
	Digest  canon.Digest  `json:"digest"`
	Payload canon.Payload `json:"-"`
}

// HookDisposed withdraws a hook: by workflow code, or by a caller whose wish was accepted.
type HookDisposed struct {
	HookID spec.HookID `json:"hook_id"`
	ByCode bool        `json:"by_code,omitempty"`
	Source string      `json:"source,omitempty"`
	Actor  string      `json:"actor,omitempty"`
}

// HookExpired ends a hook whose deadline passed. ByCode says that workflow code withdrew it at an effective time before
// the deadline, in a turn that came late: the code sees it disposed of, as in a turn that comes at once, and everybody
// else sees it expired, which is what callers were told meanwhile.
type HookExpired struct {
	HookID spec.HookID `json:"hook_id"`
	ByCode bool        `json:"by_code,omitempty"`
}

// HookClosed ends a hook because its run ended or was cancelled.
type HookClosed struct {
	HookID spec.HookID `json:"hook_id"`
	Cause  HookState   `json:"cause"` // run_ended or cancelled
}

// Type implements Data.
func (*HookCreated) Type() Type { return TypeHookCreated }

// Type implements Data.
func (*HookRejected) Type() Type { return TypeHookRejected }

// Type implements Data.
func (*HookResumed) Type() Type { return TypeHookResumed }

// Type implements Data.
func (*HookDisposed) Type() Type { return TypeHookDisposed }

// Type implements Data.
func (*HookExpired) Type() Type { return TypeHookExpired }

// Type implements Data.
func (*HookClosed) Type() Type { return TypeHookClosed }

func (d *HookResumed) payload() canon.Payload     { return d.Payload }
func (d *HookResumed) setPayload(p canon.Payload) { d.Payload = p }
