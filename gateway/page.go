package gateway

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/page"
)

// Where pages are. The style sheet is found from a page by a relative path, so that a prefix of the public URL matters to
// neither.
const (
	pagePattern  = "/approvals/{page}"
	stylePattern = "/assets/approval.css"
)

// maxPageForm bounds the form of a page: a comment grows to three times its length on the way.
const maxPageForm = 3*engine.MaxPageComment + 4<<10

// pageForm is what a person sent.
type pageForm struct {
	nonce, decision, comment string
	confirmed                bool
}

// bound is what the nonce of a form stands for beside the page: nothing, or the decision that was asked for once more.
func (f pageForm) bound() string {
	if !f.confirmed {
		return ""
	}
	return confirmation(f.decision, f.comment)
}

func confirmation(decision, comment string) string { return "confirm " + decision + " " + comment }

// showPage shows where the hook of a page stands. It never acts, whoever asks and whatever the state.
func (g *Gateway) showPage(c *fiber.Ctx, k *call) error {
	if prefetched(c) {
		g.figures.prefetches.Add()
		c.Status(http.StatusNoContent)
		return nil
	}
	shown, err := g.readPage(c, k)
	if err != nil {
		return err
	}
	g.figures.views.Add()
	k.verdict = engine.VerdictAccepted
	return g.drawPage(c, http.StatusOK, g.pageView(shown, k.token, nil))
}

// prefetched says that a browser, not a person, wants the page, in case a person will.
func prefetched(c *fiber.Ctx) bool {
	for _, field := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if strings.Contains(strings.ToLower(c.Get(field)), "prefetch") {
			return true
		}
	}
	return false
}

// showStyle serves the style sheet.
func (g *Gateway) showStyle(c *fiber.Ctx, k *call) error {
	k.verdict = engine.VerdictAccepted
	c.Set(fiber.HeaderContentType, "text/css; charset=utf-8")
	return c.Send(page.Style)
}

// readPage reads the page of the token in the path.
func (g *Gateway) readPage(c *fiber.Ctx, k *call) (shown engine.ApprovalPage, err error) {
	v, err := g.limiter.visitPage(c.UserContext(), k, k.token)
	if v != nil {
		defer func() { v.end(err) }()
	}
	if err != nil {
		return shown, err
	}
	found := v.admit
	if v.known {
		found = nil // its limits are applied
	}
	return g.engine.ApprovalPage(c.UserContext(), k.token, found)
}

// decide takes the decision of a person.
func (g *Gateway) decide(c *fiber.Ctx, k *call) error {
	shown, err := g.readPage(c, k)
	if err != nil {
		return err
	}
	answer := pageReply{g: g, c: c, k: k, page: shown}
	form, bad := pageFormOf(c)
	if bad != nil {
		return answer.say(bad)
	}
	answer.comment = form.comment
	if !sameSite(c) {
		return answer.say(&pageForeign)
	}
	decided := form.decision == "approve" || form.decision == "reject"
	seen, err := g.engine.OpenPageForm(k.token, form.nonce, form.bound())
	switch {
	case err != nil && shown.Hook.State == hookAnswered && decided:
		// Nothing can be decided any more: who sends the decision that counts again is told so, however old the form is.
	case err != nil && shown.Hook.State != hookOpen: // a form that was left open until it was too late
		return answer.say(pageOver(shown.Hook.State))
	case err != nil, form.confirmed && !shown.Confirm:
		return answer.say(&pageStale)
	case !decided:
		return answer.say(&pageUndecided)
	case shown.Confirm && !form.confirmed && shown.Hook.State == hookOpen && !shown.SelfAsked && seen == shown.Shown:
		return answer.confirm(form.decision == "approve")
	}
	_, err = g.engine.AnswerPage(c.UserContext(), engine.PageAnswer{
		Token: k.token, Approved: form.decision == "approve", Comment: form.comment, Shown: seen,
	})
	return answer.done(err)
}

// pageFormOf reads the form. What we did not put on the page is refused: nobody fills it in by hand.
func pageFormOf(c *fiber.Ctx) (f pageForm, bad *pageNotice) {
	header, body := &c.Request().Header, c.BodyRaw()
	kind, params, err := mime.ParseMediaType(string(header.ContentType()))
	charset, given := params["charset"]
	switch {
	case err != nil, kind != fiber.MIMEApplicationForm, given && !strings.EqualFold(charset, "utf-8"),
		len(header.PeekAll(fiber.HeaderContentEncoding)) > 0:
		return f, &pageNoForm
	case len(body) > maxPageForm:
		return f, &pageTooLong
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return f, &pageMalformed
	}
	for name, all := range values {
		if len(all) != 1 || !slices.Contains([]string{"nonce", "decision", "comment", "confirm"}, name) {
			return f, &pageMalformed
		}
	}
	return pageForm{
		nonce: values.Get("nonce"), decision: values.Get("decision"), confirmed: values.Get("confirm") == "yes",
		comment: strings.TrimSpace(strings.ReplaceAll(values.Get("comment"), "\r\n", "\n")),
	}, nil
}

// sameSite says that nothing tells of another site, or of a frame, as the place that a form was sent from. Browsers that say
// nothing are left to the nonce. There is no Origin to compare: pages send none.
func sameSite(c *fiber.Ctx) bool {
	site, dest := c.Get("Sec-Fetch-Site"), c.Get("Sec-Fetch-Dest")
	return (site == "" || site == "same-origin") && (dest == "" || dest == "document")
}

// pageAnswer is the notice for what the engine answered; nil for an error that is no answer of a page.
func pageAnswer(err error) *pageNotice {
	if closed, ok := errors.AsType[*engine.HookClosedError](err); ok {
		return pageClosedBy(closed)
	}
	if broken, ok := errors.AsType[*engine.SchemaError](err); ok {
		return pageBreaks(broken)
	}
	if invalid, ok := errors.AsType[*engine.InvalidError](err); ok {
		return pageInvalid(invalid)
	}
	if _, ok := errors.AsType[*engine.HookConflictError](err); ok {
		return &pageDecided
	}
	switch {
	case errors.Is(err, engine.ErrPageChanged):
		return &pageChanged
	case errors.Is(err, engine.ErrSelfApproval):
		return &pageOwn
	}
	return nil
}
