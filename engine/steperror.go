package engine

import (
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// CodeInput is the code of a step's failure whose input does not decode.
const CodeInput = "input"

// NonRetryable marks an error of a step after which no attempt is to follow. It wraps err, which must not be nil.
func NonRetryable(err error) error { return &stepError{error: err, final: true} }

// RetryAfter marks an error of a step after which the next attempt is to wait for d, instead of what the retry policy
// says: what a server asked for with Retry-After. It wraps err, which must not be nil. It does not add attempts.
func RetryAfter(err error, d time.Duration) error {
	return &stepError{error: err, after: max(d, 0), timed: true}
}

// Coded gives an error of a step a code, by which retry policies and workflow code tell errors apart. A code is a name, as
// that of a step: of one that is not, what is stored is cut, and nothing that looks like a token stays in it. The outermost
// code counts. It wraps err, which must not be nil.
func Coded(code string, err error) error { return &stepError{error: err, code: code} }

// stepError is an error of a step's function with what it says about the attempts to follow.
type stepError struct {
	error
	code  string
	final bool
	timed bool
	after time.Duration
}

// Unwrap returns the error that was marked.
func (e *stepError) Unwrap() error { return e.error }

// stepAdvice is what the marks of an error say together: of codes and of pauses the outermost.
type stepAdvice struct {
	code  string
	final bool
	after *time.Duration
}

func adviceOf(err error) stepAdvice {
	var a stepAdvice
	for {
		mark, ok := errors.AsType[*stepError](err)
		if !ok {
			return a
		}
		if a.code == "" {
			a.code = storedCode(mark.code)
		}
		if mark.timed && a.after == nil {
			a.after = &mark.after
		}
		a.final = a.final || mark.final
		err = mark.error
	}
}

// storedCode is a code as it is stored: what no column takes, and no reader should see, is out of it.
func storedCode(code string) string { return clip(diagnosis(code), spec.MaxNameBytes) }
