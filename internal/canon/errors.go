package canon

import (
	"errors"
	"fmt"
)

// ErrPayloadTooLarge is the kind of every SizeError.
var ErrPayloadTooLarge = errors.New("payload too large")

// SizeError says that a payload has more bytes than the limit allows. It
// matches ErrPayloadTooLarge.
type SizeError struct {
	Size  int // bytes received
	Limit int // bytes allowed
}

// Error names the size and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("payload too large: %d bytes, at most %d are allowed", e.Size, e.Limit)
}

// Is matches ErrPayloadTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrPayloadTooLarge }

// PayloadError says that bytes are not a payload, and which rule they break.
type PayloadError struct {
	// Pointer is the JSON Pointer (RFC 6901) of the place, "" for the root, at
	// most 256 bytes of it. It is made of the payload's own keys: it may be
	// shown to the sender and must not be logged.
	Pointer string
	// Rule is a fixed sentence that names the rule and its limit.
	Rule string
}

// Error names the rule and leaves the pointer out, because the pointer holds
// text of the payload.
func (e *PayloadError) Error() string { return "payload refused: " + e.Rule }

// The rules a payload can break, but for its depth. They are shown to senders.
const (
	ruleEmpty     = "the payload is empty; send null for no value"
	ruleSyntax    = "the payload is not valid JSON (RFC 8259)"
	ruleTrailing  = "the payload has more text after its JSON value"
	ruleBOM       = "the payload starts with a byte order mark"
	ruleUTF8      = "the payload is not valid UTF-8"
	ruleControl   = "a string has an unescaped control character"
	ruleNUL       = "a string has a NUL character"
	ruleSurrogate = "a string has a lone surrogate"
	ruleDuplicate = "an object has the same key twice"
	ruleLiteral   = "a number is longer than 1024 bytes"
	ruleDigits    = "a number has more than 128 significant digits"
	ruleExponent  = "a number's decimal exponent is outside -308 to 308"
)

// ruleDepth names the limit in force, the one rule that is configurable.
func ruleDepth(limit int) string {
	return fmt.Sprintf("the payload is nested deeper than %d", limit)
}
