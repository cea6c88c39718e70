package httppost

import (
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
)

// Codes of the step's failures, for retry policies and workflow code. An input that is refused has engine.CodeInput.
const (
	// Final: no attempt follows.
	CodeTarget     = "target"          // the rules of this deployment refuse the URL or the address
	CodeLink       = "link"            // the link of a hook cannot be made, such as when it was answered already
	CodeRedirect   = "http_3xx"        // a redirect, which is not followed
	CodeRejected   = "http_4xx"        // refused by the endpoint, but for the statuses below
	CodeGone       = "http_410"        // the endpoint wants no more
	CodeUnexpected = "http_unexpected" // a status that the input does not expect

	// Retryable: the retry policy says whether an attempt follows.
	CodeSlow         = "http_408"
	CodeEarly        = "http_425"
	CodeThrottled    = "http_429"
	CodeServer       = "http_5xx"
	CodeTimeout      = "timeout"        // the time of the attempt is over
	CodeNetwork      = "network"        // no connection, a broken one, or no HTTP
	CodeTLS          = "tls"            // the certificate or the handshake is not good
	CodeDNS          = "dns"            // the name has no address
	CodeUnconfigured = "not_configured" // this process knows no endpoint, credential or key of that name for this run
	CodeUnavailable  = "unavailable"    // the engine cannot make a link now
	CodeCancelled    = "cancelled"      // the attempt was ended from outside, see context.Cause
)

// ErrClosed ends attempts whose Poster was closed.
var ErrClosed = errors.New("the poster is closed")

// Error says why an attempt failed. It names the host, a status or a rule; never the rest of the URL, a secret, a body.
type Error struct {
	Code   string // one of the codes of this package
	Host   string // empty if the attempt did not come to one
	Status int    // of the response; 0 if there was none
	Rule   string // what was broken, in words
	cause  error  // a sentinel, or nil
}

// Error implements error.
func (e *Error) Error() string {
	if e.Host == "" {
		return Name + ": " + e.Rule
	}
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s answered %d: %s", Name, e.Host, e.Status, e.Rule)
	}
	return fmt.Sprintf("%s: %s: %s", Name, e.Host, e.Rule)
}

// Unwrap returns what ended the attempt: context.DeadlineExceeded, the cause of the context, ErrClosed, an error of links.
func (e *Error) Unwrap() error { return e.cause }

// final lists the codes after which nothing is tried again.
var final = map[string]bool{
	CodeTarget: true, CodeLink: true, CodeRedirect: true, CodeRejected: true, CodeGone: true, CodeUnexpected: true,
}

// marked tells the engine what an error means.
func marked(e *Error) error {
	err := engine.Coded(e.Code, e)
	if final[e.Code] {
		return engine.NonRetryable(err)
	}
	return err
}

// badInput marks an error of the input.
func badInput(err error) error { return engine.NonRetryable(engine.Coded(engine.CodeInput, err)) }

// refused says that an address is out of bounds.
func refused(host, rule string) *Error {
	return &Error{Code: CodeTarget, Host: host, Rule: "its address is " + rule + ", which is not configured"}
}
