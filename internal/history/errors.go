package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/spec"
)

// Refusals without data. Each is permanent for the same call unless its comment says otherwise.
var (
	// ErrRunNotFound: no run of this namespace has the run ID.
	ErrRunNotFound = errors.New("run not found")
	// ErrHookNotFound: the run has no hook of this ID.
	ErrHookNotFound = errors.New("hook not found")
	// ErrTokenNotFound: no hook answers to the token, or not on this surface.
	ErrTokenNotFound = errors.New("token not found")
	// ErrRunEnded: the run completed, failed or was cancelled; it takes no new message.
	ErrRunEnded = errors.New("run ended")
	// ErrSignalUndeclared: the run's spec does not declare the signal name.
	ErrSignalUndeclared = errors.New("signal not declared by the run's workflow spec")
	// ErrUpdateUndeclared: the run's spec does not declare the update name.
	ErrUpdateUndeclared = errors.New("update not declared by the run's workflow spec")
	// ErrDisposeForbidden: the hook's spec does not let its token withdraw it.
	ErrDisposeForbidden = errors.New("hook may not be disposed of by its token")
	// ErrSelfApproval: the hook names who asks, and the answer came from that person or from nobody known.
	ErrSelfApproval = errors.New("hook takes no answer from who asks, nor from nobody known")
	// ErrTaskClosed: the step, child or call is settled, was withdrawn, is past its deadline, or never was; of a replay or
	// a discard, it is not held.
	ErrTaskClosed = errors.New("step, child or call is not open")
	// ErrStaleAttempt: another attempt of the step began since.
	ErrStaleAttempt = errors.New("another attempt of the step began since")
	// ErrBacklogFull: the run holds as many unread signals, open updates or events as it may; retry once it has dealt with
	// some.
	ErrBacklogFull = errors.New("signal backlog of the run is full")
)

// RunConflictError says that a run of this ID exists and was started otherwise.
type RunConflictError struct {
	Differs []string // the fields that differ: workflow, version, input; never their values
}

// Error implements error.
func (e *RunConflictError) Error() string {
	return "run exists with another " + strings.Join(e.Differs, ", ")
}

// SignalConflictError says that a signal of this ID was accepted with another name or payload.
type SignalConflictError struct {
	Differs []string // the fields that differ: name, payload; never their values
}

// Error implements error.
func (e *SignalConflictError) Error() string {
	return "signal ID was accepted with another " + strings.Join(e.Differs, ", ")
}

// UpdateConflictError says that an update of this ID was accepted with another name or payload.
type UpdateConflictError struct {
	Differs []string // the fields that differ: name, payload; never their values
}

// Error implements error.
func (e *UpdateConflictError) Error() string {
	return "update ID was accepted with another " + strings.Join(e.Differs, ", ")
}

// HookConflictError says that the hook was already answered: with another payload, or at all where it should be
// withdrawn.
type HookConflictError struct {
	Differs []string // "payload" for another answer, "state" for disposing of an answered hook
}

// Error implements error.
func (e *HookConflictError) Error() string {
	return "hook was already resumed; differs in " + strings.Join(e.Differs, ", ")
}

// FactorError says that the token is not enough: the hook's spec asks for a second proof, which was not given. Who is told
// what the hook belongs to is the caller of this module, not whoever holds the token.
type FactorError struct {
	Requires spec.Proof
	Run      RunKey
	HookID   spec.HookID
}

// Error implements error. It does not name the hook: who holds a token only is not told.
func (e *FactorError) Error() string {
	return "hook requires a " + string(e.Requires.Factor) + " beside its token"
}

// HookClosedError says that the hook ended without an answer.
type HookClosedError struct {
	Cause HookState // disposed, expired, cancelled or run_ended
}

// Error implements error.
func (e *HookClosedError) Error() string { return fmt.Sprintf("hook is closed: %s", e.Cause) }
