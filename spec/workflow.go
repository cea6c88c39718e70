package spec

import (
	"encoding/json"
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
	Queries     []Query         `json:"queries,omitempty"`
	Updates     []Update        `json:"updates,omitempty"`
	// CooperativeCancel makes Cancel a request that workflow code sees and answers, instead of an immediate end.
	CooperativeCancel bool `json:"cooperative_cancel,omitempty"`
}

// Signal declares a named message that runs of the workflow take. An undeclared name is refused at the door.
type Signal struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the payload; absent accepts any value
}

// Factor is what a caller proves beside holding a hook's token.
type Factor string

// The factors. The zero Factor is none: the token is enough.
const (
	Credential Factor = "credential" // of the API, for the hook's namespace, with the scope hooks:resume
	Signature  Factor = "signature"  // of the request, by one of the secrets of a source of webhooks
)

// Proof is a factor that was proved; for Signature by which source.
type Proof struct {
	Factor Factor
	Source string
}

// Proof is what callers by token must prove. The zero Proof is nothing.
func (h Hook) Proof() Proof { return Proof{Factor: h.Requires, Source: h.Source} }

// Hook declares what answers to hooks of one name must look like and who may give them. A hook created under an
// undeclared name has no schema and the defaults.
type Hook struct {
	Name              string          `json:"name"`
	Description       string          `json:"description,omitempty"`
	Schema            json.RawMessage `json:"schema,omitempty"`
	Audience          Audience        `json:"audience,omitempty"`            // empty means Public
	DisposableByToken bool            `json:"disposable_by_token,omitempty"` // whether the token alone may withdraw the hook
	// Requires is a second factor: what a caller by token must prove beside holding it. Who acts by IDs has proved more.
	Requires Factor `json:"requires,omitempty"`
	Source   string `json:"source,omitempty"` // of Signature: the configured source of webhooks whose secrets count
	// Confirm makes a page ask once more before a decision is made.
	Confirm bool `json:"confirm,omitempty"`
	// HidesDecider keeps from later visitors of a page who decided.
	HidesDecider bool `json:"hides_decider,omitempty"`
}

// Normalized returns the spec with its declarations sorted by name and defaults filled in, so that two spellings of one
// contract are equal.
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
	s.Queries = slices.Clone(s.Queries)
	slices.SortFunc(s.Queries, func(a, b Query) int { return strings.Compare(a.Name, b.Name) })
	s.Updates = slices.Clone(s.Updates)
	slices.SortFunc(s.Updates, func(a, b Update) int { return strings.Compare(a.Name, b.Name) })
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
