package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// MaxMetadataBytes bounds the JSON form of one hook's metadata, labels included.
const MaxMetadataBytes = 16 << 10

// KindApproval is the kind of a hook that asks a person to decide.
const KindApproval = "human_approval"

// CallbackRoute tells the gateway's users where a hook expects its answer. The path holds {token} where the token goes.
type CallbackRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// PostRoute is a route answered with POST.
func PostRoute(path string) CallbackRoute { return CallbackRoute{Method: "POST", Path: path} }

// HookMetadata is routing and audit context of a hook: what it asks, whom, and where the answer goes. It holds no
// secret; lists show it. The With methods return a changed copy.
type HookMetadata struct {
	Kind    string         `json:"kind,omitempty"`
	Subject string         `json:"subject,omitempty"`
	Route   *CallbackRoute `json:"route,omitempty"`
	Labels  Labels         `json:"labels,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
	// Requester is the person who asks. Where it is set, an answer needs an actor who IsPerson
	// and is somebody else; see SamePerson.
	Requester string `json:"requester,omitempty"`
	// Rule says how many of how many people must approve. It is shown to them; workflow code counts.
	Rule *ApprovalRule `json:"rule,omitempty"`
}

// HumanApproval is the metadata of a hook that asks a person to approve the subject.
func HumanApproval(subject string) HookMetadata {
	return HookMetadata{Kind: KindApproval, Subject: subject}
}

// WithCallbackRoute sets where the answer goes.
func (m HookMetadata) WithCallbackRoute(r CallbackRoute) HookMetadata {
	m.Route = &r
	return m
}

// WithLabel adds a searchable label.
func (m HookMetadata) WithLabel(key, value string) HookMetadata {
	m.Labels = maps.Clone(m.Labels)
	if m.Labels == nil {
		m.Labels = Labels{}
	}
	m.Labels[key] = value
	return m
}

// WithData adds context that is shown but not searched. The value must encode as JSON.
func (m HookMetadata) WithData(key string, value any) HookMetadata {
	m.Data = maps.Clone(m.Data)
	if m.Data == nil {
		m.Data = map[string]any{}
	}
	m.Data[key] = value
	return m
}

// Validate returns an *InvalidError for a bad label, a route whose path does not hold {token} or whose method is not
// POST, a requester that breaks CheckPerson, a rule that nobody can meet, data that is not JSON or has a number beyond those
// of a float64, a NUL, a hook token, or a JSON form above 16 KiB.
func (m HookMetadata) Validate() error {
	if err := m.Labels.Validate(); err != nil {
		return err
	}
	if r := m.Route; r != nil {
		if r.Method != "POST" {
			return &InvalidError{Field: "route/method", Rule: "must be POST"}
		}
		if !strings.HasPrefix(r.Path, "/") || !strings.Contains(r.Path, "{token}") {
			return &InvalidError{Field: "route/path", Rule: "must begin with / and hold {token}"}
		}
	}
	if err := m.checkPeople(); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return &InvalidError{Field: "data", Rule: "must encode as JSON"}
	}
	if len(m.Data) > 0 && json.Unmarshal(text, &HookMetadata{}) != nil { // else whoever lists hooks cannot read this one
		return &InvalidError{Field: "data", Rule: "must not hold numbers beyond those of a float64"}
	}
	if bytes.Contains(text, []byte(`\u0000`)) {
		return &InvalidError{Field: "metadata", Rule: "must not hold NUL"}
	}
	if len(text) > MaxMetadataBytes {
		return &InvalidError{Field: "metadata", Rule: fmt.Sprintf("must be at most %d bytes of JSON, has %d", MaxMetadataBytes, len(text))}
	}
	return CheckNoToken("metadata", string(text))
}
