package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// maxViolations bounds how many violations an Error tells.
const maxViolations = 32

// Violation is one rule of a schema that a payload breaks.
type Violation struct {
	// Pointer is the JSON Pointer (RFC 6901) of the place in the payload, "" for
	// the root, at most 256 bytes of it. It is made of the payload's own keys:
	// it may be shown to the sender and must not be logged.
	Pointer string
	// Message says what the schema asks for. It holds no value of the payload.
	Message string
}

// Error says that a payload breaks its schema.
type Error struct {
	// Violations are sorted by pointer, then message. There is at least one and
	// there are at most 32; of more, the first are kept.
	Violations []Violation
}

// Error names the rules of the first violations and counts the rest. It leaves the places out, because pointers hold
// keys of the payload.
func (e *Error) Error() string {
	const shown = 5
	var b strings.Builder
	b.WriteString("payload breaks its schema: ")
	for i, v := range e.Violations[:min(len(e.Violations), shown)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.Message)
	}
	if more := len(e.Violations) - shown; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Validate checks a payload, which is nil or an *Error. The payload should have
// passed canon.Parse; bytes that are not JSON and numbers far out of range are
// violations too. A nil Schema accepts everything.
func (s *Schema) Validate(payload []byte) error {
	if s == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return &Error{Violations: []Violation{{Message: "must be a JSON value"}}}
	}
	if place, ok := hugeNumber(value, nil); ok {
		return &Error{Violations: []Violation{{Pointer: canon.Pointer(place), Message: "must be a number in range"}}}
	}
	err = s.root.Validate(value)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return &Error{Violations: tidy(s.violations(nil, invalid))}
	default:
		return &Error{Violations: []Violation{{Message: "must match the schema"}}}
	}
}

// tidy sorts, drops repetitions and cuts the list to its limit.
func tidy(vs []Violation) []Violation {
	slices.SortFunc(vs, func(a, b Violation) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	vs = slices.Compact(vs)
	return slices.Clip(vs[:min(len(vs), maxViolations)])
}

// hugeNumber finds a number that exact arithmetic would take long to hold. No
// parsed payload has one.
func hugeNumber(v any, place []string) ([]string, bool) {
	switch v := v.(type) {
	case json.Number:
		return place, isHuge(string(v))
	case []any:
		for i, item := range v {
			if at, ok := hugeNumber(item, append(place, strconv.Itoa(i))); ok {
				return at, true
			}
		}
	case map[string]any:
		for name, member := range v {
			if at, ok := hugeNumber(member, append(place, name)); ok {
				return at, true
			}
		}
	}
	return nil, false
}

// isHuge allows what canon allows: literals of 1,024 bytes, whose exponent
// their digits can bring back to ±308.
func isHuge(literal string) bool {
	const mostBytes, mostExponent = 1024, 1024 + 308
	if len(literal) > mostBytes {
		return true
	}
	e := strings.IndexAny(literal, "eE")
	if e < 0 {
		return false
	}
	exponent, err := strconv.Atoi(literal[e+1:])
	return err != nil || exponent < -mostExponent || exponent > mostExponent
}
