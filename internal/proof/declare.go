package proof

import (
	"encoding/json"
	"slices"

	"github.com/flowgate-go/flowgate/spec"
)

// The names that traces use.
const (
	Plain       = "proof.plain"       // two versions
	Cooperative = "proof.cooperative" // CooperativeCancel
	Missing     = "proof.missing"     // registered by nobody
)

// Specs are the workflows of traces, in the order in which they are registered: a start that names no version gets the
// last one of its name.
func Specs() []spec.WorkflowSpec {
	integer := json.RawMessage(`{"type":"integer"}`)
	declared := spec.WorkflowSpec{
		Signals: []spec.Signal{{Name: "a"}, {Name: "b"}, {Name: "typed", Schema: integer}, {Name: "never"}},
		Hooks: []spec.Hook{
			{Name: "h0", DisposableByToken: true},
			{Name: "h1", Audience: spec.Internal},
			{Name: "typed", Schema: integer},
		},
		Updates: []spec.Update{{Name: "u"}, {Name: "typed", Args: integer}},
	}
	named := func(name, version string, cooperative bool) spec.WorkflowSpec {
		s := declared
		s.Name, s.Version, s.CooperativeCancel = name, version, cooperative
		return s
	}
	return []spec.WorkflowSpec{named(Plain, "1", false), named(Plain, "2", false), named(Cooperative, "1", true)}
}

// Payloads are the JSON texts that messages carry. Those of one line are equal.
var Payloads = [][]string{
	{`1`, `1.0`, `10e-1`},
	{`2`},
	{`{"a":1,"b":[true]}`, `{ "b": [true], "a": 1.0 }`},
	{`"x"`, `"\u0078"`},
	{`null`},
	{`{"a":1,"a":1}`}, // of no value: a name twice
}

// class is the line of a text in Payloads.
func class(text string) int {
	for i, line := range Payloads {
		for _, spelling := range line {
			if spelling == text {
				return i
			}
		}
	}
	return -1
}

// What the oracle and the model's schema know of the lines: the first two are integers, the last is no JSON value.
func integer(class int) bool   { return class == 0 || class == 1 }
func malformed(class int) bool { return class == len(Payloads)-1 }

// WellFormed says whether a message keeps the rules of form and of its declaration.
func (o Operation) WellFormed() bool {
	switch {
	case o.carries() && malformed(class(o.Payload)):
		return false
	case o.Verb == Signal:
		declared := slices.Contains([]string{"a", "b", "typed", "never"}, o.Name)
		return declared && (o.Name != "typed" || integer(class(o.Payload)))
	case o.Verb == Update:
		return o.Name == "u" || o.Name == "typed" && integer(class(o.Payload))
	case o.Verb == Resume: // the third hook of each generation has the schema
		return o.ID[:2] != "h2" || integer(class(o.Payload))
	}
	return true
}
