package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Audience says on which surface a hook may be answered.
type Audience string

const (
	// Public hooks are answered by token on the callback route, or by run and hook ID.
	Public Audience = "public"
	// Internal hooks are answered by run and hook ID only; on the callback route their token is unknown.
	Internal Audience = "internal"
)

// WorkflowSpec is the contract a run is started against. It is immutable per (name, version): to change it, raise the
// version. A run keeps the spec that it started with.
type WorkflowSpec struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input_schema,omitempty"` // JSON Schema of the input; absent accepts any value
	Signals     []Signal        `json:"signals,omitempty"`
	Hooks       []Hook          `json:"hooks,omitempty"`
	// CooperativeCancel makes Cancel a request that workflow code sees and answers, instead of an immediate end.
	CooperativeCancel bool `json:"cooperative_cancel,omitempty"`
}

// Signal declares a named message that runs of the workflow take. An undeclared name is refused at the door.
type Signal struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the payload; absent accepts any value
}

// Hook declares what answers to hooks of one name must look like and who may give them. A hook created under an
// undeclared name has no schema and the defaults.
type Hook struct {
	Name              string          `json:"name"`
	Description       string          `json:"description,omitempty"`
	Schema            json.RawMessage `json:"schema,omitempty"`
	Audience          Audience        `json:"audience,omitempty"`            // empty means Public
	DisposableByToken bool            `json:"disposable_by_token,omitempty"` // whether the token alone may withdraw the hook
}

// Validate returns an *InvalidError that names the first bad field. Schemas are only checked for being JSON here; they
// are compiled at registration.
func (s WorkflowSpec) Validate() error {
	if err := CheckName("name", s.Name); err != nil {
		return err
	}
	if err := CheckName("version", s.Version); err != nil {
		return err
	}
	if err := checkSchema("input_schema", s.Input); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, sig := range s.Signals {
		if err := checkEntry(fmt.Sprintf("signals/%d", i), sig.Name, sig.Schema, seen); err != nil {
			return err
		}
	}
	clear(seen)
	for i, h := range s.Hooks {
		field := fmt.Sprintf("hooks/%d", i)
		if err := checkEntry(field, h.Name, h.Schema, seen); err != nil {
			return err
		}
		if h.Audience != "" && h.Audience != Public && h.Audience != Internal {
			return &InvalidError{Field: field + "/audience", Rule: "must be public or internal"}
		}
	}
	return nil
}

func checkEntry(field, name string, schema json.RawMessage, seen map[string]bool) error {
	if err := CheckName(field+"/name", name); err != nil {
		return err
	}
	if seen[name] {
		return &InvalidError{Field: field + "/name", Rule: "must be declared once"}
	}
	seen[name] = true
	return checkSchema(field+"/schema", schema)
}

func checkSchema(field string, schema json.RawMessage) error {
	if len(schema) > 0 && !json.Valid(schema) {
		return &InvalidError{Field: field, Rule: "must be JSON"}
	}
	return nil
}

// Normalized returns the spec with its signals and hooks sorted by name and defaults filled in, so that two spellings
// of one contract are equal.
func (s WorkflowSpec) Normalized() WorkflowSpec {
	s.Signals = slices.Clone(s.Signals)
	slices.SortFunc(s.Signals, func(a, b Signal) int { return strings.Compare(a.Name, b.Name) })
	s.Hooks = slices.Clone(s.Hooks)
	slices.SortFunc(s.Hooks, func(a, b Hook) int { return strings.Compare(a.Name, b.Name) })
	for i := range s.Hooks {
		if s.Hooks[i].Audience == "" {
			s.Hooks[i].Audience = Public
		}
	}
	return s
}

// Signal returns the declaration of a signal name.
func (s WorkflowSpec) Signal(name string) (Signal, bool) {
	i := slices.IndexFunc(s.Signals, func(sig Signal) bool { return sig.Name == name })
	if i < 0 {
		return Signal{}, false
	}
	return s.Signals[i], true
}

// Hook returns the declaration of a hook name, or the defaults when the name is undeclared.
func (s WorkflowSpec) Hook(name string) Hook {
	i := slices.IndexFunc(s.Hooks, func(h Hook) bool { return h.Name == name })
	if i < 0 {
		return Hook{Name: name, Audience: Public}
	}
	h := s.Hooks[i]
	if h.Audience == "" {
		h.Audience = Public
	}
	return h
}
