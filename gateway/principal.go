package gateway

import (
	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/spec"
)

// Principal is who calls the API: the tenant whose runs it may see and act on, and the actor that history records. It
// comes from a verified credential only, never from a payload.
type Principal struct {
	Namespace spec.Namespace
	Actor     string
}

// scope is the right that a route under /v1 asks of its caller.
type scope string

const (
	scopeRunsStart    scope = "runs:start"
	scopeRunsRead     scope = "runs:read"
	scopeRunsCancel   scope = "runs:cancel"
	scopeSignalsSend  scope = "signals:send"
	scopeHooksResume  scope = "hooks:resume"
	scopeHooksDispose scope = "hooks:dispose"
	scopeTokensMint   scope = "tokens:mint"
)

// authenticator says who makes a request, or refuses it for the want of a credential or of the scope.
type authenticator func(c *fiber.Ctx, needs scope) (Principal, error)

// openAccess lets everybody act in the default namespace, under no name.
func openAccess(*fiber.Ctx, scope) (Principal, error) {
	return Principal{Namespace: spec.DefaultNamespace}, nil
}

// noAccess lets nobody in: no kind of credential is configured.
func noAccess(*fiber.Ctx, scope) (Principal, error) {
	return Principal{}, &refusal{problem: unauthorized, challenge: "Bearer"}
}
