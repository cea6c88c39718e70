package gateway

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/spec"
)

// ingressAnswer is the body of an event that was taken in. Senders learn no IDs of ours.
type ingressAnswer struct {
	answer
	Reason inbox.Reason `json:"reason,omitempty"` // why it is ignored
}

// challengeAnswer is the body of an answered handshake.
type challengeAnswer struct {
	Challenge string `json:"challenge"`
}

// receiveEvent takes in a signed webhook. Everybody who may send to the source can be answered 404 or 410 for one run that is
// not there, and give the whole source up: so neither is ever said of a run.
func (g *Gateway) receiveEvent(c *fiber.Ctx, k *call) error {
	if g.config.Ingress == nil {
		return refuse(notFound)
	}
	body := c.BodyRaw()
	if len(body) >= c.App().Config().BodyLimit {
		return refuse(payloadTooLarge) // one byte more than is allowed, see settings
	}
	ctx := c.UserContext()
	a, err := g.config.Ingress.Receive(ctx, k.name, &ingress.Request{
		Header: headersOf(c), Body: body,
		Admit: func(ns spec.Namespace, verified bool) error {
			k.trusted = verified
			return g.limiter.event(ctx, k, ns)
		},
	})
	k.event = eventNote{source: k.name, outcome: string(a.Outcome), reason: string(a.Reason), secret: a.SecretID}
	if err != nil {
		return k.refuseEvent(err)
	}
	if a.Challenge != "" {
		k.verdict = engine.VerdictAccepted
		return writeJSON(c, http.StatusOK, challengeAnswer{a.Challenge})
	}
	verdict := engine.VerdictAccepted
	if a.Outcome == inbox.Duplicate {
		verdict = engine.VerdictDuplicate
	}
	said := k.settle(c, verdict, outcome(a.Outcome), receipt{})
	if !a.Receipt.ReceivedAt.IsZero() {
		said.Receipt = namelessReceipt(a.Receipt)
	}
	if a.Status == http.StatusNoContent {
		c.Status(a.Status)
		return nil
	}
	return writeJSON(c, a.Status, ingressAnswer{answer: said, Reason: a.Reason})
}

// headersOf are the headers of a request under lower-case names. Nothing in them is shared with the request.
func headersOf(c *fiber.Ctx) map[string][]string {
	found := map[string][]string{}
	for name, value := range c.Request().Header.All() {
		key := strings.ToLower(string(name))
		found[key] = append(found[key], string(value))
	}
	return found
}
