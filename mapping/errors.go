package mapping

import (
	"errors"
	"fmt"
)

// ErrUnwanted says that a message does not meet the conditions of its source.
var ErrUnwanted = errors.New("the message does not meet the conditions")

// Error says that a message lacks what a rule of the configuration asks for, or that it cannot be taken as that. It names
// the place in the message as the configuration writes it, never what the message holds there.
type Error struct {
	Field string // of the mapping: run, signal, hook, id, payload
	Place string // as configured: /data/id, header:x-event, key, subject; empty when it is the whole text
	Rule  string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("%s of the message %s", e.Field, e.Rule)
	}
	return fmt.Sprintf("%s of the message: %s %s", e.Field, e.Place, e.Rule)
}

// The rules that a message can break.
const (
	ruleAbsent    = "is not there"
	ruleRepeated  = "is there more than once"
	ruleEmpty     = "is empty"
	ruleText      = "is neither a text nor a whole number"
	ruleSeparator = "holds the text that separates it from what follows"
)
