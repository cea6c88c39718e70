package httppost

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Limits of headers, in an input and in an output.
const (
	maxHeaders      = 32
	maxHeaderName   = 64
	maxHeaderValue  = 1024
	headerValueRule = "at most 1024 bytes of printable ASCII without a space at either end"
)

// ours are the headers that the step, or the HTTP connection, sets itself.
var ours = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "http2-settings",
	"idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "forwarded",
	"proxy", // a CGI receiver takes it for its own configuration
	"x-real-ip",
}

// rewriting are headers by which some receivers, and what stands before them, take a request for one to another path, host
// or method than was sent: an input must not lead an endpoint of the configuration elsewhere.
var rewriting = []string{
	"x-host", "x-http-method", "x-http-method-override", "x-method-override", "x-original-host", "x-original-url",
	"x-rewrite-url",
}

// secretWords are parts of the names of headers that carry secrets.
var secretWords = []string{
	"auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
}

// isOurs reports a header that nobody else sets.
func isOurs(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(ours, name) || slices.Contains(rewriting, name) || strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "proxy-") ||
		strings.HasPrefix(name, "x-forwarded-")
}

// isSecret reports a header whose value is likely a secret, which has no place in inputs and outputs.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

func isHeaderName(name string) bool {
	return name != "" && len(name) <= maxHeaderName && name[0] != '-' &&
		!strings.ContainsFunc(name, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
		})
}

func isHeaderValue(v string) bool {
	return strings.TrimSpace(v) == v && !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' })
}

// checkHeaders refuses headers that an input may not set. Names are checked in order, so that the error is the same on
// every attempt.
func checkHeaders(headers map[string]string) error {
	if len(headers) > maxHeaders {
		return invalid("headers", fmt.Sprintf("must hold at most %d headers", maxHeaders))
	}
	seen := map[string]bool{}
	for _, name := range sortedKeys(headers) {
		if !isHeaderName(name) {
			return invalid("headers", fmt.Sprintf("names must be 1 to %d letters, digits and hyphens", maxHeaderName))
		}
		field, canonical := "headers/"+name, http.CanonicalHeaderKey(name)
		value := headers[name]
		switch {
		case seen[canonical]:
			return invalid(field, "must not be there in two spellings")
		case isOurs(name):
			return invalid(field, "is set by the step itself, or would make the request another")
		case isSecret(name):
			return invalid(field, "looks like a secret: configure it as a credential and name that under auth")
		case len(value) > maxHeaderValue || !isHeaderValue(value):
			return invalid(field, "must be "+headerValueRule)
		case canonical == "Content-Type" && !isJSONType(value):
			return invalid(field, "must be a JSON type, as the body is")
		}
		seen[canonical] = true
	}
	return nil
}

// checkCaptureHeaders refuses headers whose values an output may not keep.
func checkCaptureHeaders(names []string) error {
	if len(names) > maxHeaders/2 {
		return invalid("capture_headers", fmt.Sprintf("must hold at most %d names", maxHeaders/2))
	}
	for i, name := range names {
		field := fmt.Sprintf("capture_headers/%d", i)
		if !isHeaderName(name) {
			return invalid(field, fmt.Sprintf("must be 1 to %d letters, digits and hyphens", maxHeaderName))
		}
		if isSecret(name) {
			return invalid(field, "looks like a secret, which outputs do not keep")
		}
	}
	return nil
}

func isJSONType(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
