package access

import (
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/spec"
)

// Scope is a right that routes ask of their caller.
type Scope string

// The scopes.
const (
	RunsStart    Scope = "runs:start"
	RunsRead     Scope = "runs:read"
	RunsCancel   Scope = "runs:cancel"
	SignalsSend  Scope = "signals:send"
	HooksResume  Scope = "hooks:resume"
	HooksDispose Scope = "hooks:dispose"
	TokensMint   Scope = "tokens:mint"
	IngressAdmin Scope = "ingress:admin"
	AuditRead    Scope = "audit:read"
)

// AllScopes returns every scope there is.
func AllScopes() []Scope {
	return []Scope{RunsStart, RunsRead, RunsCancel, SignalsSend, HooksResume, HooksDispose, TokensMint, IngressAdmin, AuditRead}
}

// ParseScopes reads scopes that must all be known, and drops repeats. The error is a *spec.InvalidError of the field.
func ParseScopes(field string, names []string) ([]Scope, error) {
	scopes := []Scope{}
	for _, name := range names {
		scope := Scope(name)
		if !slices.Contains(AllScopes(), scope) {
			return nil, &spec.InvalidError{Field: field, Rule: "must be of " + Words(AllScopes())}
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// Words lists scopes as one text, separated by spaces (RFC 6749 section 3.3).
func Words(scopes []Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}

// known returns those of the words that are scopes, and that the cap has: issuers put more than ours into one claim.
func known(words []string, limit []Scope) []Scope {
	scopes := []Scope{}
	for _, scope := range limit {
		if slices.Contains(words, string(scope)) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}
