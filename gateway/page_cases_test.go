package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// Section H of the cases: robots and humans.

// noticeSpec is a workflow that has a step tell somebody of its hook, and reads the step anew in each turn.
var noticeSpec = spec.WorkflowSpec{Name: "test.notice", Version: "1", Signals: []spec.Signal{{Name: "poke"}}}

func notice(c *engine.Context) (engine.Decision, error) {
	asked := c.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithRequester("carol")))
	told := c.RunStep("tell", "tell", "h", spec.RetryPolicy{})
	if c.HookState("h") == engine.Answered {
		out, _, err := engine.StepOutput[json.RawMessage](c, "tell")
		return c.Complete(out), err
	}
	return c.Await(asked, told, c.WaitForSignal(engine.ID("poke", len(c.Signals("poke"))), "poke")), nil
}

// links are all that any surface gives out for one hook: the API, and what a step sends.
type links struct {
	*pageSite
	mu   sync.Mutex
	sent []string
}

func newLinks(t *testing.T) *links {
	t.Helper()
	eng := bareEngine(t, pgtest.URL(t), nil)
	l := &links{}
	tell := func(ctx context.Context, step *engine.Step) (any, error) {
		for _, link := range []func() (string, error){
			func() (string, error) { return step.HookURL(ctx, "h") },
			func() (string, error) { return step.PageURL(ctx, "h", "ada") },
		} {
			url, err := link()
			if err != nil {
				return nil, err
			}
			l.mu.Lock()
			l.sent = append(l.sent, url)
			l.mu.Unlock()
		}
		return "told", nil
	}
	for _, err := range []error{eng.Register(noticeSpec, notice), eng.RegisterStep("tell", tell), eng.Register(askSpec, ask)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, eng)
	l.pageSite = &pageSite{site: serveOn(t, eng, nil), eng: eng}
	l.client = noRedirects()
	return l
}

// all starts a run and gives the paths of every link to its hook.
func (l *links) all(run string) []string {
	l.t.Helper()
	if r := l.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.notice","run_id":%q}`, run)); r.status != 201 {
		l.t.Fatalf("start: %d %s", r.status, r.raw)
	}
	await(l.t, "the links are sent", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.sent) == 2 })
	found := []string{l.call("POST", "/v1/runs/"+run+"/hooks/h/token", "").text("url"), l.mints(run, "ada").text("url")}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.sent {
		if text != found[0] && text != found[1] {
			l.t.Errorf("a step sends another link than the API")
		}
	}
	for i, text := range found {
		found[i] = strings.TrimPrefix(text, publicURL)
	}
	return found
}

// 57, C73, C74, C75, C76: whatever fetches a link, however often and under whatever name, decides nothing, on any link that
// any surface gives out; and then a person's decision counts.
func TestC73_fetching_a_link_decides_nothing(t *testing.T) {
	t.Parallel()
	s := newLinks(t)
	paths := s.all("r")
	agents := []string{"", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Slackbot-LinkExpanding 1.0", "curl/8"}
	for _, path := range paths {
		for i := range 100 {
			for _, method := range []string{"GET", "HEAD"} {
				headers := []string{"User-Agent", agents[i%4]}
				switch i % 5 {
				case 1:
					headers = append(headers, "Range", "bytes=0-10")
				case 2:
					headers = append(headers, "Sec-Purpose", "prefetch;prerender")
				case 3:
					headers = append(headers, "X-HTTP-Method-Override", "POST", "Content-Type", "application/x-www-form-urlencoded")
				}
				r := s.call(method, path+[]string{"", "?decision=approve", "?approved=true&nonce=x"}[i%3], "", headers...)
				switch page := strings.HasPrefix(path, "/approvals/"); {
				case !page && r.status != 405, page && i%5 != 2 && r.status != 200, page && i%5 == 2 && (r.status != 204 || r.raw != ""):
					t.Fatalf("%s %s: %d", method, headers, r.status)
				}
				checkHeaders(t, r)
			}
		}
		for _, method := range []string{"OPTIONS", "TRACE", "PUT", "PATCH"} {
			checkProblem(t, s.call(method, path, ""), 405, "method-not-allowed")
		}
	}
	s.stillOpen("r")
	if v := s.gw.Stats(); v.Prefetches != 40 || v.PageViews != 160 {
		t.Errorf("counted %+v", v)
	}
	checkKept(t, s.decides(paths[1], "approve", ""), paths[1])
}

// C75: a page has one link. There is no link to approve and none to reject that a scanner could follow.
func TestC75_nothing_on_a_page_decides_when_followed(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Name: "sure", Meta: spec.HumanApproval("x")})
	path := s.page("r", "ada")
	page, _ := s.read(path)
	asked := s.decides(path, "approve", "")
	for _, r := range []reply{page, asked} {
		for _, at := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(r.raw, -1) {
			if at[1] != "" && at[1] != "../assets/approval.css" {
				t.Errorf("the page leads to %q", at[1])
			}
		}
		if strings.Contains(r.raw, "refresh") || strings.Contains(r.raw, " on") && regexp.MustCompile(`\son\w+=`).MatchString(r.raw) {
			t.Errorf("the page acts by itself: %s", r.raw)
		}
	}
	s.stillOpen("r")
}

