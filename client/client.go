package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxAttempts = 8                      // tries of one call
	DefaultBackoff     = 100 * time.Millisecond // before the second try; it doubles with each
	DefaultMaxBackoff  = 10 * time.Second       // between two tries, also where a gateway asks for more
	DefaultTimeout     = 10 * time.Second       // of one try, beside what it asks the gateway to wait
)

// maxAnswer bounds an answer that is read, in bytes. A page of 200 histories' events with payloads of 256 KiB fits.
const maxAnswer = 64 << 20

// ErrURL refuses the URL of New.
var ErrURL = errors.New("the URL of a gateway must be http or https and have a host, and no user, query or fragment")

// Options are what New may be told beside the URL. The zero value is good for an open API.
type Options struct {
	// Token is the credential of the API. It goes to the gateway only, never along a redirect and never into an error.
	Token string
	// HTTPClient makes the requests; its redirects are not followed, whatever it says. Nil: a client of its own.
	HTTPClient *http.Client
	// MaxAttempts bounds the tries of one call; 1 means that nothing is tried again.
	MaxAttempts int
	// Backoff is the longest pause before the second try, and doubles up to MaxBackoff. Pauses are random between half of it
	// and all of it. A gateway that names a time (Retry-After) is given it, within MaxBackoff.
	Backoff, MaxBackoff time.Duration
	// Timeout bounds one try, so that an answer that is lost does not take all the time of the call.
	Timeout time.Duration

	// Clock is for the IDs that are made here, default time.Now; Random for them too, default crypto/rand.Reader.
	Clock  func() time.Time
	Random io.Reader
	// Chance is at least 0 and below 1 and spreads pauses; default math/rand.
	Chance func() float64
	// Pause waits between tries and ends early with the context; default a timer.
	Pause func(context.Context, time.Duration) error
}

// Client calls one gateway as one caller. It is safe for concurrent use. Make it with New.
type Client struct {
	base    string
	options Options
	http    *http.Client
}

// New makes a client for the gateway of a URL, such as "https://gate.example.com"; a path in it stands before those of the
// routes. It sends nothing. Error: ErrURL.
func New(gateway string, o Options) (*Client, error) {
	u, err := url.Parse(gateway)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, ErrURL // the parser's own words repeat the value
	}
	c := &Client{base: strings.TrimSuffix(u.String(), "/"), options: o.withDefaults(), http: &http.Client{}}
	if o.HTTPClient != nil {
		own := *o.HTTPClient
		c.http = &own
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

func (o Options) withDefaults() Options {
	o.MaxAttempts = positive(o.MaxAttempts, DefaultMaxAttempts)
	o.Backoff = positive(o.Backoff, DefaultBackoff)
	o.MaxBackoff = positive(o.MaxBackoff, DefaultMaxBackoff)
	o.Timeout = positive(o.Timeout, DefaultTimeout)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Chance == nil {
		o.Chance = mathrand.Float64
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	return o
}

func positive[T ~int | ~int64](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
