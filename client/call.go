package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// request is one call, the same on every try.
type request struct {
	method, path string
	query        url.Values
	key          string // Idempotency-Key
	body         []byte // nil: none
	form         bool   // the body is a form
	anonymous    bool   // the credential is in the path or the body, and the client's own stays at home
	bearer       string // in place of the client's own
	wait         time.Duration
}

// Answer is what every answer has.
type Answer struct {
	Verdict   Verdict         `json:"verdict"`
	RequestID string          `json:"-"` // X-Request-Id, for the log of the gateway
	Status    int             `json:"-"`
	Raw       json.RawMessage `json:"-"` // the body as it came
}

func (a *Answer) keep(from Answer) {
	a.RequestID, a.Status, a.Raw = from.RequestID, from.Status, from.Raw
}

// answer is a pointer to a struct with an Answer in it.
type answer interface{ keep(Answer) }

// do makes a call and reads the answer into one. Errors: *Problem, *UnreachableError, ErrNoGateway, that of the context.
func (c *Client) do(ctx context.Context, r request, into answer) error {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	for attempt := 1; ; attempt++ {
		got, err := c.try(ctx, target, r)
		if err == nil {
			return read(got, into)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w (tried %d times; the last: %w)", ctx.Err(), attempt, err)
		}
		if !worthwhile(err) || attempt == c.options.MaxAttempts {
			return told(err, attempt)
		}
		if err := c.options.Pause(ctx, c.pauseAfter(attempt, err)); err != nil {
			return err
		}
	}
}

// lost is a try without an answer.
type lost struct{ error }

// Unwrap is what happened.
func (l lost) Unwrap() error { return l.error }

// worthwhile says that the same call may go well later: what was lost, 408, 429 and 503. Of what else is refused nothing
// gets better by asking again.
func worthwhile(err error) bool {
	if _, ok := errors.AsType[lost](err); ok {
		return true
	}
	p, ok := errors.AsType[*Problem](err)
	return ok && retryable(p.Status)
}

func retryable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

func told(err error, attempts int) error {
	if l, ok := errors.AsType[lost](err); ok {
		return &UnreachableError{Attempts: attempts, Err: l.error}
	}
	return err
}

// pauseAfter is how long to wait after so many tries.
func (c *Client) pauseAfter(attempts int, err error) time.Duration {
	d := c.options.Backoff << min(attempts-1, 20)
	if d <= 0 || d > c.options.MaxBackoff {
		d = c.options.MaxBackoff
	}
	d = d/2 + time.Duration(c.options.Chance()*float64(d/2))
	if p, ok := errors.AsType[*Problem](err); ok && p.RetryAfter > d {
		// Not less than asked for, and not all at one moment; beyond what is patient here, the tries end sooner.
		d = p.RetryAfter + time.Duration(c.options.Chance()*float64(p.RetryAfter/4))
	}
	return min(d, c.options.MaxBackoff)
}

// try sends the request once and reads the whole answer.
func (c *Client) try(ctx context.Context, target string, r request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout+r.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return Answer{}, ErrURL
	}
	c.sign(req, r)
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, lost{withoutURL(err)}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, lost{err}
	}
	if len(body) > maxAnswer {
		return Answer{}, fmt.Errorf("%w: more than %d bytes", ErrNoGateway, maxAnswer)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return Answer{}, lostBehind(res.StatusCode, refusalOf(res, body))
	}
	return Answer{RequestID: res.Header.Get("X-Request-Id"), Status: res.StatusCode, Raw: body}, nil
}

// lostBehind takes the page of a proxy whose gateway is away for a lost answer.
func lostBehind(status int, err error) error {
	away := status == http.StatusBadGateway || status == http.StatusGatewayTimeout || retryable(status)
	if errors.Is(err, ErrNoGateway) && away {
		return lost{err}
	}
	return err
}

func (c *Client) sign(req *http.Request, r request) {
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.form {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	token := r.bearer
	if token == "" && !r.anonymous {
		token = c.options.Token
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
}

// withoutURL leaves out the URL, which may hold the token of a hook.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func read(got Answer, into answer) error {
	if err := json.Unmarshal(got.Raw, into); err != nil {
		return fmt.Errorf("%w: status %d without the body of one", ErrNoGateway, got.Status)
	}
	into.keep(got)
	return nil
}

// retryAfter reads the header, which gateways write in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// path joins the parts of a path; what callers name is escaped.
func path(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i%2 == 1 {
			p = url.PathEscape(p)
		}
		b.WriteString(p)
	}
	return b.String()
}

// waitFor is a wait as the parameters of a call, none for no wait.
func waitFor(wait time.Duration) url.Values {
	if wait <= 0 {
		return nil
	}
	return url.Values{"wait": {wait.String()}}
}
