package httppost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Limits of an input.
const (
	maxMessageID = 128
	maxStatuses  = 16
	maxLinks     = 16
)

// Input is what a workflow gives to the step. In JSON it has no other members, and none twice.
type Input struct {
	// URL is where to post: https, without user, password and fragment. It rests in the history; a URL that is a secret
	// belongs into an Endpoint. Exactly one of URL and To is set.
	URL string `json:"url,omitempty"`
	// To names a configured endpoint.
	To string `json:"to,omitempty"`
	// Body is what is sent, as JSON; not null. Where Links names a hook, "{hook:ID}" in any of its strings becomes the link.
	Body any `json:"body"`
	// Links are the hooks whose links stand in Body, at most 16, each at least once. The links are made when the step runs and
	// rest nowhere.
	Links []spec.HookID `json:"links,omitempty"`
	// Headers, at most 32, go along. Those that the step sets and those that look like secrets are refused.
	Headers map[string]string `json:"headers,omitempty"`
	// Auth names a configured credential.
	Auth string `json:"auth,omitempty"`
	// SignWith names configured signing secrets.
	SignWith string `json:"sign_with,omitempty"`
	// Timeout of one attempt; 0 is the configured one.
	Timeout Duration `json:"timeout,omitempty"`
	// Statuses are those that mean success, 200 to 599, at most 16; empty is every 2xx.
	Statuses []int `json:"statuses,omitempty"`
	// CaptureHeaders are the headers of the response that the output keeps, at most 16.
	CaptureHeaders []string `json:"capture_headers,omitempty"`
	// CaptureBytes is how much of the response's body the output keeps, up to the configured size, which nil stands for.
	CaptureBytes *int `json:"capture_bytes,omitempty"`
	// MessageID is sent as webhook-id on every attempt; empty is the step's idempotency key. Printable ASCII without spaces
	// and dots, at most 128 bytes.
	MessageID string `json:"message_id,omitempty"`
}

// Output is what came back.
type Output struct {
	Status int `json:"status"`
	// Headers are those asked for that were there, by the names asked for; of several values the first.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is JSON as it was received if it is declared and whole, else its text as a JSON string; null if empty. In text, what
	// is not UTF-8 is U+FFFD. Links, credentials and what looks like a token are [redacted].
	Body any `json:"body"`
	// Truncated says that the body is not whole: it was longer than what is kept, or broke off.
	Truncated bool `json:"truncated"`
	// Attempt is the one that succeeded, from 1.
	Attempt int `json:"attempt"`
	// MessageID is the webhook-id that was sent.
	MessageID string `json:"message_id"`
}

// Duration is a time.Duration whose JSON form is a Go duration string, such as "10s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return invalid("timeout", durationRule)
	}
	*d = Duration(v)
	return nil
}

const durationRule = "must be a duration such as 10s"

// check applies the rules that need no configured names. Errors: *spec.InvalidError.
func (in *Input) check(c *Config) error {
	if (in.URL == "") == (in.To == "") {
		return invalid("url", "must be set, or to, and not both")
	}
	if in.URL != "" && c.NamedOnly {
		return invalid("url", "is not allowed here: name a configured endpoint under to")
	}
	for _, n := range []struct{ field, name string }{{"to", in.To}, {"auth", in.Auth}, {"sign_with", in.SignWith}} {
		if n.name == "" {
			continue
		}
		if err := spec.CheckName(n.field, n.name); err != nil {
			return err
		}
	}
	if t := time.Duration(in.Timeout); t < 0 || t > c.MaxTimeout {
		return invalid("timeout", fmt.Sprintf("must be from 0s to %s", c.MaxTimeout))
	}
	if n := in.CaptureBytes; n != nil && (*n < 0 || *n > c.CaptureBytes) {
		return invalid("capture_bytes", fmt.Sprintf("must be from 0 to %d", c.CaptureBytes))
	}
	if err := checkHeaders(in.Headers); err != nil {
		return err
	}
	if err := checkCaptureHeaders(in.CaptureHeaders); err != nil {
		return err
	}
	if err := checkStatuses(in.Statuses); err != nil {
		return err
	}
	if err := checkLinks(in.Links); err != nil {
		return err
	}
	return checkMessageID(in.MessageID)
}

func checkStatuses(statuses []int) error {
	if len(statuses) > maxStatuses {
		return invalid("statuses", fmt.Sprintf("must hold at most %d", maxStatuses))
	}
	for i, s := range statuses {
		if s < 200 || s > 599 {
			return invalid(fmt.Sprintf("statuses/%d", i), "must be from 200 to 599")
		}
	}
	return nil
}

func checkLinks(links []spec.HookID) error {
	if len(links) > maxLinks {
		return invalid("links", fmt.Sprintf("must hold at most %d hooks", maxLinks))
	}
	for i, id := range links {
		field := fmt.Sprintf("links/%d", i)
		if err := spec.CheckName(field, string(id)); err != nil {
			return err
		}
		if strings.ContainsAny(string(id), "{}") {
			return invalid(field, "must not hold a brace")
		}
		if slices.Index(links, id) < i {
			return invalid(field, "must not be named twice")
		}
	}
	return nil
}

// checkMessageID keeps dots out: they part the signed content.
func checkMessageID(id string) error {
	if len(id) > maxMessageID || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' || c == '.' }) {
		return invalid("message_id", fmt.Sprintf("must be at most %d bytes of printable ASCII without spaces and dots", maxMessageID))
	}
	return nil
}
