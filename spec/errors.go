package spec

import "fmt"

// InvalidError says that an argument breaks a rule of form. It names the field as callers spell it and the rule, never
// the value. It is permanent: the same call fails again.
type InvalidError struct {
	Field string // the argument, in the spelling of the HTTP contract, such as "signal_id" or "labels/team"
	Rule  string // the rule in words, with its limit
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("invalid %s: %s", e.Field, e.Rule) }
