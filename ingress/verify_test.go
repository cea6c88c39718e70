package ingress

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// headerOf is the header of the signature of each preset.
var headerOf = map[string]string{
	"standard-webhooks": "webhook-signature", "svix": "svix-signature", "stripe": "stripe-signature", "slack": "x-slack-signature",
	"github": "x-hub-signature-256", "shopify": "x-shopify-hmac-sha256", "pagerduty": "x-pagerduty-signature",
}

func good(t *testing.T, preset string) *Request {
	t.Helper()
	r, err := ParseCapture(recorded(preset)["good"])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// C88, C89: a difference of the tolerance is allowed, one second more is not, in both directions, whatever part of a second
// it is.
func TestC88_boundaries_of_the_tolerance(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for _, preset := range presetNames() {
		r := good(t, preset)
		for _, tolerance := range []time.Duration{0, time.Second, 10 * time.Minute, 24 * time.Hour} {
			s := *c.sources[preset]
			s.secrets = s.secrets[1:2] // the one without an end
			if tolerance > 0 {
				s.tolerance = tolerance
			}
			for offset, want := range map[time.Duration]Reason{
				0: "", s.tolerance: "", -s.tolerance: "", s.tolerance + 999*time.Millisecond: "",
				s.tolerance + time.Second: ReasonStale, -s.tolerance - time.Millisecond: ReasonFuture, -s.tolerance - time.Second: ReasonFuture,
				1000 * time.Hour: ReasonStale, -1000 * time.Hour: ReasonFuture,
			} {
				if !timed(preset) {
					want = ""
				}
				_, err := s.verify(r, recordedAt.Add(offset))
				if got := reasonOf(t, err); got != want {
					t.Errorf("%s, %s of %s: got %q, want %q", preset, offset, s.tolerance, got, want)
				}
			}
		}
	}
}

// C91, C93, C94: every way to have no valid signature.
func TestC93_signatures_that_are_none(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for _, preset := range presetNames() {
		name := headerOf[preset]
		signature, _, _ := strings.Cut(good(t, preset).Header[name][0], ",v0=")
		last := signature[strings.LastIndexAny(signature, "=, ")+1:]
		if preset == "shopify" || strings.HasSuffix(signature, "=") {
			last = signature[strings.LastIndex(strings.TrimRight(signature, "="), ",")+1:]
		}
		prefix := strings.TrimSuffix(signature, last)
		for what, change := range map[string]func(*Request){
			"absent":            func(r *Request) { delete(r.Header, name) },
			"empty":             func(r *Request) { r.Header[name] = []string{""} },
			"a space":           func(r *Request) { r.Header[name] = []string{" "} },
			"no values":         func(r *Request) { r.Header[name] = nil },
			"repeated":          func(r *Request) { r.Header[name] = []string{signature, signature} },
			"repeated, junk":    func(r *Request) { r.Header[name] = []string{"junk", signature} },
			"prefix only":       func(r *Request) { r.Header[name] = []string{prefix} },
			"odd":               func(r *Request) { r.Header[name] = []string{signature[:len(signature)-1]} },
			"one more":          func(r *Request) { r.Header[name] = []string{signature + "0"} },
			"cut":               func(r *Request) { r.Header[name] = []string{prefix + last[:16]} },
			"not hex":           func(r *Request) { r.Header[name] = []string{prefix + strings.Repeat("zz", 32)} },
			"no prefix":         func(r *Request) { r.Header[name] = []string{last + "x"} },
			"upper-case prefix": func(r *Request) { r.Header[name] = []string{strings.ToUpper(prefix) + last + "x"} },
			"too long":          func(r *Request) { r.Header[name] = []string{strings.Repeat("a", 5000) + signature} },
			"another's":         func(r *Request) { r.Header[name] = good(t, otherThan(preset)).Header[headerOf[otherThan(preset)]] },
			"a longer body":     func(r *Request) { r.Body = append([]byte{}, append(r.Body, '\n')...) },
			"no body":           func(r *Request) { r.Body = nil },
			"a byte order mark": func(r *Request) { r.Body = append([]byte("\ufeff"), r.Body...) },
			"CRLF":              func(r *Request) { r.Body = []byte(strings.ReplaceAll(string(r.Body), ",", ",\r\n")) },
		} {
			r := good(t, preset)
			change(r)
			if id, err := c.sources[preset].verify(r, recordedAt); err == nil || id != "" {
				t.Errorf("%s, %s: verified", preset, what)
			} else {
				reasonOf(t, err)
			}
		}
	}
}

func otherThan(preset string) string {
	if preset == "github" {
		return "pagerduty"
	}
	return "github"
}

// Prefixes are compared as they are.
func TestPrefixesHaveOneCase(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for _, preset := range []string{"github", "slack", "stripe", "pagerduty", "standard-webhooks", "svix"} {
		r := good(t, preset)
		name := headerOf[preset]
		r.Header[name] = []string{strings.NewReplacer("sha256=", "SHA256=", "v0=", "V0=", "v1=", "V1=", "v1,", "V1,").Replace(r.Header[name][0])}
		if _, err := c.sources[preset].verify(r, recordedAt); err == nil {
			t.Errorf("%s: verified", preset)
		}
	}
}

// The good signature may be the last of five, and of sixteen; where a provider sends one, a list is none.
func TestTheGoodSignatureMayBeTheLast(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for _, preset := range presetNames() {
		separator := map[string]string{"standard-webhooks": " ", "svix": " ", "stripe": ",", "pagerduty": ","}[preset]
		junk := map[string]string{"standard-webhooks": "v1,AAAA", "svix": "v1a,BBBB"}[preset]
		if junk == "" {
			junk = "v1=" + strings.Repeat("0", 64)
		}
		for n, want := range map[int]bool{4: true, 40: false} {
			r := good(t, preset)
			r.Header[headerOf[preset]] = []string{strings.Repeat(junk+separator, n) + r.Header[headerOf[preset]][0]}
			_, err := c.sources[preset].verify(r, recordedAt)
			if got := err == nil; got != (want && separator != "") {
				t.Errorf("%s behind %d: verified %t", preset, n, got)
			}
		}
	}
}

// A time has one spelling, and none means none.
func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	at := fmt.Sprint(recordedAt.Unix())
	for _, text := range []string{
		"", " ", "+" + at, "-" + at, "0" + at, at + " ", " " + at, at + ".0", at + "e0", "0x" + at, "9" + strings.Repeat("9", 30),
		"-1", "0", "now", at + "\x00", "١", "1_000", at + at,
	} {
		for preset, name := range map[string]string{
			"slack": "x-slack-request-timestamp", "standard-webhooks": "webhook-timestamp", "svix": "svix-timestamp",
		} {
			r := good(t, preset)
			r.Header[name] = []string{text}
			_, err := c.sources[preset].verify(r, recordedAt)
			if got := reasonOf(t, err); got != ReasonMalformed && got != ReasonAbsent {
				t.Errorf("%s at %q: got %q", preset, text, got)
			}
		}
		r := good(t, "stripe")
		r.Header["stripe-signature"] = []string{strings.Replace(r.Header["stripe-signature"][0], "t="+at, "t="+text, 1)}
		_, err := c.sources["stripe"].verify(r, recordedAt)
		if got := reasonOf(t, err); got != ReasonMalformed {
			t.Errorf("stripe at %q: got %q", text, got)
		}
	}
	r := good(t, "stripe")
	r.Header["stripe-signature"] = []string{"t=1," + r.Header["stripe-signature"][0]}
	if _, err := c.sources["stripe"].verify(r, recordedAt); reasonOf(t, err) != ReasonMalformed {
		t.Error("stripe with two times: verified")
	}
}

