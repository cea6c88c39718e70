package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/inbox"
)

// Each recorded request of each provider gets the right verdict over a socket, before and after its run is there; no
// unsigned twin ever gets in.
func TestIngress_recorded_requests(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, recordedSources(t))
	folders, err := filepath.Glob("../ingress/testdata/*/good.http")
	if err != nil || len(folders) != 7 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		source := filepath.Base(filepath.Dir(folder))
		files, err := os.ReadDir(filepath.Dir(folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			kind := strings.TrimSuffix(f.Name(), ".http")
			if kind == "good" || kind == "rotated" || kind == "duplicated" {
				continue
			}
			r := s.sendRecorded(source, kind)
			if r.status != 401 || r.text("code") != "signature-invalid" {
				t.Errorf("%s/%s: got %d %s", source, kind, r.status, r.raw)
			}
		}
	}
	if found, _, err := s.box.List(t.Context(), "default", inbox.Filter{}); err != nil || len(found) != 0 {
		t.Fatalf("refused requests left %v, %v", found, err)
	}
	for source, want := range map[string]string{
		"standard-webhooks": "202 held", "svix": "202 held", "stripe": "202 held", "slack": "202 ignored run-not-found",
		"github": "202 held", "shopify": "200 ignored run-not-found", "pagerduty": "204",
	} {
		if r := s.sendRecorded(source, "good"); said(r) != want {
			t.Errorf("%s, early: got %s, want %s", source, said(r), want)
		}
	}
	s.order("order-1")
	s.order("pr-7")
	await(t, "the early ones are delivered", func() bool {
		return len(s.signalsOf("order-1")) == 3 && len(s.signalsOf("pr-7")) == 1 && s.call("GET", "/v1/runs/order-1/hooks/approval", "").text("state") == "resumed"
	})
	for source, want := range map[string]string{
		"standard-webhooks": "202 duplicate", "svix": "202 duplicate", "stripe": "202 duplicate", "slack": "202 accepted",
		"github": "202 duplicate", "shopify": "200 accepted", "pagerduty": "204",
	} {
		if r := s.sendRecorded(source, "good"); said(r) != want {
			t.Errorf("%s: got %s, want %s", source, said(r), want)
		}
		want = strings.Replace(want, "accepted", "duplicate", 1)
		for _, kind := range []string{"duplicated", "rotated", "good"} {
			if r := s.sendRecorded(source, kind); said(r) != want {
				t.Errorf("%s, %s: got %s, want %s", source, kind, said(r), want)
			}
		}
	}
	want := "[shopify:450789469 slack:Ev1 standard-webhooks:msg_1 stripe:evt_1 svix:msg_1]"
	if got := s.signalsOf("order-1"); len(got) != 5 {
		t.Errorf("order-1 has %v, want %s in some order", got, want)
	}
}

// said is a reply in words.
func said(r reply) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", r.status, r.text("outcome"), r.text("reason")))
}

