package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/spec"
)

// Defaults of Config, and the fixed times of the surface.
const (
	DefaultMaxBody      = 256 << 10        // bytes of a request body
	DefaultMaxInFlight  = 1024             // requests in work at once
	DefaultMaxWaiters   = 1024             // requests parked by ?wait
	DefaultDrainTimeout = 15 * time.Second // from the end of Serve's context until requests are refused

	callTimeout = 2500 * time.Millisecond // one use case of the engine, as senders give up after 3 s
	maxWait     = 60 * time.Second        // longest ?wait
)

// ErrNoEngine and ErrNoPublicURL are the refusals of New for a Config that lacks what it must have.
var (
	ErrNoEngine    = errors.New("gateway needs an engine")
	ErrNoPublicURL = errors.New("gateway needs a public URL outside dev mode")
)

// Config is what a Gateway needs. Only Engine is required in dev mode; elsewhere PublicURL is as well.
type Config struct {
	Engine *engine.Engine
	// Logger gets one line per request: never a path, query, payload or token. The zero Logger discards them.
	Logger zerolog.Logger
	// PublicURL is the base under which the outside world reaches the gateway, with http or https and a host. It is
	// never taken from a request. Dev mode admits its host beside loopback ones.
	PublicURL string
	// Dev refuses requests whose Host is neither loopback nor the host of PublicURL with 403 forbidden, on every route,
	// against DNS rebinding.
	Dev bool
	// Access verifies the credentials of API callers. Nil: no credential is valid, and POST /v1/token is not there.
	Access *access.Verifier
	// HookVerifier verifies callbacks to hooks whose spec requires a signature. Nil: none is valid.
	HookVerifier HookVerifier
	// OpenAPI lets everybody call the routes under /v1, without a credential, in the namespace default; a credential that
	// is sent is verified. When it is false those routes answer 401 without one. Callbacks need no credential but their
	// token in either case, unless the hook's spec asks for more.
	OpenAPI bool
	// MaxBody bounds request bodies in bytes. Lowering it refuses retries of larger messages accepted before.
	MaxBody int
	// MaxInFlight bounds the requests in work at once; one more is answered 503.
	MaxInFlight int
	// MaxWaiters bounds the requests parked by ?wait; one more is answered with the present state at once. Half of them are
	// for namespaces that have less than Limits.NamespaceShare of them.
	MaxWaiters int
	// DrainTimeout bounds how long Serve finishes requests after its context ended. It should exceed 7.5 s, the time a
	// request may take to arrive and to be answered.
	DrainTimeout time.Duration
	// Ingress takes in signed webhooks, and Inbox has the messages among the dead letters. Without them there are no sources
	// and no such letters.
	Ingress *ingress.Receiver
	Inbox   *inbox.Inbox
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Limits say how much of what is served.
	Limits Limits
	// Namespaces are the rules of single namespaces; the others have none of their own.
	Namespaces map[spec.Namespace]NamespaceRules
	// Quota is an exact limit over several gateways; nil is none. When it fails, callbacks are served within Limits and
	// the API answers 503.
	Quota Quota
	// Tracer gets a span of each request whose route is known. Nil: none.
	Tracer trace.TracerProvider
	// Clock is what limits are counted by; default time.Now. Its values must keep the monotonic reading.
	Clock func() time.Time
}

func (c Config) withDefaults() Config {
	c.MaxBody = positive(c.MaxBody, DefaultMaxBody)
	c.MaxInFlight = positive(c.MaxInFlight, DefaultMaxInFlight)
	c.MaxWaiters = positive(c.MaxWaiters, DefaultMaxWaiters)
	c.DrainTimeout = positive(c.DrainTimeout, DefaultDrainTimeout)
	c.Limits = c.Limits.withDefaults()
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

func positive[T ~int | ~int64](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

// publicHost returns the host name of PublicURL, empty where dev mode has none.
func (c Config) publicHost() (string, error) {
	if c.PublicURL == "" {
		if c.Dev {
			return "", nil
		}
		return "", ErrNoPublicURL
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		// The parser's own text repeats the value.
		return "", errors.New("public URL: not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("public URL: scheme must be http or https, is %q", u.Scheme)
	case u.Hostname() == "":
		return "", errors.New("public URL: must name a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("public URL: must not hold a user, a query or a fragment")
	}
	return u.Hostname(), nil
}
