package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Times and sizes of connections.
const (
	readTimeout    = 5 * time.Second // a whole request, also one that drips
	writeTimeout   = 5 * time.Second
	idleTimeout    = 30 * time.Second
	maxConnections = 4096 // with the body limit it bounds the memory of bodies
	headerBytes    = 16 << 10
)

// settings are those of Fiber. Those that repeat a default are fixed here because a change of the default would break
// a promise: each has a test of what it promises.
func (g *Gateway) settings() fiber.Config {
	return fiber.Config{
		Immutable:     true, // strings of a request would otherwise change under whoever keeps them
		CaseSensitive: true, // tokens and IDs differ by case
		StrictRouting: true, // a token with a slash behind it is another path
		// A decoded path would make %2F a separator; IDs are decoded once, after routing, and tokens never.
		UnescapePath: false,
		ETag:         false,
		// Streaming would switch the body limit off.
		StreamRequestBody: false,
		Prefork:           false,
		// One byte more than allowed: who is just over the limit is refused by the handler and keeps the connection.
		BodyLimit:                    g.config.MaxBody + 1,
		Concurrency:                  maxConnections,
		ReadBufferSize:               headerBytes,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		Network:                      "tcp",
		ErrorHandler:                 answerError,
		DisableStartupMessage:        true,
	}
}

// app makes Fiber's application and sets what its configuration does not reach.
func (g *Gateway) app() *fiber.App {
	app := fiber.New(g.settings())
	g.register(app)

	server := app.Server()
	server.SecureErrorLogMessage = true // errors of parsing would repeat the header block
	server.CloseOnShutdown = true
	server.ExpectHandler = g.answerExpect
	server.ErrorHandler = g.answerUnparsed
	server.Handler = g.outermost(app.Handler())
	return app
}

// outermost is around everything that handles a parsed request, Fiber included: it recovers panics, refuses what must
// not reach the router, stamps the response and logs the request.
func (g *Gateway) outermost(router fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		k := g.begin(ctx)
		ctx.SetUserValue(callKey{}, k)
		defer g.finish(ctx, k)
		defer recoverInto(ctx, k)

		if r := g.admit(ctx); r != nil {
			k.refuse(&ctx.Response, r)
			ctx.SetConnectionClose()
			return
		}
		router(ctx)
		if g.Draining() {
			ctx.SetConnectionClose()
		}
	}
}

// admit refuses what must not reach the router. The connection of a refused request is closed: what follows on it
// cannot be trusted to be where it seems to be.
func (g *Gateway) admit(ctx *fasthttp.RequestCtx) *refusal {
	if g.refusing.Load() {
		return refuse(unavailable)
	}
	if r := guard(&ctx.Request.Header); r != nil {
		return r
	}
	return g.localHost(ctx)
}

// recoverInto makes a panic the answer 500 and keeps what a developer needs of it.
func recoverInto(ctx *fasthttp.RequestCtx, k *call) {
	value := recover()
	if value == nil {
		return
	}
	ctx.Response.Reset()
	k.refuse(&ctx.Response, refuse(internal))
	k.panicked, k.stack = panicText(value), debug.Stack()
}

// panicText is the runtime's own sentence, which holds types and indexes only, or else the type of the value: its text
// may hold what the caller sent.
func panicText(value any) string {
	if e, ok := value.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("%T", value)
}

// finish stamps and logs a request that has its answer.
func (g *Gateway) finish(ctx *fasthttp.RequestCtx, k *call) {
	g.charge(&ctx.Response, k)
	k.stamp(&ctx.Response)
	g.figures.answered(k, string(ctx.Method()), ctx.Response.StatusCode())
	k.endSpan(ctx.Response.StatusCode())
	g.logCall(k, string(ctx.Method()), ctx.Response.StatusCode())
}

// charge holds an answer that says that a stranger was wrong against its address. One that has been wrong too often is not
// told so any more, unless it took a look-up to find out: that was paid for.
func (g *Gateway) charge(res *fasthttp.Response, k *call) {
	switch res.StatusCode() {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound:
	default:
		return
	}
	if k.owes { // also of who holds a token and guesses the credential that its hook wants beside it
		g.limiter.lookedUpInVain(k.peer)
		return
	}
	if k.trusted {
		return
	}
	if r := g.limiter.failed(k.peer); r != nil && !k.lookedUp {
		res.Header.Del("WWW-Authenticate")
		k.refuse(res, r)
	}
}

// answerError is Fiber's error handler: what a handler returned becomes the response, and so do Fiber's own refusals,
// whose text holds the path and is never used.
func answerError(c *fiber.Ctx, err error) error {
	res := c.Response()
	callOf(c).refuse(res, refusalOf(err))
	return nil
}

func refusalOf(err error) *refusal {
	if e, ok := errors.AsType[*fiber.Error](err); ok {
		switch e.Code {
		case http.StatusNotFound:
			return refuse(notFound)
		case http.StatusMethodNotAllowed:
			return refuse(methodNotAllowed)
		}
	}
	return translate(err)
}

// answerUnparsed answers what never became a request. The server closes the connection after it.
func (g *Gateway) answerUnparsed(ctx *fasthttp.RequestCtx, err error) {
	k := g.begin(ctx)
	p := unparsedProblem(err)
	k.refuse(&ctx.Response, refuse(p))
	if p == payloadTooLarge {
		lingerOn(ctx)
	}
	g.charge(&ctx.Response, k)
	k.stamp(&ctx.Response)
	// The header may be half read; its method is not to be believed.
	g.figures.answered(k, "", ctx.Response.StatusCode())
	g.logCall(k, "", ctx.Response.StatusCode())
}

func unparsedProblem(err error) *problem {
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); ok {
		return headersTooLarge
	}
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		return payloadTooLarge
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return requestTimeout
	}
	return malformedRequest
}

// answerExpect refuses Expect: 100-continue before the body is read: to promise a look at it would be wrong, since the
// limits on it are checked as it arrives. The server closes the connection and does not call the handler.
func (g *Gateway) answerExpect(ctx *fasthttp.RequestCtx) int {
	k := g.begin(ctx)
	r := guard(&ctx.Request.Header)
	if r == nil {
		r = refuse(expectationFailed)
	}
	k.refuse(&ctx.Response, r)
	g.finish(ctx, k)
	return r.problem.status
}
