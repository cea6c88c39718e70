package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/engine"
)

// ErrDrainTimeout is the error of a Serve whose requests did not all end within Config.DrainTimeout.
var ErrDrainTimeout = errors.New("gateway: drain deadline passed with requests under way")

// Gateway serves the callback routes and the API on one listener. Make it with New.
type Gateway struct {
	config       Config
	engine       *engine.Engine
	publicHost   string
	authenticate authenticator
	fiber        *fiber.App
	limiter      *limiter
	overload     overload
	figures      *figures
	tracer       trace.Tracer // nil: nothing is traced

	inFlight slots
	waiters  places
	// drain is done from Drain on; parked requests watch it.
	drain     context.Context
	stopDrain context.CancelFunc
	refusing  atomic.Bool // the drain deadline passed
}

// New checks the configuration and makes a Gateway; it starts nothing. Errors: ErrNoEngine, ErrNoPublicURL, and one
// that names what is wrong with the public URL.
func New(cfg Config) (*Gateway, error) {
	if cfg.Engine == nil {
		return nil, ErrNoEngine
	}
	host, err := cfg.publicHost()
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	g := &Gateway{
		config: cfg, engine: cfg.Engine, publicHost: host,
		inFlight: slots{limit: int64(cfg.MaxInFlight)}, waiters: newPlaces(cfg.MaxWaiters, cfg.Limits.share(cfg.MaxWaiters)),
		limiter:  newLimiter(cfg, rand.Float64),
		overload: overload{wait: cfg.Engine.AcceptWait, limit: cfg.Limits.AcceptWait},
	}
	g.authenticate = g.byCredential
	g.figures, g.tracer = newFigures(g.routes()), tracerOf(cfg.Tracer)
	g.drain, g.stopDrain = context.WithCancel(context.Background())
	g.fiber = g.app()
	return g, nil
}

// Serve answers requests on the listener until the context ends, and may be called once. Then it drains: it accepts no
// more connections, answers parked requests at once, lets requests under way finish, and refuses with 503 whatever is
// still sent after Config.DrainTimeout. It closes the listener. Errors: ErrDrainTimeout, or the listener's.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- g.fiber.Listener(g.listener(ln)) }()

	select {
	case err := <-served:
		g.Drain()
		return err
	case <-ctx.Done():
	}

	g.Drain()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.DrainTimeout)
	defer cancel()
	err := g.fiber.ShutdownWithContext(deadline)
	g.refusing.Store(true)
	// A context that ended before the server took the listener leaves it to us.
	_ = ln.Close()
	if serveErr := <-served; serveErr != nil {
		return serveErr
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrDrainTimeout
	}
	return err
}

// Drain announces the end: readiness turns negative, parked requests are answered at once, and every response closes
// its connection. Requests are still served. It is idempotent, and Serve calls it when its context ends; call it
// earlier to give load balancers time to look away.
func (g *Gateway) Drain() { g.stopDrain() }

// Draining says whether Drain was called; Admin asks it.
func (g *Gateway) Draining() bool { return g.drain.Err() != nil }
