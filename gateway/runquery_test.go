package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

const inPath = "/v1/runs/r/queries/a%2Fb%20%C3%BC" // the query "a/b ü"

func TestQuery_is_answered_in_every_state(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	check := func(want string) {
		t.Helper()
		for _, r := range []reply{s.call("GET", "/v1/runs/r/queries/hook", ""), s.call("POST", "/v1/runs/r/queries/hook", "null")} {
			if r.status != 200 || r.raw != `{"result":`+want+`,"verdict":"accepted"}` {
				t.Errorf("got %d %s, want %s", r.status, r.raw, want)
			}
			checkHeaders(t, r)
		}
	}
	check(`{"answer":null,"state":"open","unread":0}`)
	checkAccepted(t, s.signal("r", "end", "b", `"block"`))
	s.awaitStatus("r", engine.StatusBlocked)
	checkAccepted(t, s.answer(token, `{ "ok" : "<1.0>" }`))
	checkAccepted(t, s.signal("r", "note", "n", `{"n":1}`))
	check(`{"answer":{"ok":"<1.0>"},"state":"answered","unread":1}`)
	if r := s.call("POST", "/v1/runs/r/cancel", ""); r.status != 202 {
		t.Fatalf("cancel: %d %s", r.status, r.raw)
	}
	check(`{"answer":{"ok":"<1.0>"},"state":"answered","unread":1}`)
	head := s.one("HEAD /v1/runs/r/queries/hook HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n")
	if head.status != 200 || head.raw != "" {
		t.Errorf("HEAD: %d %q", head.status, head.raw)
	}
}

func TestQuery_takes_its_argument_as_the_body(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	for _, headers := range [][]string{nil, {"Content-Type", "application/json; charset=UTF-8"}, {"Content-Type", "application/x+json"}} {
		r := s.call("POST", inPath, `{"n":7,"x":[1.50,"<&>"]}`, headers...)
		if r.status != 200 || r.raw != `{"result":{"n":7,"x":[1.50,"<&>"]},"verdict":"accepted"}` {
			t.Errorf("got %d %s", r.status, r.raw)
		}
	}
}

