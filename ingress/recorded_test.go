package ingress

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// record writes the recorded requests anew: go test ./ingress -run Recorded -record.
var record = flag.Bool("record", false, "write testdata anew")

// recordedAt is when the requests in testdata were sent.
var recordedAt = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// The secrets of testdata/sources.json. The second of each has replaced the first one, which still counts; the third has
// come to its end.
const (
	firstSecret  = "test-secret-one-0123456789abcdef"
	secondSecret = "test-secret-two-0123456789abcdef"
	oldSecret    = "test-secret-old-0123456789abcdef"
)

// provider signs as its documentation says, in code of its own.
type provider struct {
	body string
	sign func(secret string, at time.Time, body string) []string // header lines
	also []string                                                // headers beside
	ids  []string                                                // places of the event's ID in headers, which differ in nothing between deliveries
}

func mac(secret, text string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func hexMAC(secret, text string) string { return hex.EncodeToString(mac(secret, text)) }

func standardSigned(prefix string) func(string, time.Time, string) []string {
	return func(secret string, at time.Time, body string) []string {
		sum := mac(secret, fmt.Sprintf("msg_1.%d.%s", at.Unix(), body))
		return []string{
			prefix + "-Id: msg_1", fmt.Sprintf("%s-Timestamp: %d", prefix, at.Unix()),
			prefix + "-Signature: v1,AAAA v1," + base64.StdEncoding.EncodeToString(sum),
		}
	}
}

var providers = map[string]provider{
	"standard-webhooks": {
		body: `{"type":"invoice.paid","data":{"run":"order-1","note":"caf\u00e9 \u001B 1.0"}}`, sign: standardSigned("Webhook"),
	},
	"svix": {body: `{"type":"invoice.paid","data":{"run":"order-1","amount":1.0}}`, sign: standardSigned("Svix")},
	"stripe": {
		body: "{\n  \"id\": \"evt_1\",\n  \"type\": \"invoice.paid\",\n  \"pending_webhooks\": 2,\n  \"data\": {\"object\": {\"metadata\": {\"run\": \"order-1\"}}}\n}",
		sign: func(secret string, at time.Time, body string) []string {
			return []string{fmt.Sprintf("Stripe-Signature: t=%d,v1=%064d,v1=%s,v0=%s", at.Unix(), 0,
				hexMAC(secret, fmt.Sprintf("%d.%s", at.Unix(), body)), strings.Repeat("ab", 32))}
		},
	},
	"slack": {
		body: `{"token":"x","type":"event_callback","event_id":"Ev1","event":{"type":"approval","run":"order-1","text":"caf\u00e9"}}`,
		sign: func(secret string, at time.Time, body string) []string {
			return []string{
				fmt.Sprintf("X-Slack-Request-Timestamp: %d", at.Unix()),
				"X-Slack-Signature: v0=" + hexMAC(secret, fmt.Sprintf("v0:%d:%s", at.Unix(), body)),
			}
		},
	},
	"github": {
		body: `{"action":"closed","number":7,"pull_request":{"merged":true,"title":"\u2028"}}`,
		sign: func(secret string, _ time.Time, body string) []string {
			return []string{"X-Hub-Signature: sha1=" + strings.Repeat("0", 40), "X-Hub-Signature-256: sha256=" + hexMAC(secret, body)}
		},
		also: []string{"X-GitHub-Event: pull_request", "X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958"},
	},
	"shopify": {
		body: `{"id":450789469,"name":"#1001","note_attributes":[{"name":"run","value":"order-1"}],"total_price":"10.00"}`,
		sign: func(secret string, _ time.Time, body string) []string {
			return []string{"X-Shopify-Hmac-Sha256: " + base64.StdEncoding.EncodeToString(mac(secret, body))}
		},
		also: []string{"X-Shopify-Topic: orders/paid", "X-Shopify-Event-Id: 98880550-7158-44d4-b7cd-2c97c8a091b5"},
	},
	"pagerduty": {
		body: `{"event":{"id":"01C","event_type":"incident.resolved","data":{"id":"PGR0VU2","title":"order-1"}}}`,
		sign: func(secret string, _ time.Time, body string) []string {
			return []string{"X-PagerDuty-Signature: v1=" + strings.Repeat("0", 64) + ",v1=" + hexMAC(secret, body)}
		},
	},
}

// timed says whether a provider signs the time.
func timed(name string) bool { return name != "github" && name != "shopify" && name != "pagerduty" }

// verdicts are the kinds of recorded requests, and why they are refused.
var verdicts = map[string]Reason{
	"good": "", "rotated": "", "duplicated": "", "stale": ReasonStale, "future": ReasonFuture, "reserialised": ReasonMismatch,
	"flipped": ReasonMismatch, "unsigned": ReasonAbsent, "ended": ReasonMismatch,
}

func capture(body string, lines ...string) []byte {
	var b bytes.Buffer
	b.WriteString("POST /ingress/it HTTP/1.1\r\nHost: hooks.example.com\r\nContent-Type: application/json\r\n")
	fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// recorded are the requests of a provider by their kind.
func recorded(name string) map[string][]byte {
	p := providers[name]
	compact := strings.NewReplacer(" ", "", "\n", "", `\u00e9`, "é", `\u2028`, "\u2028", `"PGR0VU2","title":"order-1"`, `"PGR0VU2", "title":"order-1"`,
		`450789469,`, `450789469.0,`, `"amount":1.0`, `"amount":1`)
	key := func(text string) string { // of Standard Webhooks the secret is base64
		return text
	}
	signed := func(secret string, at time.Time) []string { return append(p.sign(key(secret), at, p.body), p.also...) }
	again := append(signed(firstSecret, recordedAt.Add(time.Minute)), "X-Attempt: 2")
	all := map[string][]byte{
		"good":         capture(p.body, signed(firstSecret, recordedAt)...),
		"rotated":      capture(p.body, signed(secondSecret, recordedAt)...),
		"ended":        capture(p.body, signed(oldSecret, recordedAt)...),
		"duplicated":   capture(strings.Replace(p.body, `"pending_webhooks": 2`, `"pending_webhooks": 1`, 1), again...),
		"reserialised": capture(compact.Replace(p.body), signed(firstSecret, recordedAt)...),
		"flipped":      capture(strings.Replace(p.body, "e", "f", 1), signed(firstSecret, recordedAt)...),
		"unsigned":     capture(p.body, p.also...),
	}
	if name == "stripe" { // what differs between two deliveries is signed, too
		q := p
		q.body = strings.Replace(p.body, `"pending_webhooks": 2`, `"pending_webhooks": 1`, 1)
		all["duplicated"] = capture(q.body, append(q.sign(firstSecret, recordedAt.Add(time.Minute), q.body), "X-Attempt: 2")...)
	}
	if timed(name) {
		all["stale"] = capture(p.body, signed(firstSecret, recordedAt.Add(-5*time.Minute-time.Second))...)
		all["future"] = capture(p.body, signed(firstSecret, recordedAt.Add(5*time.Minute+time.Second))...)
	}
	return all
}

// testConfig reads testdata/sources.json.
func testConfig(t *testing.T) *Config {
	t.Helper()
	text, err := os.ReadFile("testdata/sources.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reasonOf is why a request is refused, empty when it is not.
func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	bad, ok := errors.AsType[*SignatureError](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		t.Fatalf("got %v", err)
	}
	return bad.Reason
}

// The recorded requests of each provider get the right verdict, and no unsigned twin ever does.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	if got, want := fmt.Sprint(c.Names()), fmt.Sprint(presetNames()); got != want {
		t.Fatalf("sources %s, want %s", got, want)
	}
	for _, name := range presetNames() {
		for kind, made := range recorded(name) {
			path := filepath.Join("testdata", name, kind+".http")
			if *record {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, made, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, made) {
				t.Errorf("%s is not what the provider's documentation says", path)
			}
			req, err := ParseCapture(text)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			id, err := c.sources[name].verify(req, recordedAt)
			if got := reasonOf(t, err); got != verdicts[kind] {
				t.Errorf("%s: got %q, want %q", path, got, verdicts[kind])
			}
			if want := map[string]string{"good": "one", "rotated": "two", "duplicated": "one"}[kind]; id != want {
				t.Errorf("%s: secret %q, want %q", path, id, want)
			}
		}
	}
}

// Requests that the providers' documentations show.
func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	for preset, tt := range map[string]struct {
		secret string
		at     int64
		body   string
		lines  []string
	}{
		"slack": {
			"8f742231b10e8888abcd99yyyzzz85a5", 1531420618,
			"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
			[]string{"X-Slack-Request-Timestamp: 1531420618", "X-Slack-Signature: v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
		},
		"github": {
			"It's a Secret to Everybody", 0, "Hello, World!",
			[]string{"X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		"standard-webhooks": {
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330, `{"test": 2432232314}`,
			[]string{"Webhook-Id: msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp: 1614265330", "Webhook-Signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		},
	} {
		s := presetSource(t, preset, tt.secret)
		req, err := ParseCapture(capture(tt.body, tt.lines...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.verify(req, time.Unix(tt.at, 0)); err != nil {
			t.Errorf("%s: %v", preset, err)
		}
	}
}

// presetSource is a source with one secret.
func presetSource(t *testing.T, preset, secretText string) *source {
	t.Helper()
	c, err := Parse(fmt.Appendf(nil, `{"sources":{"it":{"verify":%q,"secrets":[{"id":"one","secret":%q}],"run":"r","signal":"s","id":"{digest}"}}}`,
		preset, secretText))
	if err != nil {
		t.Fatal(err)
	}
	return c.sources["it"]
}
