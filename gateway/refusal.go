package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/tokens"
)

// retryAfter is the Retry-After, in seconds, of every 429 and 503 that does not know better: overload, a lost database
// connection and a full backlog pass quickly, and senders add a back-off of their own.
const retryAfter = 1

// refusal is the answer to one request that is refused: a problem and what is particular to the request.
type refusal struct {
	problem    *problem
	cause      string
	differs    []string
	violations []violation
	challenge  string // WWW-Authenticate of a 401
	retry      int    // Retry-After in seconds; zero: the usual
	fault      error  // what made it a 5xx; logged by kind, never shown
}

// violation names one place in what the caller sent, as a JSON Pointer (RFC 6901), and the rule it breaks.
type violation struct {
	FieldPath string `json:"field_path"`
	Message   string `json:"message"`
}

// Error implements error, so that handlers return a refusal like any other error.
func (r *refusal) Error() string { return r.problem.code }

func refuse(p *problem) *refusal { return &refusal{problem: p} }

func refuseAt(p *problem, field, rule string) *refusal {
	return &refusal{problem: p, violations: []violation{{FieldPath: pointer(field), Message: rule}}}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer turns a field in the engine's spelling into a JSON Pointer. The parts of a field are joined by slashes, but
// what follows labels/ is one key, which may hold slashes itself.
func pointer(field string) string {
	if field == "" {
		return ""
	}
	if key, found := strings.CutPrefix(field, "labels/"); found {
		return "/labels/" + pointerEscaper.Replace(key)
	}
	return "/" + field
}

// problemDocument is the body of a refusal, RFC 9457 with our members.
type problemDocument struct {
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail"`
	Instance   string         `json:"instance"`
	Code       string         `json:"code"`
	Verdict    engine.Verdict `json:"verdict"`
	Retryable  bool           `json:"retryable"`
	Cause      string         `json:"cause,omitempty"`
	Differs    []string       `json:"differs,omitempty"`
	Violations []violation    `json:"violations,omitempty"`
}

// withoutTokens keeps tokens from the answer: places are named by the caller's own keys, and a key may be anything.
func withoutTokens(found []violation) []violation {
	for i, v := range found {
		found[i].FieldPath = string(tokens.Scrub([]byte(v.FieldPath)))
	}
	return found
}

// write makes the refusal the response. It works on the bare response, because what breaks HTTP itself is refused
// before there is a Fiber context.
func (r *refusal) write(res *fasthttp.Response, requestID string) {
	p := r.problem
	body, err := json.Marshal(problemDocument{
		Type: problemBase + p.code, Title: p.title, Status: p.status, Detail: p.detail,
		Instance: "urn:request:" + requestID, Code: p.code, Verdict: p.verdict, Retryable: p.retryable,
		Cause: r.cause, Differs: r.differs, Violations: withoutTokens(r.violations),
	})
	if err != nil {
		// Strings and a bool always encode; an empty body still tells the status.
		body = nil
	}
	res.SetStatusCode(p.status)
	res.Header.SetContentType("application/problem+json")
	res.SetBody(body)
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
		res.Header.Set("Retry-After", strconv.Itoa(positive(r.retry, retryAfter)))
	}
	if r.challenge != "" {
		res.Header.Set("WWW-Authenticate", r.challenge)
	}
}