func TestQuery_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	for _, tc := range []struct {
		method, path, body string
		headers            []string
		want               string
	}{
		{"GET", "/v1/runs/nobody/queries/hook", "", nil, "404 not-found unknown "},
		{"GET", "/v1/runs/r/queries/none", "", nil, "404 query-not-declared unknown "},
		{"GET", "/v1/runs/r/queries/note", "", nil, "404 query-not-declared unknown "},
		{"GET", "/v1/runs/r/queries/", "", nil, "404 not-found unknown "},
		{"GET", "/v1/runs/r/queries/%20", "", nil, "400 invalid-argument invalid /name"},
		{"GET", "/v1/runs/r/queries/%00", "", nil, "400 invalid-argument invalid /name"},
		{"GET", "/v1/runs/r/queries/%FF", "", nil, "400 invalid-argument invalid /name"},
		{"GET", "/v1/runs/r/queries/" + strings.Repeat("x", 256), "", nil, "400 invalid-argument invalid /name"},
		{"GET", "/v1/runs/r/queries/a%252Fb", "", nil, "404 query-not-declared unknown "},
		{"GET", "/v1/runs/r/queries/..%2Fhistory", "", nil, "404 query-not-declared unknown "},
		{"GET", "/v1/runs/r/queries/hook/x", "", nil, "404 not-found unknown "},
		{"GET", "/v1/runs/r/queries/hook?args=1", "", nil, "400 invalid-argument invalid /args"},
		{"POST", "/v1/runs/r/queries/hook?args=1", "1", nil, "400 invalid-argument invalid /args"},
		{"PUT", "/v1/runs/r/queries/hook", "1", nil, "405 method-not-allowed invalid "},
		{"DELETE", "/v1/runs/r/queries/hook", "", nil, "405 method-not-allowed invalid "},
		{"POST", "/v1/runs/r/queries/do", "", nil, "400 malformed-payload invalid "},
		{"POST", "/v1/runs/r/queries/do", "1", []string{"Content-Type", "text/plain"}, "415 unsupported-media-type invalid "},
		{"POST", "/v1/runs/r/queries/do", "1", []string{"Content-Encoding", "gzip"}, "415 unsupported-media-type invalid "},
		{"POST", "/v1/runs/r/queries/do", `"` + strings.Repeat("x", 300<<10) + `"`, nil, "413 payload-too-large invalid "},
		{"POST", "/v1/runs/r/queries/do", `{"a":{"a":1,"a":2}}`, nil, "400 malformed-payload invalid /a/a"},
		{"POST", "/v1/runs/r/queries/do", `{"a":1}`, nil, "422 payload-schema invalid "},
		{"GET", inPath, "", nil, "422 payload-schema invalid "},
		{"POST", inPath, `{"n":"x"}`, nil, "422 payload-schema invalid /n"},
		{"POST", "/v1/runs/r/queries/do", `"refuse"`, nil, "422 query-refused invalid "},
		{"POST", "/v1/runs/r/queries/do", `"panic"`, nil, "500 query-failed busy "},
	} {
		r := s.call(tc.method, tc.path, tc.body, tc.headers...)
		place := ""
		if found, _ := r.field("violations").([]any); len(found) > 0 {
			place = fmt.Sprint(found[0].(map[string]any)["field_path"])
		}
		if got := fmt.Sprintf("%d %s %s %s", r.status, r.text("code"), r.text("verdict"), place); got != tc.want {
			t.Errorf("%s %.60s: got %s, want %s", tc.method, tc.path, got, tc.want)
		}
		checkProblem(t, r, r.status, r.text("code"))
	}
	if r := s.call("POST", "/v1/runs/r/queries/do", `"refuse"`); !strings.Contains(r.raw, `{"field_path":"","message":"not this one"}`) {
		t.Errorf("the handler's words are missing: %s", r.raw)
	}
	if r := s.call("POST", "/v1/runs/r/queries/do", `"panic"`); r.text("cause") != "panic" || strings.Contains(r.raw, "of the test") {
		t.Errorf("got %s", r.raw)
	}
	await(t, "the run has its two events, and no other", func() bool {
		events, _ := s.call("GET", "/v1/runs/r/history", "").field("events").([]any)
		return len(events) == 2
	})
}

// A handler that does not return costs its caller a second, and nobody else anything.
func TestQuery_that_does_not_return(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	r := s.call("POST", "/v1/runs/r/queries/do", `"wait"`)
	checkProblem(t, r, 503, "query-timeout")
	if r.text("cause") != "budget" {
		t.Errorf("got %s", r.raw)
	}
	if r := s.call("GET", "/v1/runs/r/queries/hook", ""); r.status != 200 {
		t.Errorf("another query: %d %s", r.status, r.raw)
	}
	checkAccepted(t, s.answer(token, `1`))
	s.awaitStatus("r", engine.StatusCompleted)
	checkProblem(t, s.call("POST", "/v1/runs/r/queries/do", `"wait"`), 503, "query-timeout") // of an ended run too, and not 410
}

// A gateway without the code of the workflow knows what is declared, and says of the rest that another process may know.
func TestQuery_without_the_code(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), nil)
	s.start("r", doorInput{})
	bare := serveOn(t, bareEngine(t, url, nil), nil)
	checkProblem(t, bare.call("GET", "/v1/runs/r/queries/hook", ""), 503, "code-missing")
	checkProblem(t, bare.call("GET", "/v1/runs/r/queries/none", ""), 404, "query-not-declared")
	checkProblem(t, bare.call("GET", inPath, ""), 422, "payload-schema")
	if r := bare.call("GET", "/v1/workflows/test.door/interface", ""); len(r.field("queries").([]any)) != 3 {
		t.Errorf("got %s", r.raw)
	}
}
