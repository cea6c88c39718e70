package gateway

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/page"
)

// pageReply is the answer to the form of a page.
type pageReply struct {
	g       *Gateway
	c       *fiber.Ctx
	k       *call
	page    engine.ApprovalPage
	comment string // is not lost with a refusal
}

// done answers what the engine said. A decision that is kept is shown by the page itself, so that reloading sends nothing.
func (r pageReply) done(err error) error {
	if err == nil {
		r.k.verdict = engine.VerdictAccepted
		r.g.figures.pageDecided(r.k.verdict)
		r.c.Set(fiber.HeaderLocation, "./"+r.k.token)
		r.c.Status(http.StatusSeeOther)
		return nil
	}
	said := pageAnswer(err)
	if said == nil {
		r.g.figures.pageDecided(engine.VerdictOf(err))
		return err
	}
	if now, err := r.g.engine.ApprovalPage(r.c.UserContext(), r.k.token, nil); err == nil { // else as it was before
		r.page = now
	}
	return r.say(said)
}

// say shows the page as it is, with what is to be said of the form above it.
func (r pageReply) say(said *pageNotice) error {
	r.k.verdict = said.verdict
	r.g.figures.pageDecided(said.verdict)
	drawn := r.g.pageView(r.page, r.k.token, said)
	if drawn.Form != nil {
		drawn.Form.Comment, drawn.Form.Missing = r.comment, said == &pageUndecided
	}
	return r.g.drawPage(r.c, said.status, drawn)
}

// confirm asks for the decision once more. Nothing is kept: the form stands for the decision.
func (r pageReply) confirm(approve bool) error {
	asked := page.Confirm{Approve: approve}
	r.k.verdict = engine.VerdictAccepted
	drawn := r.g.pageView(r.page, r.k.token, nil)
	if drawn.Form == nil {
		return r.say(&pageStale)
	}
	drawn.Form.Comment, drawn.Form.Confirm = r.comment, &asked
	drawn.Form.Nonce = r.g.engine.NewPageForm(r.k.token, r.page.Shown, confirmation(asked.Word(), r.comment))
	return r.g.drawPage(r.c, http.StatusOK, drawn)
}

func (g *Gateway) drawPage(c *fiber.Ctx, status int, p page.Page) error {
	body, err := page.Draw(p)
	if err != nil {
		return err
	}
	c.Status(status)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(body)
}
