package gateway

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func keepsAudit(c *engine.Config) { c.Audit = true }

// trailOf lists the trail, oldest first, with these members of each entry.
func (s *site) trailOf(path string, members ...string) (lines []string) {
	s.t.Helper()
	r := s.call("GET", path, "")
	items, ok := r.field("items").([]any)
	if r.status != 200 || !ok {
		s.t.Fatalf("%s: %d %s", path, r.status, r.raw)
	}
	for _, item := range items {
		var words []string
		for _, m := range members {
			if word := item.(map[string]any)[m]; word != nil {
				words = append(words, fmt.Sprint(word))
			}
		}
		lines = append([]string{strings.Join(words, " ")}, lines...)
	}
	return lines
}

// Who did what, by every way in, with what was said; what is repeated is not there twice, and nobody unknown is.
func TestAuditTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	open := serveOn(t, engineOn(t, url, keepsAudit), func(cfg *Config) { cfg.Access = c.verifier })
	id, key := c.key("default", nil)
	ofKey, ofJWT := open.as(key), open.as(c.jwt("default", map[string]any{"jti": "token-7"}))

	token := ofKey.open("r", doorInput{Hook: "known", Stay: true})
	checkAccepted(t, ofJWT.signal("r", "note", "s1", `{"n":1}`))
	ofJWT.signal("r", "note", "s1", `{"n":1}`)
	ofJWT.signal("r", "note", "s1", `{"n":2}`)
	open.signal("r", "Note", "s2", `2`)
	checkProblem(t, open.answer(token, `{}`), 401, "unauthorized")
	answered := open.call("POST", "/callbacks/flow/hooks/"+token, `{}`, "Authorization", "Bearer "+key)
	checkAccepted(t, answered)
	checkProblem(t, open.answer(junkToken, `{}`), 404, "not-found")
	checkProblem(t, open.as("fge_no").signal("r", "note", "s3", `1`), 401, "unauthorized")
	open.call("POST", "/v1/runs/nobody/cancel", "")

	members := []string{"kind", "run_id", "name", "identity", "verdict", "why", "actor", "method", "credential", "source"}
	const all = "/v1/audit?limit=200"
	await(t, "the last refusal is there", func() bool { return strings.Contains(open.call("GET", all, "").raw, `"run_not_found"`) })
	actor := "key:" + id
	want := []string{
		"start r test.door r accepted " + actor + " api-key " + id,
		"signal r note s1 accepted " + issuerName + "#ann jwt token-7 api",
		"signal r note s1 conflict differs:payload " + issuerName + "#ann jwt token-7 api",
		"signal r Note s2 invalid signal_undeclared open api",
		"hook_resume r h h accepted " + actor + " api-key " + id + " callback",
		"cancel nobody unknown run_not_found open",
	}
	var got []string
	for _, line := range open.trailOf(all, members...) {
		if strings.HasPrefix(line, "token_minted r h h accepted "+actor+" api-key "+id) {
			continue // each try of the test to learn the token that showed it
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(counted(want), counted(got)); diff != "" { // refusals come a moment later
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, line := range open.trailOf("/v1/audit?kind=signal", "request_id", "peer", "at", "entry_id", "payload_digest") {
		if !strings.Contains(line, " 127.0.0.0/24 ") {
			t.Errorf("an entry has %s", line)
		}
	}
	ids := strings.Join(open.trailOf("/v1/audit?kind=hook_resume", "request_id"), "")
	if ids != answered.header.Get("X-Request-Id") {
		t.Errorf("the answer is of request %s, want %s", ids, answered.header.Get("X-Request-Id"))
	}
	if raw := open.call("GET", all, "").raw; strings.Contains(raw, token) || strings.Contains(raw, key) {
		t.Error("the trail shows a secret")
	}
}

func counted(lines []string) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[l]++
	}
	return n
}

func TestAuditIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	s := serveOn(t, engineOn(t, pgtest.URL(t), keepsAudit), nil)
	s.start("a", doorInput{})
	s.start("b", doorInput{})
	for i := range 5 {
		checkAccepted(t, s.signal("a", "note", fmt.Sprint("s", i), `{"n":1}`))
	}
	for path, want := range map[string]string{
		"/v1/audit":                   "a b s0 s1 s2 s3 s4",
		"/v1/audit?limit=2":           "s3 s4",
		"/v1/audit?run=b":             "b",
		"/v1/runs/a/audit?kind=start": "a",
		"/v1/runs/a/audit?limit=1":    "s4",
		"/v1/audit?kind=signal&run=b": "",
		"/v1/audit?verdict=conflict":  "",
		"/v1/audit?since=" + url.QueryEscape("2100-01-01T00:00:00+01:00"): "",
		"/v1/audit?since=2020-01-01T00:00:00Z&kind=start":                 "a b",
	} {
		if got := strings.TrimSpace(strings.Join(s.trailOf(path, "identity"), " ")); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	second := s.call("GET", "/v1/audit?limit=2", "").text("next_cursor")
	if got := s.trailOf("/v1/audit?limit=2&cursor="+second, "identity"); strings.Join(got, " ") != "s1 s2" {
		t.Errorf("the second page has %v", got)
	}
	for _, bad := range []string{
		"/v1/audit?since=yesterday", "/v1/audit?since=0000-01-01T00:00:00Z", "/v1/audit?kind=junk", "/v1/audit?verdict=duplicate", "/v1/audit?run=%00",
		"/v1/audit?cursor=x", "/v1/audit?limit=0", "/v1/audit?actor=eve", "/v1/runs/a/audit?run=a", "/v1/audit?kind=start&kind=signal",
	} {
		checkProblem(t, s.call("GET", bad, ""), 400, "invalid-argument")
	}
	checkProblem(t, s.call("GET", "/v1/runs/nobody/audit", ""), 404, "not-found")
	checkProblem(t, s.call("GET", "/v1/audit?run=nobody", ""), 404, "not-found")
	s.call("GET", "/v1/runs?traceparent=x", "") // no route knows it
	checkAccepted(t, s.call("POST", "/v1/runs/a/signals/note", `{"n":1}`, "Idempotency-Key", "traced", "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	checkAccepted(t, s.call("POST", "/v1/runs/a/signals/note", `{"n":1}`, "Idempotency-Key", "mistraced", "traceparent", "00-xyz-b7ad6b7169203331-01"))
	if got := s.trailOf("/v1/audit?limit=2", "identity", "trace"); got[0] != "traced 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" || got[1] != "mistraced" {
		t.Errorf("traces: %v", got)
	}
}

// The trail has a scope of its own, which the explanation of a run asks for, too, before it tells of others.
func TestAuditNeedsItsScope(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	s := guarded(t, engineOn(t, url, keepsAudit), c)
	_, full := c.key("default", nil)
	_, reader := c.key("default", nil, access.RunsRead)
	_, auditor := c.key("default", nil, access.AuditRead)
	_, ofRun := c.key("default", func(r *access.KeyRequest) { r.Run = "mine" })
	_, ofHook := c.key("default", func(r *access.KeyRequest) { r.Run, r.Hook = "mine", "h" })
	_, foreign := c.key("other", nil)
	for _, run := range []string{"mine", "theirs"} {
		s.as(full).start(run, doorInput{})
		s.as(full).signal(run, "Note", "s1", `{"n":1}`)
	}
	for _, tc := range []struct {
		who, path string
		status    int
	}{
		{full, "/v1/audit", 200},
		{auditor, "/v1/audit", 200},
		{auditor, "/v1/runs/mine/audit", 200},
		{auditor, "/v1/runs/mine", 403},
		{reader, "/v1/audit", 403},
		{reader, "/v1/runs/mine/audit", 403},
		{ofRun, "/v1/runs/mine/audit", 200},
		{ofRun, "/v1/runs/theirs/audit", 404},
		{ofRun, "/v1/audit", 403},
		{ofHook, "/v1/runs/mine/audit", 404},
		{foreign, "/v1/runs/mine/audit", 404},
		{"", "/v1/audit", 401},
	} {
		if r := s.as(tc.who).call("GET", tc.path, ""); r.status != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.path, r.status, r.raw, tc.status)
		}
	}
	if got := s.as(foreign).trailOf("/v1/audit", "identity"); len(got) != 0 {
		t.Errorf("another namespace sees %v", got)
	}
	const path = "/v1/runs/mine/explain"
	await(t, "the refusal is told", func() bool {
		return strings.Contains(s.as(full).call("GET", path, "").raw, `"sent":"Note","meant":"note","where":"refused"`)
	})
	r := s.as(full).call("GET", path, "")
	if refused, _ := r.field("refusals").([]any); len(refused) != 1 || refused[0].(map[string]any)["why"] != "signal_undeclared" {
		t.Errorf("refusals: %s", r.raw)
	}
	if raw := s.as(reader).call("GET", path, "").raw; strings.Contains(raw, "Note") || strings.Contains(raw, "refus") {
		t.Errorf("who may not read the trail is told of it: %s", raw)
	}
}

// Events are in the trail under their source, at once or when their run has come, and not because they wait.
func TestAuditOfEvents(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := eventSiteOf(t, url, bareEngine(t, url, keepsAudit), shopSources)
	s.event("shop", `{"run":"order-1","type":"paid","id":"e1","data":1}`)
	s.order("order-1")
	await(t, "the early one is delivered", func() bool { return len(s.signalsOf("order-1")) == 1 })
	s.event("shop", `{"run":"order-1","type":"paid","id":"e2","data":1}`)
	s.event("shop", `{"run":"order-1","type":"paid-up","id":"e3","data":1}`)
	await(t, "the refusal is there", func() bool { return len(s.trailOf("/v1/audit?kind=signal", "kind")) == 3 })
	got := s.trailOf("/v1/audit?kind=signal", "name", "verdict", "why", "actor", "method", "credential", "source")
	want := []string{
		"paid accepted source:shop ingress shop ingress", "paid accepted source:shop ingress shop ingress",
		"paid-up invalid signal_undeclared source:shop ingress shop ingress",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
