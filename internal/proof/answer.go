package proof

import (
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Answer is what a caller was told, in words that drivers share. Two answers are equal when == says so.
type Answer struct {
	Verdict  history.Verdict
	Words    string // why a message was refused, or what a read showed
	ID       string // of the signal, hook or update that the receipt is of
	Sequence int64
	At       string // acceptance time of the receipt, see Stamp
	Backlog  string // the warning of a nearly full backlog
}

// String is the answer in one line.
func (a Answer) String() string {
	text := string(a.Verdict)
	if a.Sequence != 0 || a.At != "" {
		text += fmt.Sprintf(" %s #%d at %s %s", a.ID, a.Sequence, a.At, a.Backlog)
	}
	if a.Words != "" {
		text += ": " + a.Words
	}
	return text
}

// Refusals of the model that package history does not word.
var (
	ErrSchema           = errors.New("the payload breaks its schema")
	ErrWorkflowNotFound = errors.New("workflow not found")
	ErrSignalNotFound   = errors.New("signal not found")
	ErrUpdateNotFound   = errors.New("update not found")
)

// AnswerOf words what a use case returned. verdict sorts its error; words replaces the error's text where that is not
// worth comparing.
func AnswerOf(r history.Receipt, err error, verdict func(error) history.Verdict, words func(error) string) Answer {
	if err != nil {
		return Answer{Verdict: verdict(err), Words: words(err)}
	}
	a := Answer{Verdict: r.Verdict, ID: string(r.SignalID) + string(r.HookID) + string(r.UpdateID), Sequence: r.Sequence}
	if !r.ReceivedAt.IsZero() {
		a.At = Stamp(&r.ReceivedAt)
	}
	if r.Backlog != nil {
		a.Backlog = fmt.Sprintf("%d of %d unread", r.Backlog.Unread, r.Backlog.Limit)
	}
	return a
}

// Stamp writes a time as drivers compare it; a missing one is "never".
func Stamp(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("15:04:05.999999")
}

// verdictOf sorts the refusals that the model meets.
func verdictOf(err error) history.Verdict {
	var (
		run    *history.RunConflictError
		signal *history.SignalConflictError
		hook   *history.HookConflictError
		update *history.UpdateConflictError
		closed *history.HookClosedError
		form   *canon.PayloadError
		id     *spec.InvalidError
	)
	switch {
	case err == nil:
		return history.Accepted
	case errors.As(err, &run), errors.As(err, &signal), errors.As(err, &hook), errors.As(err, &update):
		return history.Conflict
	case errors.As(err, &closed), errors.Is(err, history.ErrRunEnded):
		return history.Gone
	case errors.As(err, &form), errors.As(err, &id), errors.Is(err, ErrSchema), errors.Is(err, history.ErrSignalUndeclared),
		errors.Is(err, history.ErrUpdateUndeclared):
		return history.Invalid
	case errors.Is(err, history.ErrDisposeForbidden), errors.Is(err, history.ErrSelfApproval):
		return history.Denied
	case errors.Is(err, history.ErrBacklogFull):
		return history.Busy
	}
	return history.Unknown
}