// What becomes of an event, by what its run does with it. A miss is never a 404 or a 410.
func TestIngress_outcomes(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	s.order("ended")
	s.wantEvent("before the end", s.event("shop", `{"id":"e0","run":"ended","type":"paid","data":1}`), 202, "accepted", "")
	if r := s.call("POST", "/v1/runs/ended/terminate", ""); r.status != 202 {
		t.Fatal(r.raw)
	}
	for _, tc := range []struct {
		what, source, body string
		status             int
		outcome, reason    string
	}{
		{"first", "shop", `{"id":"e1","run":"r","type":"paid","data":{"n":1},"attempt":1}`, 202, "accepted", ""},
		{"again", "shop", `{"id":"e1","run":"r","type":"paid","data":{"n":1},"attempt":2}`, 202, "duplicate", ""},
		{"re-spelled", "shop", `{ "attempt":3, "type":"paid", "data":{"n":1.0}, "run":"r", "id":"e1" }`, 202, "duplicate", ""},
		{"the same ID of another source", "impatient", `{"id":"e1","run":"r","type":"paid","data":{"n":2}}`, 200, "accepted", ""},
		{"undeclared", "shop", `{"id":"e2","run":"r","type":"shipped","data":1}`, 202, "ignored", "signal-not-declared"},
		{"ended", "shop", `{"id":"e3","run":"ended","type":"paid","data":1}`, 202, "ignored", "run-ended"},
		{"redelivered after the end", "shop", `{"id":"e0","run":"ended","type":"paid","data":1}`, 202, "duplicate", ""},
		{"schema", "shop", `{"id":"e4","run":"r","type":"strict","data":{}}`, 202, "ignored", "payload-schema"},
		{"schema again", "shop", `{"id":"e4","run":"r","type":"strict","data":{}}`, 202, "duplicate", ""},
		{"early", "shop", `{"id":"e5","run":"later","type":"paid","data":1}`, 202, "held", ""},
		{"early again", "shop", `{"id":"e5","run":"later","type":"paid","data":1}`, 202, "duplicate", ""},
		{"nobody waits", "impatient", `{"id":"e6","run":"later","type":"paid","data":1}`, 200, "ignored", "run-not-found"},
		{"no run", "shop", `{"id":"e7","type":"paid","data":1}`, 202, "ignored", "unmapped"},
		{"a run that is none", "shop", `{"id":"e8","run":"a\tb","type":"paid","data":1}`, 202, "ignored", "unmapped"},
		{"a path for a run", "shop", `{"id":"e9","run":"../../ended","type":"paid","data":1}`, 202, "held", ""},
		{"an ID that is too long", "shop", fmt.Sprintf(`{"id":%q,"run":"r","type":"paid","data":1}`, strings.Repeat("i", 9000)), 202, "accepted", ""},
		{"and again", "shop", fmt.Sprintf(`{"id":%q,"run":"r","type":"paid","data":1}`, strings.Repeat("i", 9000)), 202, "duplicate", ""},
		{"and a longer one", "shop", fmt.Sprintf(`{"id":%q,"run":"r","type":"paid","data":1}`, strings.Repeat("i", 9001)), 202, "accepted", ""},
		{"another namespace", "foreign", `{"id":"e1","run":"r","type":"paid","data":{"n":1}}`, 202, "held", ""},
		{"first, conflicts kept", "keeping", `{"id":"k","run":"r","type":"paid","data":1}`, 202, "accepted", ""},
		{"conflict kept", "keeping", `{"id":"k","run":"r","type":"paid","data":2}`, 202, "ignored", "conflict"},
		{"no hook", "asking", `{"id":"h","run":"none","data":1}`, 202, "held", ""},
		{"a hook", "asking", `{"id":"h1","run":"r","data":{"ok":true}}`, 202, "accepted", ""},
		{"a hook again", "asking", `{"id":"h1","run":"r","data":{"ok":true}}`, 202, "duplicate", ""},
		{"a hook of an ended run", "asking", `{"id":"h2","run":"ended","data":1}`, 202, "ignored", "hook-closed"},
	} {
		s.wantEvent(tc.what, s.event(tc.source, tc.body), tc.status, tc.outcome, tc.reason)
	}
	checkDiffers(t, s.event("shop", `{"id":"e1","run":"r","type":"paid","data":{"n":2}}`), "event-conflict", "payload")
	checkDiffers(t, s.event("shop", `{"id":"e1","run":"r","type":"end","data":{"n":1}}`), "event-conflict", "name")
	checkDiffers(t, s.event("shop", `{"id":"e5","run":"other","type":"end","data":2}`), "event-conflict", "run_id", "name", "payload")
	checkDiffers(t, s.event("asking", `{"id":"h3","run":"r","data":{"ok":false}}`), "event-conflict", "payload")
	checkProblem(t, s.event("nobody", `{}`), 404, "not-found")
	checkProblem(t, s.event("Shop", `{}`), 404, "not-found")
	checkProblem(t, s.event("shop/", `{}`), 404, "not-found")
	checkProblem(t, s.call("GET", "/ingress/shop", ""), 405, "method-not-allowed")
	counts := map[string]uint64{}
	for _, c := range s.receiver.Counts() {
		counts[c.Outcome+" "+c.Reason] += c.Times
	}
	if counts["ignored run-ended"] != 1 || counts["conflict "] != 4 || counts["ignored unmapped"] != 2 || counts["duplicate "] != 7 {
		t.Errorf("counted %v", counts)
	}
	s.order("later")
	await(t, "what was early is there", func() bool { return fmt.Sprint(s.signalsOf("later")) == "[shop:e5]" })
}

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

