package spec

import "encoding/json"

// Query declares a question that callers may ask about a run: answered from the run's state, with nothing recorded. An
// undeclared name is unknown.
type Query struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Args        json.RawMessage `json:"arg_schema,omitempty"`      // JSON Schema of the argument; absent accepts any value
	Response    json.RawMessage `json:"response_schema,omitempty"` // JSON Schema of the answer; absent allows any value
}

// Update declares a change that callers may ask of a run and wait for: recorded like a signal, answered by a result.
type Update struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Args        json.RawMessage `json:"arg_schema,omitempty"`      // JSON Schema of the argument; absent accepts any value
	Response    json.RawMessage `json:"response_schema,omitempty"` // JSON Schema of the result; absent allows any value
}

// Query returns the declaration of a query name.
func (s WorkflowSpec) Query(name string) (Query, bool) {
	for _, q := range s.Queries {
		if q.Name == name {
			return q, true
		}
	}
	return Query{}, false
}

// Update returns the declaration of an update name.
func (s WorkflowSpec) Update(name string) (Update, bool) {
	for _, u := range s.Updates {
		if u.Name == name {
			return u, true
		}
	}
	return Update{}, false
}
