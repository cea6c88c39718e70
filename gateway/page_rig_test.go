package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// askSpec declares hooks of every kind that pages tell apart; the input is the hook.
var askSpec = spec.WorkflowSpec{
	Name: "test.ask", Version: "1", Signals: []spec.Signal{{Name: "end"}},
	Hooks: []spec.Hook{
		{Name: "plain", Description: "Whether the money leaves the house."},
		{Name: "sure", Confirm: true},
		{Name: "discreet", HidesDecider: true},
		{Name: "typed", Schema: json.RawMessage(`{"type":"object","properties":{"comment":{"type":"string","minLength":3},"reviewer":{"enum":["ada","bob"]}},"required":["comment"]}`)},
		{Name: "hidden", Audience: spec.Internal},
		{Name: "known", Requires: spec.Credential},
	},
}

// askInput is the input of test.ask.
type askInput struct {
	Name string            `json:"name"` // of the hook; empty: plain
	Meta spec.HookMetadata `json:"meta"`
	For  int64             `json:"for"` // milliseconds until it expires; 0: never
}

func ask(c *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[askInput](c)
	if err != nil {
		return engine.Decision{}, err
	}
	if c.HookState("h") == engine.Answered {
		var answer json.RawMessage
		if answer, _, err = engine.HookPayload[json.RawMessage](c, "h"); err != nil {
			return engine.Decision{}, err
		}
		return c.Complete(map[string]any{"by": c.HookActor("h"), "answer": answer}), nil
	}
	if _, told, err := engine.SignalPayload[any](c, "end"); err != nil || told {
		return c.Complete(nil), err
	}
	opts := []engine.HookOption{engine.As(in.Name), engine.Metadata(in.Meta)}
	if in.For > 0 {
		opts = append(opts, engine.ExpiresIn(time.Duration(in.For)*time.Millisecond))
	}
	return c.Await(c.CreateHook("h", opts...), c.WaitForSignal("end", "end")), nil
}

// pageSite is a site whose runs ask people.
type pageSite struct {
	*site
	eng *engine.Engine
}

func newPages(t *testing.T) *pageSite {
	t.Helper()
	return pagesOn(t, pgtest.URL(t), nil, nil)
}

func pagesOn(t *testing.T, database string, settings func(*engine.Config), change func(*Config)) *pageSite {
	t.Helper()
	eng := bareEngine(t, database, settings)
	if err := eng.Register(askSpec, ask); err != nil {
		t.Fatal(err)
	}
	run(t, eng)
	s := serveOn(t, eng, change)
	s.client = noRedirects()
	return &pageSite{site: s, eng: eng}
}

// asks starts a run that asks, and waits for its hook.
func (s *pageSite) asks(run string, in askInput) {
	s.t.Helper()
	if in.Name == "" {
		in.Name = "plain"
	}
	input, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	if r := s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.ask","run_id":%q,"input":%s}`, run, input)); r.status != 201 {
		s.t.Fatalf("start: %d %s", r.status, r.raw)
	}
	await(s.t, "the hook is there", func() bool { return s.hookState(run) != "" })
}

// mints asks for the link of a person.
func (s *pageSite) mints(run, person string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/runs/"+run+"/hooks/h/pages", fmt.Sprintf(`{"recipient":%q}`, person))
}

// page is the path of a person's page.
func (s *pageSite) page(run, person string) string {
	s.t.Helper()
	r := s.mints(run, person)
	link := r.text("url")
	if r.status != 200 || !strings.HasPrefix(link, publicURL+"/approvals/fha_") {
		s.t.Fatalf("page: %d %s", r.status, r.raw)
	}
	return strings.TrimPrefix(link, publicURL)
}

var nonceField = regexp.MustCompile(`name="nonce" value="([^"]*)"`)

// nonce is that of the form of a page; empty where it has none.
func nonceOf(r reply) string {
	found := nonceField.FindStringSubmatch(r.raw)
	if found == nil {
		return ""
	}
	return found[1]
}

// read gets a page and its nonce.
func (s *pageSite) read(path string) (reply, string) {
	s.t.Helper()
	r := s.call("GET", path, "")
	checkPage(s.t, r, 200)
	return r, nonceOf(r)
}

// send posts fields as a browser does: name, value, name, value.
func (s *pageSite) send(path string, fields ...string) reply {
	s.t.Helper()
	return s.call("POST", path, formText(fields...), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "document")
}

func formText(fields ...string) string {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return form.Encode()
}

// decides is a person who opens the page and decides.
func (s *pageSite) decides(path, decision, comment string) reply {
	s.t.Helper()
	_, nonce := s.read(path)
	return s.send(path, "nonce", nonce, "decision", decision, "comment", comment)
}

// checkPage checks an answer for people: HTML of one heading under the headers of a page.
func checkPage(t *testing.T, r reply, status int) {
	t.Helper()
	if r.status != status {
		t.Fatalf("got %d, want %d: %s", r.status, status, r.raw)
	}
	checkHeaders(t, r)
	checkPageHeaders(t, r)
	if got := r.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type: %q", got)
	}
	if n := strings.Count(r.raw, "<h1"); n != 1 || !strings.HasPrefix(r.raw, "<!DOCTYPE html>\n<html lang=\"en\">") {
		t.Errorf("%d headings: %s", n, r.raw)
	}
	if strings.Contains(strings.ToLower(r.raw), "<script") || strings.Contains(r.raw, "fhk_") || strings.Contains(r.raw, "fha_") {
		t.Errorf("a script or a token: %s", r.raw)
	}
}

func checkPageHeaders(t *testing.T, r reply) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Referrer-Policy":         "no-referrer", "X-Robots-Tag": "noindex", "X-Frame-Options": "DENY",
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := r.header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if c := r.header.Get("Set-Cookie"); c != "" {
		t.Errorf("a cookie: %s", c)
	}
}

// checkKept checks that a decision was taken.
func checkKept(t *testing.T, r reply, path string) {
	t.Helper()
	if r.status != 303 || r.header.Get("Location") != "./"+strings.TrimPrefix(path, "/approvals/") {
		t.Fatalf("got %d to %q: %s", r.status, r.header.Get("Location"), r.raw)
	}
	checkHeaders(t, r)
	checkPageHeaders(t, r)
}

// says checks that a page holds texts.
func says(t *testing.T, r reply, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.raw, text) {
			t.Errorf("%q is missing in %s", text, r.raw)
		}
	}
}

// ended waits for the run and gives its output.
func (s *pageSite) ended(run string) string {
	s.t.Helper()
	s.awaitStatus(run, engine.StatusCompleted)
	r := s.call("GET", "/v1/runs/"+run, "")
	text, err := json.Marshal(r.field("output"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *pageSite) stillOpen(run string) {
	s.t.Helper()
	if state := s.hookState(run); state != "active" {
		s.t.Fatalf("the hook of %s is %s", run, state)
	}
}

// together calls fn n times at once.
func together(n int, fn func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { fn(i) })
	}
	group.Wait()
}

// execute changes the database behind the engine's back.
func execute(t *testing.T, database, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// noRedirects is a client that shows redirects.
func noRedirects() *http.Client {
	return &http.Client{
		Transport: client.Transport, Timeout: client.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
