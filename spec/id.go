package spec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes bounds every identifier and name, in bytes of UTF-8.
const MaxNameBytes = 255

// DefaultNamespace is the namespace of a caller that names none.
const DefaultNamespace Namespace = "default"

// Namespace is the tenant: the first part of every key. It obeys the rules of CheckName.
type Namespace string

// RunID is the caller's business name of a run; it never changes, also not over generations.
type RunID string

// SignalID is the caller's identity of one message to one run: the same ID is the same message for the life of the run.
type SignalID string

// UpdateID is the caller's identity of one update of one run: the same ID is the same update for the life of the run.
type UpdateID string

// HookID names a hook; it is unique for the life of its run.
type HookID string

// WaitID names a wait within one generation of a run.
type WaitID string

// TimerID names a timer within one generation of a run.
type TimerID string

// StepID names a step within one generation of a run.
type StepID string

// ChildID names a child within one generation of its parent; the child is a run with a run ID of its own.
type ChildID string

// CallID names a message to another run within one generation of the run that sends it.
type CallID string

// Validate returns an *InvalidError for field "namespace" when the value breaks CheckName.
func (n Namespace) Validate() error { return CheckName("namespace", string(n)) }

// Validate returns an *InvalidError for field "run_id" when the value breaks CheckName.
func (id RunID) Validate() error { return CheckName("run_id", string(id)) }

// Validate returns an *InvalidError for field "signal_id" when the value breaks CheckName.
func (id SignalID) Validate() error { return CheckName("signal_id", string(id)) }

// Validate returns an *InvalidError for field "update_id" when the value breaks CheckName.
func (id UpdateID) Validate() error { return CheckName("update_id", string(id)) }

// Validate returns an *InvalidError for field "hook_id" when the value breaks CheckName.
func (id HookID) Validate() error { return CheckName("hook_id", string(id)) }

// Validate returns an *InvalidError for field "wait_id" when the value breaks CheckName.
func (id WaitID) Validate() error { return CheckName("wait_id", string(id)) }

// Validate returns an *InvalidError for field "timer_id" when the value breaks CheckName.
func (id TimerID) Validate() error { return CheckName("timer_id", string(id)) }

// Validate returns an *InvalidError for field "step_id" when the value breaks CheckName.
func (id StepID) Validate() error { return CheckName("step_id", string(id)) }

// Validate returns an *InvalidError for field "child_id" when the value breaks CheckName.
func (id ChildID) Validate() error { return CheckName("child_id", string(id)) }

// Validate returns an *InvalidError for field "call_id" when the value breaks CheckName.
func (id CallID) Validate() error { return CheckName("call_id", string(id)) }

// CheckName applies the one rule for identifiers and names: 1 to 255 bytes of printable UTF-8, with no space at either
// end, and no hook token in it. Names are compared byte for byte; two Unicode spellings of one text are two names. The
// error is an *InvalidError that names the field and the rule, never the value.
func CheckName(field, value string) error {
	switch {
	case value == "":
		return &InvalidError{Field: field, Rule: "must not be empty"}
	case len(value) > MaxNameBytes:
		return &InvalidError{Field: field, Rule: fmt.Sprintf("must be at most %d bytes, has %d", MaxNameBytes, len(value))}
	case !utf8.ValidString(value):
		return &InvalidError{Field: field, Rule: "must be valid UTF-8"}
	case strings.TrimSpace(value) != value:
		return &InvalidError{Field: field, Rule: "must not begin or end with a space"}
	}
	for _, r := range value {
		if !unicode.IsPrint(r) {
			return &InvalidError{Field: field, Rule: "must hold printable characters only"}
		}
	}
	return CheckNoToken(field, value)
}
