package access

import (
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Method is how a caller proved who it is.
type Method string

// The methods.
const (
	ByNothing  Method = "open"      // an open API asks nobody
	ByAPIKey   Method = "api-key"   // an API key
	ByJWT      Method = "jwt"       // a JWT of a configured issuer
	ByExchange Method = "exchanged" // a JWT made here
)

// Principal is who calls: whose runs it may see and act on, what it may do, and who history says did it. It comes from a
// verified credential only, never from what a message says. The zero Principal may do nothing.
type Principal struct {
	Namespace spec.Namespace
	Actor     string // at most 255 bytes; empty where nobody is asked
	Method    Method
	Scopes    []Scope

	Run     spec.RunID  // the only run it may act on; empty: any
	Hook    spec.HookID // the only hook of Run; empty: any
	Signals []string    // the only names it may send; nil: any, empty: none

	KeyID   string     // of the API key behind it; empty: none
	TokenID string     // of the JWT, its jti; empty: none
	Expires *time.Time // nil: not by itself

	issuer string // of the JWT behind it, empty for API keys
}

// Anybody may do everything in the default namespace, under no name: who calls an open API without a credential.
func Anybody() Principal {
	return Principal{Namespace: spec.DefaultNamespace, Method: ByNothing, Scopes: AllScopes()}
}

// Has says whether the principal has a scope.
func (p Principal) Has(s Scope) bool { return slices.Contains(p.Scopes, s) }

// Constrained says whether the principal may act on some runs, hooks or names only. It then may not list.
func (p Principal) Constrained() bool { return p.Run != "" || p.Hook != "" || p.Signals != nil }

// Covers says whether what a request is for lies within the constraints of the principal: a run, a hook of it, and the
// name of a message. Empty parts are what the request is not about: a principal for one hook does not cover its run.
func (p Principal) Covers(run spec.RunID, hook spec.HookID, name string) bool {
	switch {
	case p.Run != "" && run != p.Run:
		return false
	case p.Hook != "" && hook != p.Hook:
		return false
	}
	return name == "" || p.Signals == nil || slices.Contains(p.Signals, name)
}
