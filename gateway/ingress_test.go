package gateway

import (
	"fmt"
	"net/http"
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