// C78: a robot that presses the only button of a page, within no time, has chosen nothing.
func TestC78_the_only_button_decides_nothing(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	for _, name := range []string{"plain", "sure"} {
		s.asks(name, askInput{Name: name, Meta: spec.HumanApproval("x")})
		path := s.page(name, "ada")
		_, nonce := s.read(path)
		for range 3 {
			r := s.send(path, "nonce", nonce, "comment", "I am a robot")
			checkPage(t, r, 400)
			says(t, r, "Choose one of the two.", "I am a robot")
			nonce = nonceOf(r)
		}
		s.stillOpen(name)
	}
}

// C81: silence is no approval, at the deadline and after it, with or without a database.
func TestC81_silence_is_no_approval(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{For: 5000, Meta: spec.HumanApproval("x")})
	path := s.page("r", "ada")
	_, nonce := s.read(path)
	await(t, "it expires", func() bool { return s.hookState("r") == "expired" })
	checkPage(t, s.send(path, "nonce", nonce, "decision", "approve"), 410)
	if history := s.call("GET", "/v1/runs/r/history", "").raw; strings.Contains(history, "hook.resumed") {
		t.Errorf("history %s", history)
	}
}

// C82: who asks does not approve: on the page, by the API under any credential, by the hook's token, or by a delegate that is
// no person; and somebody else still can.
func TestC82_self_approval_by_every_route(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	s := pagesOn(t, url, nil, func(cfg *Config) { cfg.OpenAPI, cfg.Access = false, c.verifier })
	_, key := c.key("default", nil)
	s.site.credential = key
	s.asks("r", askInput{Meta: spec.HumanApproval("x").WithRequester("Ann").WithRule(1, 2)})
	token := s.call("POST", "/v1/runs/r/hooks/h/token", "").text("token")
	paths := []string{s.page("r", "ann"), s.page("r", "bob")}
	own, _ := s.read(paths[0])
	says(t, own, "Who asks does not decide", "Asked by")
	if strings.Contains(own.raw, "<form") {
		t.Error("who asks gets a form")
	}
	_, nonce := s.read(paths[1])
	page := s.eng.NewPageForm(strings.TrimPrefix(paths[0], "/approvals/"), shownBy(t, s.eng, paths[0]), "")
	r := s.send(paths[0], "nonce", page, "decision", "approve")
	checkPage(t, r, 403)
	says(t, r, "You asked for this")
	resume := "/v1/runs/r/hooks/h/resume"
	for name, r := range map[string]reply{
		"a JWT of who asks":     s.as(c.jwt("default", map[string]any{"sub": "ann"})).call("POST", resume, `true`),
		"the same, exchanged":   s.as(c.exchanged(c.jwt("default", map[string]any{"sub": "ANN"}), "")).call("POST", resume, `true`),
		"an API key":            s.call("POST", resume, `true`),
		"an API key, exchanged": s.as(c.exchanged(key, "")).call("POST", resume, `true`),
		"the hook's token":      s.call("POST", "/callbacks/flow/hooks/"+token, `true`),
		"the same as a bearer":  s.call("POST", "/callbacks/flow/hooks", `true`, "Authorization", "Bearer "+token),
	} {
		if r.status != 403 || r.text("code") != "forbidden" || r.text("verdict") != "denied" {
			t.Errorf("%s: %d %s", name, r.status, r.raw)
		}
	}
	s.stillOpen("r")
	checkKept(t, s.send(paths[1], "nonce", nonce, "decision", "approve"), paths[1])
	if out := s.ended("r"); !strings.Contains(out, `"by":"bob"`) {
		t.Errorf("output %s", out)
	}
}

