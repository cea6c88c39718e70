package gateway

import (
	"context"
	"net/url"
	"regexp"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// handler serves one route. What it returns is translated by the one table of errors.
type handler func(c *fiber.Ctx, k *call) error

// route is one method of one resource. The pattern is also what logs call the request.
type route struct {
	method  string
	pattern string
	needs   access.Scope // of an API caller; empty where the credential is in the path or the body
	also    access.Scope // another one; empty where one is enough
	keyed   bool         // whether an idempotency key means something
	waits   bool         // whether a keyed route takes ?wait
	people  bool         // whether it is for people, who get HTML whatever happens
	serve   handler
}

func (g *Gateway) routes() []route {
	return []route{
		{method: "POST", pattern: "/callbacks/flow/hooks/{token}", serve: g.resumeByToken},
		{method: "DELETE", pattern: "/callbacks/flow/hooks/{token}", serve: g.disposeByToken},
		{method: "POST", pattern: "/callbacks/flow/hooks", serve: g.resumeByBearer},

		{method: "GET", pattern: openAPIPattern, serve: g.showDescription},

		{method: "GET", pattern: pagePattern, people: true, serve: g.showPage},
		{method: "POST", pattern: pagePattern, people: true, serve: g.decide},
		{method: "GET", pattern: stylePattern, people: true, serve: g.showStyle},

		{method: "POST", pattern: exchangePattern, serve: g.exchangeToken},
		{method: "POST", pattern: ingressPattern, serve: g.receiveEvent},

		{method: "POST", pattern: "/v1/runs", needs: access.RunsStart, serve: g.startRun},
		{method: "GET", pattern: "/v1/runs", needs: access.RunsRead, serve: g.listRuns},
		{method: "GET", pattern: "/v1/runs/{run}", needs: access.RunsRead, serve: g.showRun},
		{method: "GET", pattern: "/v1/runs/{run}/history", needs: access.RunsRead, serve: g.showHistory},
		{method: "GET", pattern: "/v1/runs/{run}/audit", needs: access.AuditRead, serve: g.listAudit},
		{method: "GET", pattern: "/v1/runs/{run}/explain", needs: access.RunsRead, serve: g.explainRun},
		{method: "POST", pattern: "/v1/runs/{run}/cancel", needs: access.RunsCancel, serve: g.cancelRun},
		{method: "POST", pattern: "/v1/runs/{run}/terminate", needs: access.RunsCancel, serve: g.terminateRun},
		{method: "POST", pattern: "/v1/runs/{run}/retry", needs: access.RunsCancel, serve: g.retryRun},

		{method: "POST", pattern: "/v1/runs/{run}/signals/{name}", needs: access.SignalsSend, keyed: true, serve: g.sendSignal},
		{method: "GET", pattern: "/v1/runs/{run}/signals/{signal}", needs: access.RunsRead, serve: g.showSignal},

		{
			method: "POST", pattern: "/v1/runs/{run}/updates/{name}",
			needs: access.SignalsSend, keyed: true, waits: true, serve: g.sendUpdate,
		},
		{method: "GET", pattern: "/v1/runs/{run}/updates/{update}", needs: access.RunsRead, serve: g.showUpdate},

		{method: "GET", pattern: "/v1/runs/{run}/queries/{name}", needs: access.RunsRead, serve: g.askQuery},
		{method: "POST", pattern: "/v1/runs/{run}/queries/{name}", needs: access.RunsRead, serve: g.askQueryWith},

		{method: "GET", pattern: "/v1/hooks", needs: access.RunsRead, serve: g.listHooks},
		{method: "POST", pattern: "/v1/hooks/dispose", needs: access.HooksDispose, serve: g.disposeByTokenInBody},
		{method: "GET", pattern: "/v1/runs/{run}/hooks", needs: access.RunsRead, serve: g.listHooks},
		{method: "GET", pattern: "/v1/runs/{run}/hooks/{hook}", needs: access.RunsRead, serve: g.showHook},
		{method: "POST", pattern: "/v1/runs/{run}/hooks/{hook}/resume", needs: access.HooksResume, serve: g.resumeHook},
		{method: "POST", pattern: "/v1/runs/{run}/hooks/{hook}/dispose", needs: access.HooksDispose, serve: g.disposeHook},
		{method: "POST", pattern: "/v1/runs/{run}/hooks/{hook}/token", needs: access.TokensMint, serve: g.mintToken},
		{method: "POST", pattern: "/v1/runs/{run}/hooks/{hook}/pages", needs: access.TokensMint, serve: g.mintPage},

		{method: "GET", pattern: "/v1/dead-letters", needs: access.RunsRead, serve: g.listLetters},
		{method: "GET", pattern: "/v1/dead-letters/{letter}", needs: access.RunsRead, serve: g.showLetter},
		{method: "POST", pattern: "/v1/dead-letters/{letter}/replay", needs: access.RunsCancel, serve: g.replayLetter},
		{method: "POST", pattern: "/v1/dead-letters/{letter}/discard", needs: access.RunsCancel, serve: g.discardLetter},

		{method: "GET", pattern: "/v1/audit", needs: access.AuditRead, serve: g.listAudit},

		{method: "GET", pattern: "/v1/workflows", needs: access.RunsRead, serve: g.listWorkflows},
		{method: "GET", pattern: "/v1/workflows/{workflow}/interface", needs: access.RunsRead, serve: g.showInterface},
		{
			method: "POST", pattern: "/v1/workflows/{workflow}/signal-with-start",
			needs: access.RunsStart, also: access.SignalsSend, keyed: true, serve: g.signalWithStart,
		},
		{
			method: "POST", pattern: "/v1/workflows/{workflow}/update-with-start",
			needs: access.RunsStart, also: access.SignalsSend, keyed: true, waits: true, serve: g.updateWithStart,
		},
	}
}

// ingressPattern is the route of events of configured sources.
const ingressPattern = "/ingress/{source}"

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (g *Gateway) register(app *fiber.App) {
	for _, r := range g.routes() {
		app.Add(r.method, placeholder.ReplaceAllString(r.pattern, ":$1"), g.enter(r))
		if r.method == fiber.MethodGet {
			app.Head(placeholder.ReplaceAllString(r.pattern, ":$1"), g.enter(r))
		}
	}
}

// enter is the order of checks of every route: shape of path and headers, overload, authentication and scope. The
// handler goes on with the body and the use case. Its context is the call's own: fasthttp's never ends when a caller
// leaves, and ends when a shutdown starts, which must not stop what is being committed.
func (g *Gateway) enter(r route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		k := callOf(c)
		k.route, k.people = r.pattern, r.people
		if err := k.shape(c, r); err != nil {
			return err
		}
		if err := g.enterWork(r); err != nil {
			return err
		}
		defer g.inFlight.give()
		defer func() { k.share.give() }()
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		c.SetUserContext(ctx)
		err := g.identify(c, k, r)
		ctx = g.beginSpan(ctx, c, k, r) // also of a caller that is refused, who is a stranger then
		c.SetUserContext(ctx)
		if err != nil {
			return err
		}
		if k.authenticated {
			if err := g.limiter.caller(ctx, k, k.who); err != nil {
				return err
			}
		}
		if g.engine.KeepsAudit() {
			c.SetUserContext(engine.WithTrail(ctx, k.trail(c, r)))
		}
		return r.serve(c, k)
	}
}

