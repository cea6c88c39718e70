package httppost

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Defaults and limits of a Config.
const (
	DefaultTimeout       = 15 * time.Second
	DefaultMaxTimeout    = time.Minute
	LimitTimeout         = 10 * time.Minute // of MaxTimeout
	DefaultCaptureBytes  = 16 << 10
	LimitCaptureBytes    = 32 << 10 // so that an output fits into a payload however it is escaped
	DefaultMaxRetryAfter = time.Hour
	DefaultConcurrency   = 64
	LimitConcurrency     = 10_000
	DefaultUserAgent     = "Flowgate"
)

// Resolver finds the addresses of a host name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// HookURL makes the link of a hook of the step's run, in the form of a method of engine.Step. An error that is
// engine.ErrUnavailable may pass; any other is final.
type HookURL func(step *engine.Step, ctx context.Context, hookID string) (string, error)

// Config is what a deployment allows the step to do. The zero Config posts to the port 443 of every public host, without
// credentials. It prints, and encodes as JSON, without its secrets.
type Config struct {
	// Hosts are the hosts that an input's url may name: exact, "*.example.com" for what lies below example.com, or "*".
	// Empty is every host whose addresses are public. Endpoints are not bound by it.
	Hosts []string
	// NamedOnly refuses every url in an input: only Endpoints are posted to.
	NamedOnly bool
	// Ports that may be posted to. Empty is 443, and 80 if AllowHTTP is set.
	Ports []uint16
	// AllowHTTP allows http beside https. Credentials and links go over http to InternalHosts and Endpoints only.
	AllowHTTP bool
	// InternalNetworks are addresses that may be connected to although they are not public.
	InternalNetworks []netip.Prefix
	// InternalHosts, in the form of Hosts but for "*", may have loopback, private and shared addresses. Whoever rules their
	// DNS rules where they lead.
	InternalHosts []string

	// Endpoints, Credentials and Signing hold what an input names. See Scope for who may use them where.
	Endpoints   map[string]Endpoint
	Credentials map[string]Credential
	Signing     map[string]Signing

	// Timeout of an attempt whose input has none, and the longest that an input may ask for.
	Timeout, MaxTimeout time.Duration
	// CaptureBytes is how much of a response's body is kept, and the most that an input may ask for.
	CaptureBytes int
	// MaxRetryAfter is the longest pause that a response can ask for. Longer ones are cut to it.
	MaxRetryAfter time.Duration
	// Concurrency is how many attempts, and so connections, there are at a time. Others wait within their own time.
	Concurrency int
	// UserAgent is the header User-Agent.
	UserAgent string

	// RootCAs are trusted instead of the system's.
	RootCAs *x509.CertPool `json:"-"`
	// Resolver finds addresses; nil is the system's.
	Resolver Resolver `json:"-"`
	// HookURL makes the links that inputs ask for; nil refuses such inputs.
	HookURL HookURL `json:"-"`
	// Now is the clock of timestamps and of Retry-After; nil is time.Now.
	Now func() time.Time `json:"-"`
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.MaxTimeout = orDefault(c.MaxTimeout, max(DefaultMaxTimeout, c.Timeout))
	c.CaptureBytes = orDefault(c.CaptureBytes, DefaultCaptureBytes)
	c.MaxRetryAfter = orDefault(c.MaxRetryAfter, DefaultMaxRetryAfter)
	c.Concurrency = orDefault(c.Concurrency, DefaultConcurrency)
	c.UserAgent = orDefault(c.UserAgent, DefaultUserAgent)
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.Ports) == 0 {
		c.Ports = []uint16{443}
		if c.AllowHTTP {
			c.Ports = append(c.Ports, 80)
		}
	}
	return c
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// check refuses what cannot be meant. It runs on a Config with defaults.
func (c Config) check() error {
	switch {
	case c.Timeout < 0 || c.Timeout > c.MaxTimeout:
		return invalid("Timeout", "must be from 0 to MaxTimeout")
	case c.MaxTimeout < 0 || c.MaxTimeout > LimitTimeout:
		return invalid("MaxTimeout", fmt.Sprintf("must be from 0 to %s", LimitTimeout))
	case c.CaptureBytes < 0 || c.CaptureBytes > LimitCaptureBytes:
		return invalid("CaptureBytes", fmt.Sprintf("must be from 0 to %d", LimitCaptureBytes))
	case c.MaxRetryAfter < 0 || c.MaxRetryAfter > spec.MaxRetryDelay:
		return invalid("MaxRetryAfter", fmt.Sprintf("must be from 0 to %s", spec.MaxRetryDelay))
	case c.Concurrency < 0 || c.Concurrency > LimitConcurrency:
		return invalid("Concurrency", fmt.Sprintf("must be from 0 to %d", LimitConcurrency))
	case !isHeaderValue(c.UserAgent) || len(c.UserAgent) > maxHeaderValue:
		return invalid("UserAgent", "must be "+headerValueRule)
	}
	for i, p := range c.InternalNetworks {
		if !p.IsValid() || p.Addr().Is4In6() {
			return invalid(fmt.Sprintf("InternalNetworks/%d", i), "must be a CIDR such as 10.0.0.0/8")
		}
	}
	for i, p := range c.InternalHosts {
		if strings.TrimSpace(p) == anyHost {
			return invalid(fmt.Sprintf("InternalHosts/%d", i), "must name hosts: every host would allow every name to lead inside")
		}
	}
	return nil
}

// invalid says which field breaks which rule.
func invalid(field, rule string) *spec.InvalidError {
	return &spec.InvalidError{Field: field, Rule: rule}
}
