package gateway

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// 51, 53, C91, C93: what is verified is the exact bytes; whatever is wrong with the signature, and with the body behind it,
// is said to be the signature.
func TestC91_the_exact_bytes(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	for i, data := range []string{
		`"\u001B"`, `"\u001b"`, "\"\u2028\"", `1.0`, `1e2`, "{\"b\":1,\r\n\"a\":2}", `"é"`, `"\u00e9"`, `  [ ]  `, `12345678901234567890`, `"</script>"`,
	} {
		body := fmt.Sprintf(`{"id":"x%d","run":"r","type":"paid","data":%s}`, i, data)
		s.wantEvent(data, s.event("shop", body), 202, "accepted", "")
		for what, other := range map[string]string{
			"a space":   strings.Replace(body, ":", ": ", 1),
			"a newline": body + "\n",
			"one byte":  strings.Replace(body, "paid", "pajd", 1),
		} {
			r := s.call("POST", "/ingress/shop", other, "X-Shop-Signature", shopSign(body))
			checkProblem(t, r, 401, "signature-invalid")
			if r.raw != "" && strings.Contains(r.raw, "mismatch") {
				t.Errorf("%s: the sender is told why: %s", what, r.raw)
			}
		}
	}
	for what, body := range map[string]string{
		"duplicate keys": `{"id":"d","id":"e","run":"r","type":"paid"}`, "a byte order mark": "\ufeff{}", "nothing": "", "a NUL": `{"id":"\u0000"}`,
		"junk": "{", "two values": "{}{}", "deep": strings.Repeat("[", 65) + strings.Repeat("]", 65), "a huge number": `{"id":1e400}`,
	} {
		checkProblem(t, s.call("POST", "/ingress/shop", body), 401, "signature-invalid")
		if r := s.event("shop", body); r.status != 400 || r.text("code") != "malformed-payload" {
			t.Errorf("%s: got %d %s", what, r.status, r.raw)
		}
	}
	good := `{"id":"t","run":"r","type":"paid","data":1}`
	checkProblem(t, s.event("shop", good, "Content-Encoding", "gzip"), 415, "unsupported-media-type")
	checkProblem(t, s.event("shop", good, "Content-Type", "text/plain"), 415, "unsupported-media-type")
	checkProblem(t, s.event("shop", strings.Repeat(" ", DefaultMaxBody+1)), 413, "payload-too-large")
	form := "payload=" + url.QueryEscape(`{"id":"form","run":"r","type":"paid","data":"a+b"}`) + "&other=1"
	const formType = "application/x-www-form-urlencoded"
	s.wantEvent("a form", s.event("shop", form, "Content-Type", formType), 202, "accepted", "")
	for _, bad := range []string{"payload=1&payload=2", "other=1", "payload=%zz", "payload", "a;b"} {
		if r := s.event("shop", bad, "Content-Type", formType); r.status != 400 {
			t.Errorf("%s: got %d %s", bad, r.status, r.raw)
		}
	}
	checkProblem(t, s.call("POST", "/ingress/shop", form, "Content-Type", formType), 401, "signature-invalid")
}

// C93, 51: signatures that are none, over a socket.
func TestC93_signatures_over_a_socket(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	const body = `{"id":"a","run":"r","type":"paid","data":1}`
	sign := shopSign(body)
	for what, signature := range map[string]string{
		"empty": "", "a prefix": "s=", "odd": sign[:len(sign)-1], "one more": sign + "0", "an upper-case prefix": "S=" + sign[2:],
		"no prefix": sign[2:], "zeros": "s=" + strings.Repeat("0", 64), "of nothing": shopSign(""), "a space": " ", "commas": ",,,,",
	} {
		r := s.call("POST", "/ingress/shop", body, "X-Shop-Signature", signature)
		checkProblem(t, r, 401, "signature-invalid")
		if r.header.Get("WWW-Authenticate") != "Signature" {
			t.Errorf("%s: no challenge", what)
		}
	}
	checkProblem(t, s.call("POST", "/ingress/shop", body), 401, "signature-invalid")
	checkProblem(t, s.call("POST", "/ingress/shop", body, "X-Shop-Signature", sign, "X-Shop-Signature", sign), 400, "malformed-request")
	if got := s.signalsOf("r"); len(got) != 0 {
		t.Fatalf("the run has %v", got)
	}
	five := strings.Repeat("s="+strings.Repeat("0", 64)+",", 4) + sign
	s.wantEvent("the last of five", s.call("POST", "/ingress/shop", body, "X-Shop-Signature", five), 202, "accepted", "")
	r := s.call("POST", "/ingress/open", `{"run":"r"}`, "X-Id", "1")
	if r.status != 204 || r.raw != "" {
		t.Errorf("unverified: got %d %s", r.status, r.raw)
	}
}

// C89: a request that is signed for later is refused as one that is too old.
func TestC89_the_future(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, recordedSources(t))
	for _, source := range []string{"standard-webhooks", "svix", "stripe", "slack"} {
		for _, kind := range []string{"future", "stale"} {
			checkProblem(t, s.sendRecorded(source, kind), 401, "signature-invalid")
		}
	}
	if log := s.logs.String(); !strings.Contains(log, `"reason":"future"`) || !strings.Contains(log, `"reason":"stale"`) {
		t.Error("operators are not told why")
	}
}

// C94: no header of any form makes a panic or gets in.
func TestC94_malformed_headers(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, recordedSources(t))
	for _, source := range []string{"standard-webhooks", "svix", "stripe", "slack", "github", "shopify", "pagerduty"} {
		for _, value := range []string{
			"", ",", "=", "t=", "t=,v1=", "v1=", "v1,", "v0=", "sha256=", "sha256", "\xff\xfe", "t=1,t=1,v1=00", strings.Repeat("v1=,", 2000), "t=99999999999999999999,v1=00",
		} {
			var b strings.Builder
			fmt.Fprintf(&b, "POST /ingress/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n", source)
			for _, name := range []string{
				"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Svix-Id", "Svix-Timestamp", "Svix-Signature", "Stripe-Signature",
				"X-Slack-Signature", "X-Slack-Request-Timestamp", "X-Hub-Signature-256", "X-Shopify-Hmac-Sha256", "X-PagerDuty-Signature",
			} {
				if len(value) < 1000 || name == "Stripe-Signature" {
					fmt.Fprintf(&b, "%s: %s\r\n", name, value)
				}
			}
			if r := s.one(b.String() + "\r\n{}"); r.status != 401 && r.status != 400 {
				t.Errorf("%s with %.20q: got %d %s", source, value, r.status, r.raw)
			}
		}
	}
}
