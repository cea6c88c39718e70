package schema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// violations appends what e says, leaf by leaf.
func (s *Schema) violations(vs []Violation, e *jsonschema.ValidationError) []Violation {
	place := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		return s.all(vs, e.Causes)
	case *kind.AnyOf, *kind.OneOf:
		// The alternatives' own violations follow: each tells what would have helped.
		vs = append(vs, Violation{canon.Pointer(place), message(k)})
		return s.all(vs, e.Causes)
	case *kind.Required:
		for _, name := range k.Missing {
			vs = append(vs, Violation{canon.Pointer(place), quote(name) + " is required"})
		}
		return vs
	case *kind.FalseSchema:
		if s.closed[e.SchemaURL] && len(place) > 0 {
			return append(vs, Violation{canon.Pointer(place[:len(place)-1]), message(&kind.AdditionalProperties{})})
		}
	}
	return append(vs, Violation{canon.Pointer(place), message(e.ErrorKind)})
}

func (s *Schema) all(vs []Violation, causes []*jsonschema.ValidationError) []Violation {
	for _, c := range causes {
		vs = s.violations(vs, c)
	}
	return vs
}

// invalidSchema tells why a text is not a schema. A regular expression that is
// refused is told with its reason, which is text of the schema, not of a
// payload.
func invalidSchema(e *jsonschema.ValidationError) error {
	if at, err := refusedPattern(e); err != nil {
		return &CompileError{Pointer: at, Rule: err.Error()}
	}
	var s Schema
	vs := tidy(s.violations(nil, e))
	var words []string
	for _, v := range vs {
		if v.Pointer == vs[0].Pointer {
			words = append(words, v.Message)
		}
	}
	return &CompileError{Pointer: vs[0].Pointer, Rule: strings.Join(words, "; ")}
}

// refusedPattern finds the violation of format "regex" in e.
func refusedPattern(e *jsonschema.ValidationError) (string, error) {
	if f, ok := e.ErrorKind.(*kind.Format); ok && f.Want == "regex" {
		return canon.Pointer(e.InstanceLocation), f.Err
	}
	for _, c := range e.Causes {
		if at, err := refusedPattern(c); err != nil {
			return at, err
		}
	}
	return "", nil
}

// pointerOf returns the JSON Pointer in a location URL's fragment.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	tokens := strings.Split(fragment, "/")[1:]
	for i, t := range slices.Clone(tokens) {
		if plain, err := url.PathUnescape(t); err == nil {
			tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(plain)
		}
	}
	return canon.Pointer(tokens)
}