// What is joined in a signed text cannot be moved from one value into the next.
func TestSignedValuesDoNotMove(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	for _, preset := range []string{"standard-webhooks", "svix"} {
		r := good(t, preset)
		id := strings.TrimSuffix(headerOf[preset], "-signature") + "-id"
		r.Header[id] = []string{"msg_1." + fmt.Sprint(recordedAt.Unix())}
		if _, err := c.sources[preset].verify(r, recordedAt); reasonOf(t, err) != ReasonMalformed {
			t.Errorf("%s: an ID with a dot: %v", preset, err)
		}
	}
	s := &scheme{idHeader: "id", text: mustSigned("{id}:{timestamp}:{body}")}
	for id, want := range map[string]bool{"a": true, "a:": false, "a:b": false, "": true, strings.Repeat("i", 256): false} {
		if got := s.separable(map[string]string{"id": id, "timestamp": "1"}); got != want {
			t.Errorf("%.10q: got %t", id, got)
		}
	}
}

// Secrets count from their first moment on, and no more at their last.
func TestSecretsHaveTheirTime(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	s := *c.sources["github"]
	r := good(t, "github")
	s.secrets = []secret{{id: "one", key: s.secrets[1].key, from: recordedAt, to: recordedAt.Add(time.Hour)}}
	for offset, want := range map[time.Duration]Reason{
		0: "", -1: ReasonNoSecret, time.Hour - 1: "", time.Hour: ReasonNoSecret,
	} {
		_, err := s.verify(r, recordedAt.Add(offset))
		if got := reasonOf(t, err); got != want {
			t.Errorf("%s: got %q, want %q", offset, got, want)
		}
	}
	for _, none := range [][]secret{nil, {{id: "empty"}}, {{id: "empty", key: []byte{}}}} {
		s.secrets = none
		if _, err := s.verify(r, recordedAt); reasonOf(t, err) != ReasonNoSecret {
			t.Errorf("without a secret: %v", err)
		}
	}
}

// Whatever a stranger sends is refused with a reason, and nothing panics.
func FuzzVerify(f *testing.F) {
	f.Add("v1,AAAA", "msg", "1768478400", []byte("{}"))
	f.Add("t=1768478400,v1=00", "", "1", []byte{})
	f.Add("sha256=", "v0=", "\x00", []byte("\xff"))
	c := &Config{sources: map[string]*source{}}
	for name, p := range presets {
		c.sources[name] = &source{verifier: p.verifier, secrets: []secret{{id: "one", key: []byte(firstSecret)}}, tolerance: DefaultTolerance}
	}
	f.Fuzz(func(t *testing.T, signature, id, at string, body []byte) {
		r := &Request{Header: map[string][]string{}, Body: body}
		for _, prefix := range []string{"webhook", "svix"} {
			r.Header[prefix+"-id"], r.Header[prefix+"-timestamp"] = []string{id}, []string{at}
		}
		r.Header["x-slack-request-timestamp"] = []string{at}
		for _, name := range headerOf {
			r.Header[name] = []string{signature}
		}
		for name, s := range c.sources {
			if _, err := s.verify(r, recordedAt); reasonOf(t, err) == "" {
				t.Fatalf("%s: verified", name)
			}
		}
	})
}
