package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Input decodes the input of this generation into T, by the rules of encoding/json: unknown members are ignored and
// numbers in an `any` become float64. Use json.RawMessage or json.Number where a number must stay exact. Returning the
// error from the workflow blocks the run; a schema in the spec refuses such an input at the door.
func Input[T any](ctx Reader) (T, error) {
	return decode[T]("input", ctx.use().Input().Bytes())
}

// SignalPayload decodes the payload of the signal that completed a wait. The bool is false while the wait is unknown,
// open or timed out. Decoding is that of Input.
func SignalPayload[T any](ctx Reader, waitID string) (T, bool, error) {
	status, payload := ctx.use().Wait(waitID)
	if status != history.WaitDone {
		var none T
		return none, false, nil
	}
	v, err := decode[T](fmt.Sprintf("signal of wait %q", waitID), payload.Bytes())
	return v, true, err
}

// HookPayload decodes the answer to a hook. The bool is false unless the hook is Answered. Decoding is that of Input.
func HookPayload[T any](ctx Reader, hookID string) (T, bool, error) {
	h := ctx.use().Hook(spec.HookID(hookID))
	if h.State != history.StateResumed {
		var none T
		return none, false, nil
	}
	v, err := decode[T](fmt.Sprintf("answer to hook %q", hookID), h.Payload.Bytes())
	return v, true, err
}

// decode words its error without the value: the text ends in a diagnosis. The decoder's own error is wrapped.
func decode[T any](what string, payload []byte) (T, error) {
	var v T
	err := json.Unmarshal(payload, &v)
	if err == nil {
		return v, nil
	}
	var none T
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return none, &decodeError{text: fmt.Sprintf("%s: member %q does not fit type %s", what, kind.Field, kind.Type), cause: err}
	}
	return none, &decodeError{text: fmt.Sprintf("%s: does not decode as %T (%T)", what, v, err), cause: err}
}

type decodeError struct {
	text  string
	cause error
}

func (e *decodeError) Error() string { return e.text }
func (e *decodeError) Unwrap() error { return e.cause }

// WaitTimedOut says that the wait's deadline passed before a signal was accepted for it.
func (r *reads) WaitTimedOut(waitID string) bool {
	status, _ := r.use().Wait(waitID)
	return status == history.WaitLate
}

// TimerFired says that the timer's due time passed while it was named.
func (r *reads) TimerFired(timerID string) bool { return r.use().TimerFired(timerID) }

// First is the ID, of those given, that settled first: a wait, a timer or a hook. It never changes once it is not
// empty, so it is what to branch on after a race with a hook, which may still settle later.
func (r *reads) First(ids ...string) string { return r.use().First(ids...) }

// HookState is where a hook stands for workflow code.
type HookState string

// The states of a hook.
const (
	None     HookState = "none"     // never created
	Open     HookState = "open"     // waiting for its answer
	Answered HookState = "answered" // see HookPayload
	Disposed HookState = "disposed" // withdrawn, by workflow code or by a caller
	Expired  HookState = "expired"  // its deadline passed
	Rejected HookState = "rejected" // could not be opened, see HookRejected
)

// HookState says where a hook stands; a switch over it leaves no case out.
func (r *reads) HookState(hookID string) HookState {
	h := r.use().Hook(spec.HookID(hookID))
	switch {
	case h.Rejected != nil:
		return Rejected
	case h.State == "":
		return None
	case h.State == history.StateActive:
		return Open
	case h.State == history.StateResumed:
		return Answered
	case h.State == history.StateExpired:
		return Expired
	default:
		return Disposed
	}
}

// HookActor names who answered a hook: the verified caller, or the recipient of the page it was answered on, and never what
// an answer says of itself. It is empty while the hook is not Answered, and where its token was enough. Count distinct people
// by it, with spec.SamePerson.
func (r *reads) HookActor(hookID string) string { return r.use().Hook(spec.HookID(hookID)).Actor }

// HookDisposed says that the hook was withdrawn.
func (r *reads) HookDisposed(hookID string) bool { return r.HookState(hookID) == Disposed }

// HookExpired says that the hook's deadline passed without an answer.
func (r *reads) HookExpired(hookID string) bool { return r.HookState(hookID) == Expired }

// Rejection says why a hook could not be opened.
type Rejection = history.Rejection

// The reasons of a Rejection.
const (
	// RejectTaken: another hook, of any namespace, has the token. OwnerRun names its run if that is in this namespace.
	RejectTaken = history.RejectTaken
	// RejectIDUsed: an earlier generation of this run used the hook ID.
	RejectIDUsed = history.RejectIDUsed
)

// HookRejected says that the hook could not be opened, and why.
func (r *reads) HookRejected(hookID string) (Rejection, bool) {
	h := r.use().Hook(spec.HookID(hookID))
	if h.Rejected == nil {
		return Rejection{}, false
	}
	return *h.Rejected, true
}

// Signal is an accepted message that no wait has consumed.
type Signal struct {
	ID      spec.SignalID
	Name    string
	Payload json.RawMessage
	Source  string
	Actor   string
}

// Signals lists the unread signals of a name in acceptance order, without consuming them. What arrives later changes
// it: use it in an output, not to choose between decisions that a later call would take back.
func (r *reads) Signals(name string) []Signal {
	var unread []Signal
	for _, s := range r.use().Peek(name) {
		unread = append(unread, Signal{ID: s.SignalID, Name: s.Name, Payload: bytes.Clone(s.Payload.Bytes()), Source: s.Source, Actor: s.Actor})
	}
	return unread
}