// enterWork takes a slot, or refuses a request because too much is under way. The last slots are for callbacks.
func (g *Gateway) enterWork(r route) error {
	callback, reserve := r.needs == "" && r.pattern != exchangePattern && r.pattern != openAPIPattern, g.inFlight.limit/10
	if callback {
		reserve = 0
	}
	if g.overload.sheds(callback) {
		g.limiter.refused.add(limitOverload)
		return &refusal{problem: unavailable, retry: g.limiter.retryAfter(0)}
	}
	if !g.inFlight.takeBut(reserve) {
		g.limiter.refused.add(limitInFlight)
		return &refusal{problem: unavailable, retry: g.limiter.retryAfter(0)}
	}
	return nil
}

// shape reads what the route has in its path and checks its form.
func (k *call) shape(c *fiber.Ctx, r route) error {
	for _, match := range placeholder.FindAllStringSubmatch(r.pattern, -1) {
		if err := k.setPart(match[1], c.Params(match[1])); err != nil {
			return err
		}
	}
	if !r.keyed {
		return nil
	}
	var err error
	if r.waits {
		k.key, err = signalKey(c, "wait")
	} else {
		k.key, err = signalKey(c)
	}
	return err
}

func (k *call) setPart(part, raw string) error {
	if part == "token" || part == "page" {
		// As it stands: a token needs no escapes, and an escaped one is another token.
		k.token = raw
		return nil
	}
	value, err := url.PathUnescape(raw)
	if err != nil {
		return &spec.InvalidError{Field: partField(part), Rule: "must be percent-encoded UTF-8"}
	}
	switch part {
	case "run":
		k.run = spec.RunID(value)
	case "hook":
		k.hook = spec.HookID(value)
	case "signal":
		k.signal = spec.SignalID(value)
	case "letter":
		k.letter = value
	case "update":
		k.update = spec.UpdateID(value)
	default:
		k.name = value
	}
	return spec.CheckName(partField(part), value)
}

// partField is how a violation calls a part of the path: as request bodies and receipts do.
func partField(part string) string {
	switch part {
	case "run", "hook", "signal", "letter", "update":
		return part + "_id"
	}
	return part
}