// The handshake of Slack is answered when it is signed.
func TestIngress_handshake(t *testing.T) {
	t.Parallel()
	const secret = "8f742231b10e8888abcd99yyyzzz85a5"
	s := newEventSite(t, `{"sources":{"slack":{"verify":"slack","secrets":[{"id":"a","secret":"`+secret+`"}],"run":"/run","signal":"paid"}}}`)
	at := fmt.Sprint(recordedAt.Unix())
	send := func(body string, signed bool) reply {
		headers := []string{"X-Slack-Request-Timestamp", at}
		if signed {
			headers = append(headers, "X-Slack-Signature", "v0="+macOf(secret, "v0:"+at+":"+body))
		}
		return s.call("POST", "/ingress/slack", body, headers...)
	}
	const hello = `{"token":"x","challenge":"3eZbrw1aB10FEMAGAZd4FyFQ","type":"url_verification"}`
	checkProblem(t, send(hello, false), 401, "signature-invalid")
	if r := send(hello, true); r.status != http.StatusOK || r.raw != `{"challenge":"3eZbrw1aB10FEMAGAZd4FyFQ"}` {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	for _, odd := range []string{
		`{"type":"url_verification"}`, `{"type":"url_verification","challenge":7}`, `{"type":"url_verification","challenge":"a\u0001"}`,
		`{"type":"url_verification","challenge":"` + strings.Repeat("c", 256) + `"}`, `{"type":"other","challenge":"c"}`,
	} {
		if r := send(odd, true); r.text("challenge") != "" || r.text("outcome") != "ignored" {
			t.Errorf("%.60s: got %d %s", odd, r.status, r.raw)
		}
	}
}

// 50 equal events at once have one effect.
func TestIngress_parallel_equal_events(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	const body = `{"id":"a","run":"r","type":"paid","data":1}`
	var senders sync.WaitGroup
	outcomes := make([]string, 50)
	for i := range outcomes {
		senders.Go(func() {
			r, err := s.try("POST", "/ingress/shop", body, "X-Shop-Signature", shopSign(body))
			if err != nil {
				t.Error(err)
			}
			outcomes[i] = said(r)
		})
	}
	senders.Wait()
	all := strings.Join(outcomes, "|")
	if strings.Count(all, "202 accepted") != 1 || strings.Count(all, "202 duplicate") != 49 {
		t.Errorf("got %s", all)
	}
	if got := s.signalsOf("r"); len(got) != 1 {
		t.Errorf("the run has %v", got)
	}
}

// C105: each verdict is counted, by source and reason, and nothing that senders send is a label.
func TestC105_events_are_counted(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources, func(c *inbox.Config) { c.Room = 10 })
	s.order("r")
	s.order("ended")
	s.call("POST", "/v1/runs/ended/terminate", "")
	const n = 10
	for i := range n {
		body := fmt.Sprintf(`{"id":"e%d","run":"r","type":"paid","data":1}`, i)
		s.event("shop", body)
		s.event("shop", body)
		s.event("shop", strings.Replace(body, `"data":1`, `"data":2`, 1))
		s.event("shop", fmt.Sprintf(`{"id":"x%d","run":"ended","type":"paid","data":1}`, i))
		s.event("shop", fmt.Sprintf(`{"id":"u%d","run":"r","type":"shipped","data":1}`, i))
		s.event("shop", fmt.Sprintf(`{"id":"m%d"}`, i))
		s.event("shop", fmt.Sprintf(`{"id":"h%d","run":"later","type":"paid","data":1}`, i))
		s.event("impatient", fmt.Sprintf(`{"id":"n%d","run":"later","type":"paid","data":1}`, i))
		s.event("shop", `{`)
		s.event("shop", body, "Content-Type", "text/plain")
		s.call("POST", "/ingress/shop", body, "X-Shop-Signature", "s=00")
		s.call("POST", "/ingress/shop", body)
		s.event(fmt.Sprint("nobody", i), body)
	}
	for i := range n {
		s.event("shop", fmt.Sprintf(`{"id":"full%d","run":"later","type":"paid","data":1}`, i))
	}
	got := map[string]uint64{}
	for _, c := range s.receiver.Counts() {
		got[strings.TrimSpace(c.Source+" "+c.Outcome+" "+c.Reason)] = c.Times
	}
	want := map[string]uint64{
		"shop accepted": n, "shop duplicate": n, "shop conflict": n, "shop ignored run-ended": n, "shop ignored signal-not-declared": n,
		"shop ignored unmapped": n, "shop held": n, "impatient ignored run-not-found": n, "shop invalid": 2 * n, "shop denied mismatch": n,
		"shop denied absent": n, "shop busy": n,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
