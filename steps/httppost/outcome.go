package httppost

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// judge says what a status means: nil is success.
func (p *Poster) judge(a *post, r *http.Response) error {
	s := r.StatusCode
	if slices.Contains(a.in.Statuses, s) || len(a.in.Statuses) == 0 && s/100 == 2 {
		return nil
	}
	e := &Error{Host: a.host, Status: s}
	e.Code, e.Rule = meaning(s)
	err := marked(e)
	if final[e.Code] {
		return err
	}
	if pause := retryAfter(r.Header.Values("Retry-After"), p.config.Now()); pause > 0 {
		err = engine.RetryAfter(err, min(pause, p.config.MaxRetryAfter))
	}
	return err
}

// meaning is the code of a status that is no success.
func meaning(status int) (code, rule string) {
	switch {
	case status == http.StatusRequestTimeout:
		return CodeSlow, "the request came too slowly"
	case status == http.StatusTooEarly:
		return CodeEarly, "the request came too early"
	case status == http.StatusTooManyRequests:
		return CodeThrottled, "too many requests"
	case status == http.StatusGone:
		return CodeGone, "the endpoint wants no more requests"
	case status/100 == 3:
		return CodeRedirect, "redirects are not followed"
	case status/100 == 4:
		return CodeRejected, "the endpoint refuses the request"
	case status/100 == 5:
		return CodeServer, "the endpoint has trouble"
	default:
		return CodeUnexpected, "the status is not an expected one"
	}
}

// maxSeconds is above every pause that is kept, and far from overflow.
const maxSeconds = 1 << 31

// retryAfter reads the header Retry-After, in seconds or as a date. 0 is no usable one: absent, more than one, malformed,
// or in the past.
func retryAfter(values []string, now time.Time) time.Duration {
	if len(values) != 1 {
		return 0
	}
	v := strings.TrimSpace(values[0])
	if v != "" && strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil || n > maxSeconds { // out of range, as it is all digits
			n = maxSeconds
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// errAttemptTime is why an attempt's own time-out ends it.
var errAttemptTime = errors.New("the attempt's time is over")

// trouble names what kept a request from being answered. The errors of package net/http and crypto/tls may repeat what the
// other side sent, so none of their words are kept.
func trouble(ctx context.Context, host string, err error) error {
	if ours, ok := errors.AsType[*Error](err); ok {
		return marked(ours)
	}
	if ctx.Err() != nil {
		return ended(ctx, host)
	}
	e := &Error{Code: CodeNetwork, Host: host}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && !dns.IsTimeout:
		e.Code, e.Rule = CodeDNS, "its name has no address"
		if !dns.IsNotFound {
			e.Rule = "its name was not resolved"
		}
	case isTLS(err):
		e.Code, e.Rule = CodeTLS, "no TLS connection that can be trusted"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Code, e.Rule, e.cause = CodeTimeout, "no answer in time", context.DeadlineExceeded
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Rule = "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Rule = "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		e.Rule = "there is no route"
	default:
		e.Rule = "the connection broke, or what came was not HTTP"
	}
	return marked(e)
}

// ended says why a context is over.
func ended(ctx context.Context, host string) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errAttemptTime), errors.Is(cause, context.DeadlineExceeded):
		return marked(&Error{Code: CodeTimeout, Host: host, Rule: "no answer in time", cause: context.DeadlineExceeded})
	case errors.Is(cause, ErrClosed):
		return marked(&Error{Code: CodeCancelled, Host: host, Rule: "the poster was closed", cause: ErrClosed})
	default:
		return marked(&Error{Code: CodeCancelled, Host: host, Rule: "the attempt was ended", cause: cause})
	}
}

// isTLS reports a handshake that failed for what was said in it, not for a connection that broke.
func isTLS(err error) bool {
	_, handshake := errors.AsType[*handshakeError](err)
	timeout, ok := errors.AsType[net.Error](err)
	return handshake && (!ok || !timeout.Timeout()) && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET)
}
