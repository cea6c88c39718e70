package mapping

import (
	"encoding/json"
	"slices"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// shape says what the payload is made of: the whole body, the value at a place, or an object of such.
type shape struct {
	template *Template         // of a leaf; nil for the whole body and for an object
	members  map[string]*shape // of an object
	names    []string          // of its members, sorted
}

// maxShapeDepth bounds the objects within each other of a configured payload.
const maxShapeDepth = 8

// parseShape reads the payload of a configuration. Nothing, and an empty text, are the whole body. The error is an
// *spec.InvalidError for the field.
func parseShape(field string, raw json.RawMessage, depth int) (*shape, error) {
	if len(raw) == 0 {
		return &shape{}, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		if text == "" {
			return &shape{}, nil
		}
		t, err := ParseTemplate(field, text)
		return &shape{template: &t}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, &spec.InvalidError{Field: field, Rule: "must be a text or an object of texts"}
	}
	if depth == maxShapeDepth {
		return nil, &spec.InvalidError{Field: field, Rule: "must be at most 8 objects deep"}
	}
	s := &shape{members: map[string]*shape{}}
	for name, raw := range members {
		inner, err := parseShape(field+"/"+pointer{name}.String()[1:], raw, depth+1)
		if err != nil {
			return nil, err
		}
		s.members[name] = inner
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s, nil
}

// places are those that the payload reads; the whole body is none.
func (s *shape) places() (all []place) {
	if s.template != nil {
		return s.template.places()
	}
	for _, name := range s.names {
		all = append(all, s.members[name].places()...)
	}
	return all
}

// make makes the payload. Errors: *Error, *canon.SizeError.
func (s *shape) make(e *event) (canon.Payload, error) {
	if s.template == nil && s.members == nil {
		return e.payload, nil
	}
	value, bad := s.value(e)
	if bad != nil {
		bad.Field = "payload"
		return canon.Payload{}, bad
	}
	return e.encode(value)
}

func (s *shape) value(e *event) (any, *Error) {
	switch {
	case s.template != nil:
		return s.template.value(e)
	case s.members == nil:
		return e.whole, nil
	}
	object := make(map[string]any, len(s.members))
	for _, name := range s.names {
		value, bad := s.members[name].value(e)
		if bad != nil {
			return nil, bad
		}
		object[name] = value
	}
	return object, nil
}

// value is the value at the place of a template that is one pointer, as it is, and the text of any other one.
func (t Template) value(e *event) (any, *Error) {
	if len(t.parts) == 1 && t.parts[0].place.kind == placePointer {
		at := t.parts[0].place
		value, ok := at.pointer.find(e.whole)
		if !ok {
			return nil, &Error{Place: at.String(), Rule: ruleAbsent}
		}
		return value, nil
	}
	return t.eval(e)
}
