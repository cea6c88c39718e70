package gateway

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
	"github.com/flowgate-go/flowgate/spec"
)

// mintedPage shows the link of a page.
type mintedPage struct {
	URL       string         `json:"url"`
	TokenID   string         `json:"token_id"`
	Recipient string         `json:"recipient"`
	ExpiresAt *stamp         `json:"expires_at,omitempty"`
	Verdict   engine.Verdict `json:"verdict"`
}

// mintPage shows the link of an open hook's page for one person, the same one on every call.
func (g *Gateway) mintPage(c *fiber.Ctx, k *call) error {
	fields, err := fieldsOf(c, openapi.Members(recipientBody{})...)
	if err != nil {
		return err
	}
	recipient, given, err := fields.text("recipient")
	if err != nil {
		return err
	}
	if !given {
		return &spec.InvalidError{Field: "recipient", Rule: "must be given"}
	}
	link, err := k.handle.PageLink(c.UserContext(), k.run, k.hook, recipient)
	if err != nil {
		return err
	}
	g.limiter.remember(link.Token.Reveal(), k.who.Namespace)
	k.verdict = engine.VerdictAccepted
	return writeJSON(c, http.StatusOK, mintedPage{
		URL: link.URL.Reveal(), TokenID: link.TokenID, Recipient: link.Recipient, ExpiresAt: stampOf(link.ExpiresAt),
		Verdict: k.verdict,
	})
}
