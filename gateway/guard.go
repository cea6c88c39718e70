package gateway

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// methods are those the router knows; it answers any other with plain text, so the guard refuses them first.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace, http.MethodPatch,
}

// guard refuses what the HTTP server lets through and must not pass: framing that two parties can read in two ways
// (RFC 9112 section 6.3), other versions than HTTP/1.0 and 1.1, field names that are not tokens (RFC 9110 section
// 5.6.2), folded lines, and repeats of fields that identify or authorise. Nil means the request may go on.
func guard(h *fasthttp.RequestHeader) *refusal {
	protocol := string(h.Protocol())
	if protocol != "HTTP/1.1" && protocol != "HTTP/1.0" {
		return refuse(malformedRequest)
	}
	if !slices.Contains(methods, string(h.Method())) {
		return refuse(malformedRequest)
	}
	names, ok := fieldNames(h.RawHeaders())
	if !ok {
		return refuse(malformedRequest)
	}
	return guardFields(names, h)
}

func guardFields(names map[string]int, h *fasthttp.RequestHeader) *refusal {
	if names["content-length"] > 0 && names["transfer-encoding"] > 0 {
		return refuse(malformedRequest)
	}
	for name, count := range names {
		if count < 2 {
			continue
		}
		if name == "idempotency-key" {
			return refuse(keyInvalid)
		}
		if once(name) {
			return refuse(malformedRequest)
		}
	}
	// The server itself asks for 100-continue before it reads the body; any other expectation arrives here.
	if names["expect"] > 0 && !strings.EqualFold(string(h.Peek("Expect")), "100-continue") {
		return refuse(expectationFailed)
	}
	return nil
}

// once says that a field must not be repeated: whoever picks another one of the two than we do sees another request.
func once(name string) bool {
	switch name {
	case "authorization", "content-type", "content-length", "transfer-encoding", "host":
		return true
	}
	return strings.Contains(name, "signature") || strings.Contains(name, "timestamp")
}

// fieldNames counts the lower-case names in a header block. It is false for a line without a name, a folded line and a
// name that is not a token.
func fieldNames(block []byte) (map[string]int, bool) {
	names := make(map[string]int, 16)
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			continue
		}
		name, _, found := bytes.Cut(line, []byte(":"))
		if !found || !isToken(name) {
			return nil, false
		}
		names[strings.ToLower(string(name))]++
	}
	return names, true
}

func isToken(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	for _, b := range name {
		if !isTokenByte(b) {
			return false
		}
	}
	return true
}

func isTokenByte(b byte) bool {
	switch {
	case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}
