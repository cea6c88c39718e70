package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/tokens"
)

// The refusals of Query that carry no data.
var (
	// ErrQueryUndeclared: the spec the run was started against does not declare the query name.
	ErrQueryUndeclared = errors.New("the run's workflow declares no query of this name")
	// ErrCodeMissing: this process does not have the code of the run's workflow version. Another process may: retry.
	ErrCodeMissing = errors.New("this process does not have the code of the run's workflow version")
)

// QueryRefusedError says that the handler of a query returned an error: this argument has no answer in this state. It is
// permanent until the state changes.
type QueryRefusedError struct {
	Query  string
	Reason string // the error's text, in one line of at most 1 KiB, without what looks like a token
}

// Error has the handler's words.
func (e *QueryRefusedError) Error() string { return fmt.Sprintf("query %q: %s", e.Query, e.Reason) }

// QueryFault is what a handler of a query did wrong.
type QueryFault string

// The faults.
const (
	QueryPanicked   QueryFault = "panic"   // it panicked, or ended its goroutine
	QueryOverBudget QueryFault = "budget"  // it ran longer than Config.CallBudget
	QueryUnreadable QueryFault = "history" // what the run holds does not decode into the types of the handler
	QueryMisanswers QueryFault = "result"  // its answer has no JSON form, is too large, or breaks the declared schema
)

// QueryFailedError says that the handler of a query is at fault, never the caller. A fixed deploy helps, or another
// state; after QueryOverBudget a retry may.
type QueryFailedError struct {
	Query     string
	Fault     QueryFault
	Diagnosis string // for who maintains the workflow; no payload and no token is in it
}

// Error names the fault.
func (e *QueryFailedError) Error() string {
	return fmt.Sprintf("query %q failed: %s: %s", e.Query, e.Fault, e.Diagnosis)
}

// maxMisfits bounds the violations that a handler names, as those of a schema are bounded.
const maxMisfits = 32

// refusal sorts the error that the handler returned. Its text is the author's code, which may panic.
func refusal(name string, err error) error {
	if invalid, ok := errors.AsType[*SchemaError](err); ok && len(invalid.Violations) > 0 {
		return cleaned(invalid)
	}
	if _, ok := errors.AsType[*decodeError](err); ok {
		return &QueryFailedError{Query: name, Fault: QueryUnreadable, Diagnosis: diagnosis(err.Error())}
	}
	return &QueryRefusedError{Query: name, Reason: diagnosis(err.Error())}
}

// cleaned are the violations that a handler names, in the bounds of those of a schema.
func cleaned(e *SchemaError) *SchemaError {
	some := e.Violations[:min(len(e.Violations), maxMisfits)]
	out := make([]Violation, len(some))
	for i, v := range some {
		out[i] = Violation{Pointer: clip(string(tokens.Scrub([]byte(oneLine(v.Pointer)))), 256), Message: diagnosis(v.Message)}
	}
	return &SchemaError{Violations: out}
}

// misfit words why an argument does not decode, as a schema would have.
func misfit(err error) *SchemaError {
	v := Violation{Message: "must fit the argument of the query"}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		v.Message = fmt.Sprintf("must fit type %s", kind.Type)
		if kind.Field != "" {
			v.Pointer = canon.Pointer(strings.Split(kind.Field, "."))
		}
	}
	return cleaned(&SchemaError{Violations: []Violation{v}})
}
