package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// nulls allows null where encoding/json writes it: for what is nil. It walks a
// type beside its schema.
type nulls struct {
	names typeNames
	defs  jsonschema.Definitions
	seen  map[*jsonschema.Schema]bool
}

func (n nulls) visit(t reflect.Type, s *jsonschema.Schema) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s == nil || selfMade(t) != nil || t == timeType || implements(t, describesItself) {
		return
	}
	if name, refers := strings.CutPrefix(s.Ref, refPrefix); refers {
		s = n.defs[name]
	}
	if s == nil || n.seen[s] {
		return
	}
	n.seen[s] = true
	switch t.Kind() {
	case reflect.Struct:
		n.visitFields(t, s, false)
	case reflect.Slice, reflect.Array:
		n.visit(t.Elem(), s.Items)
		n.allowAt(t.Elem(), &s.Items)
	case reflect.Map:
		for _, members := range s.PatternProperties { // the library's form for whole numbers as keys, but for negative ones
			s.PatternProperties, s.AdditionalProperties = nil, members
		}
		n.visit(t.Elem(), s.AdditionalProperties)
		n.allowAt(t.Elem(), &s.AdditionalProperties)
	default: // nothing inside
	}
}

// visitFields goes through the members of an object. Those that come from an
// embedded pointer are missing when it is nil.
func (n nulls) visitFields(t reflect.Type, s *jsonschema.Schema, mayMiss bool) {
	if s.Properties == nil {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && deref(f.Type).Kind() == reflect.Struct {
			n.visitFields(deref(f.Type), s, mayMiss || f.Type.Kind() == reflect.Pointer)
			continue
		}
		if name == "" {
			name = f.Name
		}
		member, there := s.Properties.Get(name)
		if !there {
			continue
		}
		if mayMiss {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		n.visit(f.Type, member)
		if !omits(options) {
			n.allowAt(f.Type, &member)
			s.Properties.Set(name, member)
		}
	}
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func omits(options string) bool {
	all := strings.Split(options, ",")
	return slices.Contains(all, "omitempty") || slices.Contains(all, "omitzero")
}

// allowAt lets the schema at a place be null too, where the type may be nil.
func (n nulls) allowAt(t reflect.Type, at **jsonschema.Schema) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return
	}
	s := *at
	switch {
	case s == nil, s.Type == "" && s.Ref == "":
		return // any value, or a schema of the type's own making
	case s.Ref == "" && s.Enum == nil && s.Const == nil:
		both := *s
		both.Type, both.Extras = "", map[string]any{"type": []string{s.Type, "null"}}
		both.Definitions, s.Definitions = s.Definitions, nil
		*at = &both
	default:
		defs := s.Definitions
		s.Definitions = nil
		*at = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}, Definitions: defs}
	}
}
