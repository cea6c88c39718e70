package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxQuoted bounds each piece of schema text in a message.
const maxQuoted = 100

// message says what a keyword asks for. The library's own messages will not do:
// many of them quote the value they refuse.
func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return enumMessage(k.Want)
	case *kind.Const:
		return enumMessage([]any{k.Want})
	case *kind.Format:
		return "must have the format " + quote(k.Want)
	case *kind.AnyOf:
		return "must match at least one alternative (anyOf)"
	case *kind.OneOf:
		return "must match exactly one alternative (oneOf)"
	case *kind.Not:
		return "must not match the excluded schema (not)"
	case *kind.FalseSchema:
		return "is not allowed"
	}
	for _, of := range []func(jsonschema.ErrorKind) string{objectMessage, arrayMessage, textMessage, numberMessage} {
		if m := of(k); m != "" {
			return m
		}
	}
	return "must match the schema"
}

func objectMessage(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d properties", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d properties", k.Want)
	case *kind.AdditionalProperties:
		return "additional properties are not allowed"
	case *kind.PropertyNames:
		return "a property name is not allowed"
	case *kind.Dependency:
		return quoteAll(k.Missing) + " is required beside " + quote(k.Prop)
	case *kind.DependentRequired:
		return quoteAll(k.Missing) + " is required beside " + quote(k.Prop)
	default:
		return ""
	}
}

func arrayMessage(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.AdditionalItems:
		return "additional items are not allowed"
	case *kind.UniqueItems:
		return "must not have equal items"
	case *kind.Contains:
		return "must have at least 1 matching item (contains)"
	case *kind.MinContains:
		return fmt.Sprintf("must have at least %d matching items (contains)", k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("must have at most %d matching items (contains)", k.Want)
	default:
		return ""
	}
}

func textMessage(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Pattern:
		return "must match the pattern " + quote(k.Want)
	default:
		return ""
	}
}

func numberMessage(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	default:
		return ""
	}
}

// enumMessage lists the allowed values, which are text of the schema, while
// they are short enough to be read.
func enumMessage(want []any) string {
	var words []string
	size := 0
	for _, v := range want {
		text, err := json.Marshal(v)
		if size += len(text); err != nil || size > maxQuoted {
			return fmt.Sprintf("must be one of %d allowed values", len(want))
		}
		words = append(words, string(text))
	}
	if len(words) == 1 {
		return "must be " + words[0]
	}
	return "must be one of " + strings.Join(words, ", ")
}

// quote shows a piece of schema text, cut where it is long.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(strings.ToValidUTF8(s[:maxQuoted], "")) + "…"
	}
	return strconv.Quote(s)
}

func quoteAll(names []string) string {
	var quoted []string
	for _, n := range names[:min(len(names), 5)] {
		quoted = append(quoted, quote(n))
	}
	return strings.Join(quoted, ", ")
}

// decimal writes a limit exactly, unless it has so many digits that nobody
// would read them.
func decimal(r *big.Rat) string {
	if digits, exact := r.FloatPrec(); exact && digits <= 20 && r.Num().BitLen() <= 128 {
		return r.FloatString(digits)
	}
	return new(big.Float).SetRat(r).Text('g', 10)
}
