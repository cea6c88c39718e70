package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/schema"
	"github.com/flowgate-go/flowgate/spec"
)

// Errors without data, to be matched with errors.Is. Each is permanent for the same call unless its comment says
// otherwise.
var (
	// ErrRunNotFound: the namespace has no run of this ID.
	ErrRunNotFound = history.ErrRunNotFound
	// ErrHookNotFound: the run has no hook of this ID.
	ErrHookNotFound = history.ErrHookNotFound
	// ErrTokenNotFound: no hook answers to the token on this surface. A malformed token, an unknown one, one of another
	// namespace and one of an internal hook are the same error.
	ErrTokenNotFound = history.ErrTokenNotFound
	// ErrSignalNotFound: the run has accepted no signal of this ID.
	ErrSignalNotFound = db.ErrSignalNotFound
	// ErrUpdateNotFound: the run has accepted no update of this ID.
	ErrUpdateNotFound = db.ErrUpdateNotFound
	// ErrWorkflowNotFound: no workflow of this name, or of this version, was ever registered.
	ErrWorkflowNotFound = db.ErrWorkflowNotFound
	// ErrRunEnded: the run completed, failed or was cancelled, and takes no new message.
	ErrRunEnded = history.ErrRunEnded
	// ErrSignalUndeclared: the spec the run was started against does not declare the signal name.
	ErrSignalUndeclared = history.ErrSignalUndeclared
	// ErrUpdateUndeclared: the spec the run was started against does not declare the update name.
	ErrUpdateUndeclared = history.ErrUpdateUndeclared
	// ErrDisposeForbidden: the hook's declaration does not let its token withdraw it.
	ErrDisposeForbidden = history.ErrDisposeForbidden
	// ErrSelfApproval: the hook's metadata names who asks, and the answer came from that person or from nobody known.
	ErrSelfApproval = history.ErrSelfApproval
	// ErrPageChanged: the page shows something else than what the decision was made on. Read it again.
	ErrPageChanged = errors.New("the page shows something else by now")
	// ErrPageForm: the form was not made for this page, or too long ago. Read the page again.
	ErrPageForm = errors.New("the form is not one of this page, or too old")
	// ErrBacklogFull: the run holds as many unread signals, open updates or events as it may. Retry once it has dealt with
	// some.
	ErrBacklogFull = history.ErrBacklogFull
	// ErrPayloadTooLarge: the payload has more bytes than Limits.PayloadBytes.
	ErrPayloadTooLarge = canon.ErrPayloadTooLarge
	// ErrUnavailable: the database does not answer, a lock was not had in time, or the process is shutting down. Retry
	// later; a message whose fate is unknown is answered as a duplicate then.
	ErrUnavailable = db.ErrUnavailable
	// ErrTokenNotMinted: the host supplied the hook's token, so only the host can make its link.
	ErrTokenNotMinted = errors.New("the hook's token was supplied by the host, so its link cannot be made here")
	// ErrTaskClosed: the step, child or call has its outcome, was withdrawn, or never was; of a replay, it is not held.
	ErrTaskClosed = history.ErrTaskClosed
	// ErrStaleAttempt: another attempt of the step began since.
	ErrStaleAttempt = history.ErrStaleAttempt
	// ErrLetterNotFound: the namespace has no dead letter of this ID.
	ErrLetterNotFound = db.ErrLetterNotFound
	// ErrLetterDecided: the dead letter was decided otherwise before, or its step has failed in the history of its run,
	// which nobody changes.
	ErrLetterDecided = errors.New("the dead letter is decided already")
	// ErrNoPublicURL: Config.PublicURL is not set, so links cannot be made. Permanent until it is.
	ErrNoPublicURL = errors.New("no public URL is configured, so links cannot be made")
)

// Errors with data, to be matched with errors.As.
type (
	// InvalidError names an argument that breaks a rule of form, and the rule.
	InvalidError = spec.InvalidError
	// PayloadError says which rule of JSON, depth or numbers a payload breaks, and where.
	PayloadError = canon.PayloadError
	// SizeError gives the size and limit of a payload that is too large; it matches ErrPayloadTooLarge.
	SizeError = canon.SizeError
	// SchemaError lists the rules of its JSON Schema that a payload breaks.
	SchemaError = schema.Error
	// Violation is one entry of a SchemaError.
	Violation = schema.Violation
	// RunConflictError: a run of this ID was started with something else.
	RunConflictError = history.RunConflictError
	// SignalConflictError: a signal of this ID was accepted with another name or payload.
	SignalConflictError = history.SignalConflictError
	// UpdateConflictError: an update of this ID was accepted with another name or payload.
	UpdateConflictError = history.UpdateConflictError
	// HookConflictError: the hook was answered otherwise, or answered where it is to be withdrawn.
	HookConflictError = history.HookConflictError
	// HookClosedError: the hook ended without an answer; Cause says how.
	HookClosedError = history.HookClosedError
	// FactorError: the hook's spec asks for more than its token. It names the hook, for who verifies that; do not show it to
	// who holds the token.
	FactorError = history.FactorError
)

// SpecChangedError says that another spec is stored under the name and version of one that a process registers. A spec
// is immutable per version, because runs in flight and other processes rely on it: raise the version.
type SpecChangedError struct {
	Code    Code
	Differs []string // the places that differ, such as "signals/invoice.approved/schema"
}

// Error names the workflow and what differs.
func (e *SpecChangedError) Error() string {
	return fmt.Sprintf("workflow %s is registered with another spec, which differs in %s; raise the version",
		e.Code, strings.Join(e.Differs, ", "))
}
