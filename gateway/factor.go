package gateway

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// HookVerifier verifies the signatures of callbacks to hooks whose spec requires one. It is safe for concurrent use.
type HookVerifier interface {
	// VerifyHook says whether a request is signed, now, with a secret of a source that is for a namespace. header has the
	// values of each field under its name in lower case; body is as it was received. Any error is a refusal, and so is a
	// source that is not known; the caller is not told which.
	VerifyHook(ctx context.Context, source string, ns spec.Namespace, header map[string][]string, body []byte) error
}

// prove verifies what a hook asks for beside its token, and adds it to the request. The scope is what a credential needs. A
// credential of the open API is none: the hook's author wants to know who it was.
func (g *Gateway) prove(c *fiber.Ctx, k *call, scope access.Scope, wanted *engine.FactorError, req *engine.TokenRequest) error {
	if wanted.Requires.Factor == spec.Signature {
		if err := g.verifySignature(c, wanted); err != nil {
			k.barred = authSignature
			return err
		}
		req.Proof = wanted.Requires
		return nil
	}
	credential, ok := bearerOf(c)
	if !ok {
		k.barred = authMissing
		return &refusal{problem: unauthorized, challenge: challengeBearer}
	}
	who, err := g.whoIs(c, k, credential)
	if err != nil {
		return err
	}
	if !who.Has(scope) || who.Namespace != wanted.Run.Namespace || !who.Covers(wanted.Run.RunID, wanted.HookID, "") {
		k.barred = authScope
		return refuse(forbidden)
	}
	req.Proof, req.Actor = wanted.Requires, who.Actor
	if g.engine.KeepsAudit() {
		c.SetUserContext(engine.WithTrail(c.UserContext(), k.trailOf(c, who)))
	}
	return nil
}

func (g *Gateway) verifySignature(c *fiber.Ctx, wanted *engine.FactorError) error {
	if g.config.HookVerifier == nil {
		return refuse(signatureInvalid)
	}
	err := g.config.HookVerifier.VerifyHook(c.UserContext(), wanted.Requires.Source, wanted.Run.Namespace, headersOf(c), c.BodyRaw())
	if err != nil {
		return refuse(signatureInvalid)
	}
	return nil
}
