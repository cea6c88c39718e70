package gateway

import (
	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
)

// Sources say in history by which door a message came.
const (
	sourceCallback = "callback"
	sourceAPI      = "api"
)

// resumeByToken answers a hook with the token in the path. It has no look-up of its own: a token that is malformed,
// wrong, unknown or not for this surface is one case for the engine, and one answer here.
func (g *Gateway) resumeByToken(c *fiber.Ctx, k *call) error { return g.resumeWith(c, k, k.token) }

// resumeByBearer answers a hook with the token as a bearer credential (RFC 6750), the way that leaves it out of the
// logs of proxies.
func (g *Gateway) resumeByBearer(c *fiber.Ctx, k *call) error {
	token, ok := bearerOf(c)
	if !ok {
		return &refusal{problem: unauthorized, challenge: challengeBearer}
	}
	return g.resumeWith(c, k, token)
}

func (g *Gateway) resumeWith(c *fiber.Ctx, k *call, token string) error {
	payload, err := bodyOf(c)
	if err != nil {
		return err
	}
	req := engine.TokenRequest{Token: token, Payload: payload, Source: sourceCallback}
	r, err := g.byToken(c, k, req, access.HooksResume, g.engine.ResumeHookByToken)
	if err != nil {
		return err
	}
	return k.accepted(c, r.Verdict, namelessReceipt(r))
}

// disposeByToken withdraws a hook that lets its token do so.
func (g *Gateway) disposeByToken(c *fiber.Ctx, k *call) error {
	if err := noFields(c); err != nil {
		return err
	}
	req := engine.TokenRequest{Token: k.token, Source: sourceCallback}
	r, err := g.byToken(c, k, req, access.HooksDispose, g.engine.DisposeHookByToken)
	if err != nil {
		return err
	}
	return k.disposed(c, r.Verdict, namelessReceipt(r))
}

// noFields checks the body of a request that says everything by its path: it is empty or {}.
func noFields(c *fiber.Ctx) error {
	_, err := fieldsOf(c)
	return err
}

// fieldsOf reads a body of our own fields.
func fieldsOf(c *fiber.Ctx, known ...string) (envelope, error) {
	body, err := bodyOf(c)
	if err != nil {
		return nil, err
	}
	return readEnvelope(body, known...)
}
