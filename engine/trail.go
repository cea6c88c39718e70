package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Trail says who makes a request and how that is known. It ends in the audit trail, where one is kept, and decides nothing.
type Trail = db.Trail

// The methods of a Trail that are not those of credentials.
const (
	TrailRun     = "run"     // a run asks it of another one
	TrailToken   = "token"   // who holds the token of a hook
	TrailPage    = "page"    // a person on an approval page
	TrailIngress = "ingress" // a verified source of events
)

// WithTrail returns a context for use cases that are called for somebody. Texts of a trail are cut to 255 bytes; what does
// not print is left out.
func WithTrail(ctx context.Context, t Trail) context.Context { return db.WithTrail(ctx, t) }

// TrailOf returns the trail of a context, the zero one if it has none.
func TrailOf(ctx context.Context) Trail { return db.TrailOf(ctx) }

// KeepsAudit says whether the audit trail is kept: a Trail is of no use where it is not.
func (e *Engine) KeepsAudit() bool { return e.cfg.Audit }

// noteRefusal has the refusal of a message written to the audit trail. What is our own trouble is none, nor is what runs ask
// of each other, nor that an event has come before its run: that one is held.
func (e *Engine) noteRefusal(ctx context.Context, m history.Message, err error) {
	if !e.cfg.Audit || err == nil {
		return
	}
	verdict, method := VerdictOf(err), TrailOf(ctx).Method
	switch {
	case verdict == VerdictBusy, method == TrailRun, as[*FactorError](err): // what a factor is asked for, is not refused yet
		return
	case verdict == VerdictUnknown && method == TrailIngress:
		return
	}
	if entry, ok := db.MessageEntry(m); ok {
		entry.Verdict, entry.Why = verdict, whyRefused(err)
		e.store.AuditRefusal(ctx, entry)
	}
}

// whyRefused is the reason of a refusal as a code, with what it is about: never a value.
func whyRefused(err error) string {
	if why, ok := whyConflicts(err); ok {
		return why
	}
	var closed *HookClosedError
	var invalid *InvalidError
	switch {
	case errors.As(err, &closed):
		return "hook_closed:" + string(closed.Cause)
	case errors.As(err, &invalid):
		return "invalid:" + invalid.Field
	case as[*SchemaError](err):
		return "schema"
	case as[*PayloadError](err):
		return "malformed"
	}
	for _, known := range whys {
		if errors.Is(err, known.err) {
			return known.why
		}
	}
	return "other"
}

// whySignal is why a signal is refused that the spec does not declare.
const whySignal = "signal_undeclared"

var whys = []struct {
	err error
	why string
}{
	{ErrRunEnded, "run_ended"},
	{ErrSignalUndeclared, whySignal},
	{ErrUpdateUndeclared, "update_undeclared"},
	{ErrRunNotFound, "run_not_found"},
	{ErrHookNotFound, "hook_not_found"},
	{ErrTokenNotFound, "token_not_found"},
	{ErrWorkflowNotFound, "workflow_not_found"},
	{ErrDisposeForbidden, "dispose_forbidden"},
	{ErrSelfApproval, "self_approval"},
	{ErrPageChanged, "page_changed"},
	{ErrPayloadTooLarge, "too_large"},
	{ErrTaskClosed, "task_closed"},
	{ErrLetterDecided, "letter_decided"},
}

// whyConflicts names what differs from what was accepted.
func whyConflicts(err error) (string, bool) {
	var differs []string
	var run *RunConflictError
	var signal *SignalConflictError
	var update *UpdateConflictError
	var hook *HookConflictError
	switch {
	case errors.As(err, &run):
		differs = run.Differs
	case errors.As(err, &signal):
		differs = signal.Differs
	case errors.As(err, &update):
		differs = update.Differs
	case errors.As(err, &hook):
		differs = hook.Differs
	default:
		return "", false
	}
	return "differs:" + strings.Join(differs, ","), true
}

// noteToken writes to the audit trail that somebody is shown the token of a hook, or of its page for a person, before that
// happens.
func (h *Handle) noteToken(ctx context.Context, run spec.RunID, hook spec.HookID, identity string) error {
	return h.e.store.Audit(ctx, db.AuditEntry{
		Namespace: h.ns, RunID: run, Kind: db.AuditTokenMinted, Name: string(hook), Identity: identity,
	})
}
