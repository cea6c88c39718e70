package gateway

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// The route that makes links says what is wrong, and makes the same one every time.
func TestPage_links(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{For: 3_600_000})
	s.asks("known", askInput{Name: "known"})
	s.asks("hidden", askInput{Name: "hidden"})
	first := s.mints("r", "ada")
	if first.status != 200 || first.text("recipient") != "ada" || first.text("verdict") != "accepted" || len(first.text("token_id")) != 8 || first.text("expires_at") == "" {
		t.Errorf("%s", first.raw)
	}
	if again := s.mints("r", "ada"); again.raw != first.raw {
		t.Errorf("another link: %s", again.raw)
	}
	checkHeaders(t, first)
	s.page("hidden", "ada")
	for _, tc := range []struct {
		run, body, field string
		status           int
		code             string
	}{
		{"r", `{"recipient":"bob"}`, "/recipient", 400, "invalid-argument"}, // no rule says that one of two is enough
		{"r", `{}`, "/recipient", 400, "invalid-argument"},
		{"r", `{"recipient":1}`, "/recipient", 400, ""},
		{"r", `{"recipient":"a\u0000"}`, "", 400, ""},
		{"r", `{"recipient":"key:1"}`, "/recipient", 400, "invalid-argument"},
		{"r", `{"recipient":"ada","who":1}`, "/who", 400, "invalid-argument"},
		{"known", `{"recipient":"ada"}`, "/hook_id", 400, "invalid-argument"},
		{"nobody", `{"recipient":"ada"}`, "", 404, "not-found"},
	} {
		r := s.call("POST", "/v1/runs/"+tc.run+"/hooks/h/pages", tc.body)
		if r.status != tc.status || tc.code != "" && r.text("code") != tc.code || !strings.Contains(r.raw, tc.field) {
			t.Errorf("%s %s: %d %s", tc.run, tc.body, r.status, r.raw)
		}
	}
	if rows := s.call("GET", "/v1/runs/r/hooks/h", "").raw; strings.Contains(rows, "fha_") {
		t.Errorf("a list shows a link: %s", rows)
	}
	if strings.Contains(s.logs.String(), "fha_") {
		t.Error("a log shows a link")
	}
}

// Guesses are held against who makes them, and told so as a page.
func TestPage_guesses_are_limited(t *testing.T) {
	t.Parallel()
	s := pagesOn(t, pgtest.URL(t), nil, func(c *Config) { c.Limits.Failures = Rate{PerSecond: 0.001, Burst: 5} })
	s.asks("r", askInput{})
	path := s.page("r", "ada")
	for i := range 8 {
		r := s.call("GET", "/approvals/fha_junk", "")
		if i < 5 {
			checkPage(t, r, 404)
			continue
		}
		checkPage(t, r, 429)
		says(t, r, "Too many requests")
	}
	s.read(path) // who has a link is served all the same
}
