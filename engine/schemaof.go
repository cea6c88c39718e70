package engine

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/flowgate-go/flowgate/internal/schema"
)

// SchemaOf derives the JSON Schema of a Go type, for every schema of a spec: of a signal, a hook, an input, a query's
// argument and answer. It describes what encoding/json writes for the type and reads into it: members without omitempty
// are required, unknown ones are allowed, what may be nil may be null, a time.Time is a string of format date-time, and
// json.RawMessage is any value. Struct tags jsonschema:"minimum=1,enum=a,enum=b" and jsonschema_description add rules and
// words. The same type gives the same bytes in every process.
//
// Like regexp.MustCompile it is for package variables: it panics for a type that has no schema, such as one with a
// channel, or whose schema is refused.
func SchemaOf[T any]() json.RawMessage {
	text, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("engine.SchemaOf: %v", err))
	}
	return text
}
