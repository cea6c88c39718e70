package gateway

import (
	"math"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
	"github.com/flowgate-go/flowgate/spec"
)

// listHooks lists the hooks of all runs or, where the path names one, of one run that must exist; newest first.
func (g *Gateway) listHooks(c *fiber.Ctx, k *call) error {
	q, err := queryOf(c, "state", "label", "older_than", "cursor", "limit")
	if err != nil {
		return err
	}
	want := engine.HookQuery{RunID: k.run}
	if want.State, err = q.text("state"); err != nil {
		return err
	}
	if want.Labels, err = q.labels(); err != nil {
		return err
	}
	if want.OlderThan, err = q.span("older_than", time.Duration(math.MaxInt64)); err != nil {
		return err
	}
	if want.Cursor, want.Limit, err = q.page(); err != nil {
		return err
	}
	page, err := k.handle.ListHooks(c.UserContext(), want)
	if err != nil {
		return err
	}
	return k.show(c, viewPage(page, viewHook))
}

// showHook shows a hook: where it stands, never its token.
func (g *Gateway) showHook(c *fiber.Ctx, k *call) error {
	hook, err := k.handle.Hook(c.UserContext(), k.run, k.hook)
	if err != nil {
		return err
	}
	return k.show(c, viewHook(hook))
}

// resumeHook answers a hook by its IDs, internal ones as well.
func (g *Gateway) resumeHook(c *fiber.Ctx, k *call) error {
	payload, err := bodyOf(c)
	if err != nil {
		return err
	}
	r, err := k.handle.ResumeHook(c.UserContext(), engine.HookRequest{
		RunID: k.run, HookID: k.hook, Payload: payload, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return err
	}
	return k.accepted(c, r.Verdict, fullReceipt(r))
}

// disposeHook withdraws a hook by its IDs.
func (g *Gateway) disposeHook(c *fiber.Ctx, k *call) error {
	if err := noFields(c); err != nil {
		return err
	}
	r, err := k.handle.DisposeHook(c.UserContext(), engine.HookRequest{
		RunID: k.run, HookID: k.hook, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return err
	}
	return k.disposed(c, r.Verdict, fullReceipt(r))
}

// disposeBody is the body of a withdrawal by token.
type disposeBody struct {
	Token string `json:"token"`
}

// disposeByTokenInBody withdraws a hook of the caller's namespace by its token. The token is in the body, where logs
// of proxies do not look.
func (g *Gateway) disposeByTokenInBody(c *fiber.Ctx, k *call) error {
	fields, err := fieldsOf(c, openapi.Members(disposeBody{})...)
	if err != nil {
		return err
	}
	token, given, err := fields.text("token")
	if err != nil {
		return err
	}
	if !given {
		return &spec.InvalidError{Field: "token", Rule: "must be given"}
	}
	r, err := k.handle.DisposeHookByToken(c.UserContext(), engine.TokenRequest{
		Token: token, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return err
	}
	return k.disposed(c, r.Verdict, fullReceipt(r))
}

// mintedToken is the only body that shows a token.
type mintedToken struct {
	Token     string         `json:"token"`
	URL       string         `json:"url"`
	TokenID   string         `json:"token_id"`
	ExpiresAt *stamp         `json:"expires_at,omitempty"`
	Verdict   engine.Verdict `json:"verdict"`
}

// mintToken shows the link of an open hook, the same one on every call.
func (g *Gateway) mintToken(c *fiber.Ctx, k *call) error {
	if err := noFields(c); err != nil {
		return err
	}
	link, err := k.handle.HookLink(c.UserContext(), k.run, k.hook)
	if err != nil {
		return err
	}
	g.limiter.remember(link.Token.Reveal(), k.who.Namespace)
	k.verdict = engine.VerdictAccepted
	return writeJSON(c, http.StatusOK, mintedToken{
		Token: link.Token.Reveal(), URL: link.URL.Reveal(), TokenID: link.TokenID,
		ExpiresAt: stampOf(link.ExpiresAt), Verdict: k.verdict,
	})
}
