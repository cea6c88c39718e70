package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Verdict is the answer to a call, the same closed vocabulary as on every surface of Flowgate.
type Verdict string

// The verdicts. Accepted and Duplicate come with an answer, the others with a *Problem.
const (
	Accepted  Verdict = "accepted"
	Duplicate Verdict = "duplicate"
	Conflict  Verdict = "conflict"
	Gone      Verdict = "gone"
	Unknown   Verdict = "unknown"
	Invalid   Verdict = "invalid"
	Denied    Verdict = "denied"
	Busy      Verdict = "busy"
)

// The kinds of refusals, one for each verdict that is none of success. errors.Is finds them in a *Problem; ErrBusy also in an
// *UnreachableError.
var (
	ErrConflict = errors.New("conflict")
	ErrGone     = errors.New("gone")
	ErrUnknown  = errors.New("unknown")
	ErrInvalid  = errors.New("invalid")
	ErrDenied   = errors.New("denied")
	ErrBusy     = errors.New("busy")
)

// ErrNoGateway is the error of an answer that no gateway gives: another server, a proxy, a login page.
var ErrNoGateway = errors.New("no answer of a gateway")

var kinds = map[Verdict]error{
	Conflict: ErrConflict, Gone: ErrGone, Unknown: ErrUnknown, Invalid: ErrInvalid, Denied: ErrDenied, Busy: ErrBusy,
}

// Problem is a refusal: the problem document (RFC 9457) of the gateway. Violations may hold words of workflow code and names
// of the caller's own fields; the rest is the gateway's. It never holds a credential or a payload.
type Problem struct {
	Type       string      `json:"type"`
	Title      string      `json:"title"`
	Status     int         `json:"status"` // 0: it was refused here, and nothing was sent
	Detail     string      `json:"detail"`
	Instance   string      `json:"instance"` // urn:request: and the ID that the gateway's log has
	Code       string      `json:"code"`     // such as signal-conflict; docs/http.md has all
	Verdict    Verdict     `json:"verdict"`
	Retryable  bool        `json:"retryable"`
	Cause      string      `json:"cause,omitempty"`   // how a hook closed
	Differs    []string    `json:"differs,omitempty"` // of a conflict: which fields, never their values
	Violations []Violation `json:"violations,omitempty"`

	// RetryAfter is what the gateway asked for; zero where it named none.
	RetryAfter time.Duration `json:"-"`
	// Raw is the answer as it came.
	Raw json.RawMessage `json:"-"`
}

// Violation is one place in what was sent, as a JSON Pointer (RFC 6901), and the rule that it breaks.
type Violation struct {
	FieldPath string `json:"field_path"`
	Message   string `json:"message"`
}

// Error is the code and the sentence of the gateway, with the cause, the fields that differ and the violations.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", p.Code, p.Detail)
	if p.Cause != "" {
		fmt.Fprintf(&b, " cause: %s.", p.Cause)
	}
	if len(p.Differs) > 0 {
		fmt.Fprintf(&b, " differs: %s.", strings.Join(p.Differs, ", "))
	}
	for _, v := range p.Violations {
		fmt.Fprintf(&b, " [%s %s]", v.FieldPath, v.Message)
	}
	if p.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", p.Status)
	}
	return b.String()
}

// Is reports whether target is the kind of the refusal.
func (p *Problem) Is(target error) bool {
	kind, known := kinds[p.Verdict]
	return known && target == kind
}

// refuse is the refusal of an argument that no gateway would take.
func refuse(err error) error {
	bad, ok := errors.AsType[*spec.InvalidError](err)
	if !ok {
		return err
	}
	return &Problem{
		Code: "invalid-argument", Title: "Invalid argument", Detail: "An argument breaks a rule; nothing was sent.", Verdict: Invalid,
		Violations: []Violation{{FieldPath: "/" + bad.Field, Message: bad.Rule}},
	}
}

// UnreachableError says that no try of a call was answered. Whether the gateway did what was asked is not known: the same call
// may be made again. It is ErrBusy.
type UnreachableError struct {
	Attempts int
	Err      error // of the last try, without the URL and the credential
}

// Error says how often it was tried.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the gateway does not answer, tried %d times: %v", e.Attempts, e.Err)
}

// Unwrap is the error of the last try.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is reports whether target is ErrBusy.
func (e *UnreachableError) Is(target error) bool { return target == ErrBusy }

// refusalOf reads the refusal in an answer that is no success.
func refusalOf(res *http.Response, body []byte) error {
	p := &Problem{RetryAfter: retryAfter(res.Header), Raw: body}
	if err := json.Unmarshal(body, p); err == nil && p.Code != "" && kinds[p.Verdict] != nil {
		p.Status = res.StatusCode
		return p
	}
	var oauth struct {
		Error   string  `json:"error"`
		Detail  string  `json:"error_description"`
		Verdict Verdict `json:"verdict"`
		ID      string  `json:"request_id"`
	}
	if err := json.Unmarshal(body, &oauth); err == nil && oauth.Error != "" && kinds[oauth.Verdict] != nil {
		return &Problem{
			Status: res.StatusCode, Title: oauth.Error, Code: oauth.Error, Detail: oauth.Detail, Verdict: oauth.Verdict,
			Instance: "urn:request:" + oauth.ID, Raw: body,
		}
	}
	return fmt.Errorf("%w: status %d", ErrNoGateway, res.StatusCode)
}
