package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Of derives the JSON Schema of what encoding/json writes for a type and reads
// into it. The same type gives the same bytes, and they compile.
//
// Members that a type always writes are required, those of omitempty and
// omitzero are not; members that it does not name are allowed, as the decoder
// ignores them. What may be nil may be null, unless it is omitted then. A time
// is a string of format date-time; json.RawMessage, interfaces and types with a
// MarshalJSON of their own are any value, types with a MarshalText a string.
// The tags jsonschema and jsonschema_description add rules and words.
//
// It fails for what JSON cannot hold, such as channels and functions, and for a
// schema that Compile refuses.
func Of(t reflect.Type) (_ json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil { // the library's way to refuse a type
			err = fmt.Errorf("type %s has no JSON Schema: %v", t, r)
		}
	}()
	if t == nil {
		return nil, fmt.Errorf("type any has no schema: leave it absent")
	}
	names := typeNames{}
	r := jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true, Mapper: selfMade, Namer: names.of}
	root := r.ReflectFromType(t)
	root.Version = "" // the dialect of every schema here
	n := nulls{names: names, defs: root.Definitions, seen: map[*jsonschema.Schema]bool{}}
	n.visit(t, root)
	root = inlineRoot(root)
	n.allowAt(t, &root)
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("encode the schema of type %s: %w", t, err)
	}
	if _, err := Compile(text); err != nil {
		return nil, fmt.Errorf("type %s: %w", t, err)
	}
	return text, nil
}

const refPrefix = "#/$defs/"

// inlineRoot puts a definition that only the root refers to in the root's place.
func inlineRoot(root *jsonschema.Schema) *jsonschema.Schema {
	name, refers := strings.CutPrefix(root.Ref, refPrefix)
	text, err := json.Marshal(root)
	if !refers || err != nil || strings.Count(string(text), strconv.Quote(root.Ref)) > 1 {
		return root
	}
	whole := *root.Definitions[name]
	delete(root.Definitions, name)
	whole.Definitions = root.Definitions
	return &whole
}

// typeNames names definitions. The library takes a type's own name, which two
// packages may use alike, and which is no part of a reference where it is that
// of a generic type.
type typeNames map[reflect.Type]string

func (n typeNames) of(t reflect.Type) string {
	if name, known := n[t]; known || t.Name() == "" {
		return name
	}
	base, _, _ := strings.Cut(t.Name(), "[")
	name := base
	for i := 2; n.taken(name); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	n[t] = name
	return name
}

func (n typeNames) taken(name string) bool {
	for _, other := range n {
		if other == name {
			return true
		}
	}
	return false
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
	urlType    = reflect.TypeFor[url.URL]() // its JSON is that of its fields, and not the text of the address

	describesItself = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
	writesJSON      = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()}
	writesText      = []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
)

// selfMade maps the types whose JSON is not that of their kind; nil leaves a
// type to the library.
func selfMade(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == timeType, implements(t, describesItself), t.Kind() == reflect.Interface:
		return nil
	case t == numberType:
		return &jsonschema.Schema{Type: "number"}
	case t == urlType:
		return &jsonschema.Schema{Type: "object"}
	case implements(t, writesJSON...):
		return &jsonschema.Schema{}
	case implements(t, writesText...):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func implements(t reflect.Type, any ...reflect.Type) bool {
	for _, i := range any {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}
