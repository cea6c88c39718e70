package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// letters are the paths of all messages, by the run they are for.
func (s *eventSite) letters(query string) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	items, _ := s.call("GET", "/v1/dead-letters?kind=message&limit=200"+query, "").field("items").([]any)
	for _, item := range items {
		l := item.(map[string]any)
		found[fmt.Sprint(l["run_id"])] = fmt.Sprint("/v1/dead-letters/", l["letter_id"])
	}
	return found
}

// decidedMessage checks the answer to a decision.
func (s *eventSite) decidedMessage(what string, r reply, verdict string) {
	s.t.Helper()
	if r.status != 202 || r.text("verdict") != verdict || !strings.HasPrefix(r.text("letter_id"), "m-") {
		s.t.Errorf("%s: got %d %s, want 202 %s", what, r.status, r.raw, verdict)
	}
}

// Messages among the dead letters: found, shown, replayed, discarded.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	for _, body := range []string{
		`{"id":"e1","run":"r","type":"strict","data":{}}`, `{"id":"e2","run":"later","type":"paid","data":{"n":1}}`,
	} {
		s.event("shop", body)
	}
	s.event("foreign", `{"id":"e3","run":"theirs","type":"paid","data":1}`)
	for query, want := range map[string]string{
		"": "[later r]", "&state=held": "[later]", "&state=dead": "[r]", "&source=shop&limit=1": "[later r]", "&source=nobody": "[]",
		"&reason=payload-schema": "[r]", "&run=later": "[later]", "&state=delivered": "[]",
	} {
		if got := idsOf(t, s.site, "/v1/dead-letters?kind=message"+query, "run_id"); fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
	if got := idsOf(t, s.site, "/v1/dead-letters?limit=5", "run_id"); len(got) != 0 {
		t.Errorf("steps are %v", got)
	}
	all := s.letters("")
	shown := s.call("GET", all["r"], "")
	want := []string{
		"attempt", "deadline", "kind", "letter_id", "message_id", "payload", "reason", "received_at", "run_id", "signal", "source", "state", "verdict",
	}
	if diff := cmp.Diff(want, keys(shown.body)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if shown.text("message_id") != "shop:e1" || shown.text("kind") != "message" || len(shown.text("received_at")) != len("2026-01-01T00:00:00.000000Z") {
		t.Errorf("got %s", shown.raw)
	}
	s.decidedMessage("replay", s.call("POST", all["r"]+"/replay", "{}"), "accepted")
	await(t, "it is as broken as before", func() bool { return s.call("GET", all["r"], "").text("state") == "dead" })
	s.decidedMessage("discard", s.call("POST", all["r"]+"/discard", ""), "accepted")
	s.decidedMessage("discard again", s.call("POST", all["r"]+"/discard", ""), "duplicate")
	checkProblem(t, s.call("POST", all["r"]+"/replay", ""), 409, "letter-decided")
	s.decidedMessage("replay of what waits", s.call("POST", all["later"]+"/replay", ""), "duplicate")
	s.order("later")
	await(t, "it is delivered", func() bool { return s.call("GET", all["later"], "").text("state") == "delivered" })
	checkProblem(t, s.call("POST", all["later"]+"/discard", ""), 409, "letter-decided")

	theirs, _, err := s.box.List(t.Context(), "other", inbox.Filter{})
	if err != nil || len(theirs) != 1 {
		t.Fatal(theirs, err)
	}
	for _, id := range []string{theirs[0].ID, "m-999", "m-0", "m-01", "m-x", "m-", "M-1"} {
		checkProblem(t, s.call("GET", "/v1/dead-letters/"+id, ""), 404, "not-found")
		checkProblem(t, s.call("POST", "/v1/dead-letters/"+id+"/replay", ""), 404, "not-found")
		checkProblem(t, s.call("POST", "/v1/dead-letters/"+id+"/discard", ""), 404, "not-found")
	}
	for _, query := range []string{
		"kind=event", "kind=", "kind=message&name=a", "kind=step&source=a", "source=a", "kind=message&state=open", "kind=message&limit=0",
		"kind=message&cursor=junk", "kind=message&run=%20", "kind=message&reason=", "kind=message&kind=step",
	} {
		checkProblem(t, s.call("GET", "/v1/dead-letters?"+query, ""), 400, "invalid-argument")
	}
}

// Who may end runs may not decide about messages, and the other way round.
func TestMessages_have_a_scope_of_their_own(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	s.event("shop", `{"id":"e1","run":"r","type":"strict","data":{}}`)
	path := s.letters("")["r"]
	for _, tt := range []struct {
		method, path string
		needs        access.Scope
	}{
		{"GET", path, access.RunsRead},
		{"POST", path + "/replay", access.IngressAdmin},
		{"POST", path + "/discard", access.IngressAdmin},
		{"POST", "/v1/dead-letters/1/replay", access.RunsCancel},
	} {
		var has []access.Scope
		s.gw.authenticate = func(*fiber.Ctx, *call) (access.Principal, error) {
			return access.Principal{Namespace: spec.DefaultNamespace, Scopes: has}, nil
		}
		has = slices.DeleteFunc(access.AllScopes(), func(scope access.Scope) bool { return scope == tt.needs })
		checkProblem(t, s.call(tt.method, tt.path, ""), 403, "forbidden")
		has = []access.Scope{tt.needs}
		if r := s.call(tt.method, tt.path, ""); r.status == 403 {
			t.Errorf("%s %s with %s: got %d", tt.method, tt.path, tt.needs, r.status)
		}
	}
}

// A gateway without sources and without an inbox has neither, and says so as of anything that is not there.
func TestIngress_without_sources(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	checkProblem(t, s.call("POST", "/ingress/shop", "{}"), 404, "not-found")
	checkProblem(t, s.call("GET", "/v1/dead-letters/m-1", ""), 404, "not-found")
	checkProblem(t, s.call("POST", "/v1/dead-letters/m-1/replay", ""), 404, "not-found")
	checkProblem(t, s.call("POST", "/v1/dead-letters/m-1/discard", ""), 404, "not-found")
	if got := idsOf(t, s, "/v1/dead-letters?kind=message", "run_id"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// A source that has no room is busy, which is no loss.
func TestIngress_full(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources, func(c *inbox.Config) { c.Room = 1 })
	s.wantEvent("early", s.event("shop", `{"id":"1","run":"r","type":"paid","data":1}`), 202, "held", "")
	second := `{"id":"2","run":"r","type":"paid","data":1}`
	checkBusy(t, func() reply { return s.event("shop", second) })
	s.order("r")
	s.wantEvent("its run is there", s.event("shop", second), 202, "accepted", "")
}

// C71: a database that is gone is our fault; the retry after it is back is the first delivery, of what is held, too.
func TestIngress_the_database_is_down(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	s := eventSiteOn(t, server.URL(), shopSources)
	s.order("r")
	s.wantEvent("early", s.event("shop", `{"id":"0","run":"later","type":"paid","data":1}`), 202, "held", "")
	server.Kill()
	const one, early = `{"id":"1","run":"r","type":"paid","data":1}`, `{"id":"2","run":"later","type":"paid","data":1}`
	for range 2 {
		checkBusy(t, func() reply { return s.event("shop", one) })
		checkBusy(t, func() reply { return s.event("shop", early) })
	}
	checkProblem(t, s.call("POST", "/ingress/shop", one), 401, "signature-invalid")
	pgtest.Restart(t, server)
	var r reply
	await(t, "the retry is taken", func() bool { r = s.event("shop", one); return r.status != 503 })
	s.wantEvent("after it", r, 202, "accepted", "")
	s.wantEvent("early, after it", s.event("shop", early), 202, "held", "")
	s.order("later")
	await(t, "what was held is delivered", func() bool { return len(s.signalsOf("later")) == 2 })
}

// No secret, no signature and no payload is in a log, and no secret is in the database.
func TestC67_events_are_searched_for(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	const mark = "MARKED-7f3a"
	var answers strings.Builder
	for i, body := range []string{
		`{"id":"` + mark + `1","run":"r","type":"paid","data":"` + mark + `"}`, `{"id":"` + mark + `2","run":"` + mark + `","type":"paid","data":"` + mark + `"}`,
		`{"id":"` + mark + `3","type":"paid","` + mark + `":1}`, `{"id":"` + mark + `4","run":"r","type":"strict","data":"` + mark + `"}`,
		`{"id":"` + mark + `5","run":"r","type":"` + mark + `","data":1}`, `{"` + mark + `":1,"` + mark + `":2}`, mark,
	} {
		for _, r := range []reply{
			s.event("shop", body), s.event("keeping", body), s.event("asking", body), s.event(mark, body),
			s.call("POST", "/ingress/shop", body, "X-Shop-Signature", mark+shopSign(body)),
		} {
			// Who sent a payload may be shown where in it the fault is.
			fmt.Fprintln(&answers, i, r.status, r.header, strings.ReplaceAll(r.raw, `/`+mark, ""))
		}
	}
	log, dumped := s.logs.String(), dump(t, s.url)
	for where, text := range map[string]string{"the log": log, "an answer": answers.String()} {
		if i := strings.Index(text, mark); i >= 0 {
			t.Errorf("%s has what was sent: %.200s", where, text[max(0, i-100):])
		}
	}
	for where, text := range map[string]string{"the log": log, "an answer": answers.String(), "the database": dumped} {
		if strings.Contains(text, shopSecret) || strings.Contains(text, shopSign(mark)[2:]) {
			t.Errorf("%s has a secret or a signature", where)
		}
	}
	if !strings.Contains(log, `"secret":"first"`) || !strings.Contains(log, `"reason":"unmapped"`) {
		t.Error("the log does not say which secret it was, or why an event is ignored")
	}
}

// A source has a limit of its own, which strangers who sign nothing do not use up.
func TestIngress_limit_of_a_source(t *testing.T) {
	t.Parallel()
	s := newEventSite(t, shopSources)
	s.order("r")
	fixed := serveOn(t, s.gw.engine, func(c *Config) {
		c.Ingress, c.Inbox = s.receiver, s.box
		c.Limits.Source = Rate{PerSecond: 0.001, Burst: 3}
	})
	const body = `{"id":"a","run":"r","type":"paid","data":1}`
	send := func(signature string) reply {
		return fixed.call("POST", "/ingress/shop", body, "X-Shop-Signature", signature)
	}
	for range 10 {
		checkProblem(t, send("s=00"), 401, "signature-invalid")
	}
	for i := range 3 {
		if r := send(shopSign(body)); r.status != 202 {
			t.Errorf("%d: got %d %s", i, r.status, r.raw)
		}
	}
	checkProblem(t, send(shopSign(body)), 429, "rate-limited")
	if r := fixed.call("POST", "/ingress/impatient", body, "X-Shop-Signature", shopSign(body)); r.status != 200 {
		t.Errorf("another source: got %d %s", r.status, r.raw)
	}
}