func shownBy(t *testing.T, eng *engine.Engine, path string) [32]byte {
	t.Helper()
	p, err := eng.ApprovalPage(t.Context(), strings.TrimPrefix(path, "/approvals/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Shown
}

// C82 by a source of signed webhooks, where somebody pressed a button and nobody says who: at once, and out of the inbox.
func TestC82_a_source_is_no_person(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	eng := bareEngine(t, url, nil)
	err := eng.Register(spec.WorkflowSpec{Name: "test.asked", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		return c.CreateHook("approval", engine.Metadata(spec.HumanApproval("x").WithRequester("ann"))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := eventSiteOf(t, url, eng, shopSources)
	state := func() string { return s.call("GET", "/v1/runs/r/hooks/approval", "").text("state") }
	s.wantEvent("before the run", s.event("asking", `{"id":"e1","run":"r","data":true}`), 202, "held", "")
	if r := s.call("POST", "/v1/runs", `{"workflow":"test.asked","run_id":"r"}`); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	await(t, "the held event is a dead letter", func() bool {
		return strings.Contains(s.call("GET", "/v1/dead-letters?kind=message", "").raw, string(inbox.ReasonNoPerson))
	})
	s.wantEvent("at once", s.event("asking", `{"id":"e2","run":"r","data":true}`), 202, "ignored", "no-person")
	if state() != "active" {
		t.Errorf("the hook is %s", state())
	}
}

// C85: who is told of a hook is told once, however often the workflow is called again, also by the answer.
func TestC85_a_notification_is_sent_once(t *testing.T) {
	t.Parallel()
	s := newLinks(t)
	paths := s.all("r")
	for i := range 5 {
		checkAccepted(t, s.call("POST", "/v1/runs/r/signals/poke", "1", "Idempotency-Key", fmt.Sprint(i)))
	}
	checkKept(t, s.decides(paths[1], "approve", ""), paths[1])
	s.awaitStatus("r", engine.StatusCompleted)
	if len(s.sent) != 2 {
		t.Errorf("%d links were sent", len(s.sent))
	}
}

// C86: what people and workflows write is text on a page, whatever it looks like.
func TestC86_texts_are_texts(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	const bad = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>javascript:alert(1)`
	meta := spec.HumanApproval(bad+"\u202egpj.exe\u2066\u200b").WithData(bad, bad).WithData("nested", map[string]any{bad: []any{bad, "\u202e"}}).
		WithLabel("k", `<b>"`).WithRule(1, 2)
	s.asks("r", askInput{Name: "typed", Meta: meta})
	path, other := s.page("r", `<i>ada</i>"'`), s.page("r", "bob")
	page, _ := s.read(path)
	refused := s.decides(other, "approve", "<b")
	checkPage(t, refused, 422)
	says(t, refused, "&lt;b")
	checkKept(t, s.decides(other, "reject", bad+" long enough"), other)
	after, _ := s.read(path)
	for _, r := range []reply{page, refused, after} {
		for _, tag := range []string{"<script", "<img", "<i>", "<b>", "\u202e", "\u2066", "\u200b", `'">`, `"'>`} {
			if strings.Contains(r.raw, tag) {
				t.Errorf("%q stands in %s", tag, r.raw)
			}
		}
	}
	says(t, page, "U+202E", "U+2066", "U+200B", "&lt;script&gt;")
	says(t, after, "&lt;script&gt;")
}

// C87: a rule is shown in words.
func TestC87_the_page_says_how_many_are_needed(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Meta: spec.HumanApproval("x").WithRule(1, 3)})
	s.asks("q", askInput{Meta: spec.HumanApproval("x").WithRule(2, 3)})
	r, _ := s.read(s.page("r", "ada"))
	says(t, r, "1 of 3 needed")
	r, _ = s.read(s.page("q", "ada"))
	says(t, r, "2 of 3 needed")
	if r := s.mints("q", "bob"); r.status != 400 {
		t.Errorf("a second page of a hook that two of three must answer: %d %s", r.status, r.raw)
	}
}
