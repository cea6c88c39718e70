package gateway

import (
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// unmatched is the route of a request that no route took.
const unmatched = "unmatched"

// call is what the gateway knows of one request beside the request itself.
type call struct {
	id      string // request ID, always our own
	began   time.Time
	peer    netip.Addr
	route   string // pattern of the route, never the path
	verdict engine.Verdict
	people  bool // the route is for people

	event eventNote // of an event of a configured source

	fault    error // what made it a 5xx
	panicked string
	stack    []byte

	// From the path, decoded and checked; set where the route has them.
	run    spec.RunID
	hook   spec.HookID
	signal spec.SignalID
	update spec.UpdateID
	letter string // ID of a dead letter
	name   string // of a signal, an update, a query or a workflow
	token  string // as it stands in the path

	key    string         // of a keyed route: the ID of the signal or the update, empty when the caller named none
	handle *engine.Handle // the use cases of the caller's namespace

	who           access.Principal // of an authenticated caller
	authenticated bool
	refused       string         // why its credential is none, for the log
	of            spec.Namespace // that the request turned out to be about; empty where that is not known
	span          trace.Span     // nil before its route is known, and where nothing is traced
	barred        string         // why it may not go on, credential or not, for the counters
	trusted       bool           // authenticated, or with a token that is there: no answer is held against the address
	lookedUp      bool           // the answer took a look-up
	owes          bool           // for the look-up
	share         *share
	budgets       []budget
}

// callKey is where a request carries its call.
type callKey struct{}

func callOf(c *fiber.Ctx) *call {
	known, ok := c.Context().UserValue(callKey{}).(*call)
	if !ok {
		// Only a request that did not pass the outer handler lacks it, and there is no other way in.
		return &call{route: unmatched}
	}
	return known
}

// begin opens the record of a request.
func (g *Gateway) begin(ctx *fasthttp.RequestCtx) *call {
	return &call{
		id:    g.engine.NewID(),
		began: time.Now(),
		peer:  peerOf(ctx.RemoteAddr(), forwardedFor(&ctx.Request.Header), g.config.TrustedProxies),
		route: unmatched,
	}
}

func forwardedFor(h *fasthttp.RequestHeader) []string {
	var lines []string
	for _, line := range h.PeekAll("X-Forwarded-For") {
		lines = append(lines, string(line))
	}
	return lines
}

// stamp sets what every response carries.
func (k *call) stamp(res *fasthttp.Response) {
	res.Header.Set("X-Request-Id", k.id)
	res.Header.Set("Cache-Control", "no-store")
	res.Header.Set("X-Content-Type-Options", "nosniff")
	k.stampBudgets(res)
	if k.people {
		stampPage(res)
	}
}

// refuse makes the refusal the answer of the call.
func (k *call) refuse(res *fasthttp.Response, r *refusal) {
	k.verdict, k.fault = r.problem.verdict, r.fault
	if k.people {
		r.writePage(res)
		return
	}
	r.write(res, k.id)
}
