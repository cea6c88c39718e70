package engine

import (
	"errors"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Verdict is the answer to a call, the same closed vocabulary in Go, HTTP and on a bus.
type Verdict = history.Verdict

// The verdicts. VerdictAccepted and VerdictDuplicate come with a receipt, the others with an error.
const (
	VerdictAccepted  = history.Accepted  // stored now
	VerdictDuplicate = history.Duplicate // stored before: the first receipt again
	VerdictConflict  = history.Conflict  // the identity stands for something else; permanent
	VerdictGone      = history.Gone      // the target ended; permanent
	VerdictUnknown   = history.Unknown   // there is no such target in this namespace
	VerdictInvalid   = history.Invalid   // the call breaks a rule of form, a declaration or a schema; permanent
	VerdictDenied    = history.Denied    // the target does not allow it
	VerdictBusy      = history.Busy      // not now: retry later
)

// VerdictOf sorts an error of this package into the vocabulary. A nil error is accepted; whether a receipt is a first or
// a repeated one is in the receipt. An error it does not know is our own fault, and so busy: never the caller's.
func VerdictOf(err error) Verdict {
	for _, kind := range kinds {
		if kind.matches(err) {
			return kind.verdict
		}
	}
	return VerdictBusy
}

type kind struct {
	verdict Verdict
	matches func(error) bool
}

// kinds are tried in order; no two of them match one error.
var kinds = []kind{
	{VerdictAccepted, func(err error) bool { return err == nil }},
	{VerdictBusy, is(ErrUnavailable, ErrBacklogFull, ErrCodeMissing)},
	{VerdictBusy, as[*QueryFailedError]},
	{VerdictConflict, as[*RunConflictError]},
	{VerdictConflict, as[*SignalConflictError]},
	{VerdictConflict, as[*UpdateConflictError]},
	{VerdictConflict, as[*HookConflictError]},
	{VerdictConflict, as[*SpecChangedError]},
	{VerdictConflict, is(ErrTokenNotMinted, ErrStaleAttempt, ErrLetterDecided, ErrPageChanged)},
	{VerdictGone, as[*HookClosedError]},
	{VerdictGone, as[*UpdateOrphanedError]},
	{VerdictGone, is(ErrRunEnded, ErrTaskClosed)},
	{VerdictUnknown, is(ErrRunNotFound, ErrHookNotFound, ErrTokenNotFound, ErrSignalNotFound, ErrWorkflowNotFound)},
	{VerdictUnknown, is(ErrLetterNotFound, ErrQueryUndeclared, ErrUpdateNotFound)},
	{VerdictInvalid, as[*InvalidError]},
	{VerdictInvalid, as[*PayloadError]},
	{VerdictInvalid, as[*SchemaError]},
	{VerdictInvalid, as[*QueryRefusedError]},
	{VerdictInvalid, as[*UpdateRejectedError]},
	{VerdictInvalid, is(ErrPayloadTooLarge, ErrSignalUndeclared, ErrUpdateUndeclared, ErrNoPublicURL)},
	{VerdictDenied, is(ErrDisposeForbidden, ErrSelfApproval, ErrPageForm)},
	{VerdictDenied, as[*FactorError]},
}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}
