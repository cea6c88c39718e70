package gateway

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// 16, 18, C60, C61: nothing but the token itself answers the hook. What mail clients and the curious make of it is one
// answer, and the query is not looked at.
func TestToken_16_18_variants_are_unknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	other := s.open("r2", doorInput{Hook: "ask"})
	want := anonymous(s.answer(junkToken, `1`))
	for name, variant := range map[string]string{
		"lower case":           strings.ToLower(token),
		"upper case":           strings.ToUpper(token),
		"slash behind":         token + "/",
		"dot behind":           token + ".",
		"bracket behind":       token + "%3E",
		"space behind":         token + "%20",
		"one more":             token + "0",
		"one less":             token[:len(token)-1],
		"checksum altered":     token[:len(token)-1] + flip(token[len(token)-1]),
		"secret altered":       token[:10] + flip(token[10]) + token[11:],
		"checksum of another":  token[:47] + other[47:],
		"prefix altered":       "fha_" + token[4:],
		"without prefix":       token[4:],
		"percent-encoded":      "%66" + token[1:],
		"double encoding":      "%2566" + token[1:],
		"with a NUL":           token + "%00",
		"random, good form":    "fhk_" + strings.Repeat("A", 43) + "AAAAAA",
		"empty":                "%20",
		"matrix parameter":     token + ";a=b",
		"token in the query":   junkToken + "?token=" + token,
		"other case of prefix": "FHK_" + token[4:],
	} {
		if got := anonymous(s.answer(variant, `1`)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, path := range []string{
		"/Callbacks/flow/hooks/", "/callbacks/flow/HOOKS/", "/callbacks//flow/hooks/", "/callbacks/flow/./hooks/", "/callbacks%2Fflow/hooks/",
	} {
		if got := anonymous(s.one(post(path+token, "Content-Length: 1", "Connection: close", "", "1"))); !strings.HasPrefix(got, "404 ") {
			t.Errorf("%s: got %s", path, got)
		}
	}
	for _, run := range []string{"r", "r2"} {
		if state := s.hookState(run); state != "active" {
			t.Errorf("the hook of %s is %s", run, state)
		}
	}
	checkAccepted(t, s.answer(token+"?x=1&token="+other+"#frag", `1`))
}

func flip(b byte) string {
	if b == 'a' {
		return "b"
	}
	return "a"
}

func TestToken_as_a_bearer_credential(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	const path = "/callbacks/flow/hooks"
	for name, header := range map[string]string{
		"basic": "Basic " + token, "no scheme": token, "no token": "Bearer", "empty token": "Bearer ",
	} {
		r := s.call("POST", path, `1`, "Authorization", header)
		checkProblem(t, r, 401, "unauthorized")
		if r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no challenge", name)
		}
	}
	checkProblem(t, s.call("POST", path, `1`), 401, "unauthorized")
	checkProblem(t, s.call("POST", path+"?token="+token, `1`), 401, "unauthorized")
	first := s.call("POST", path, `1`, "Authorization", "bearer "+token)
	checkAccepted(t, first)
	checkDuplicate(t, s.answer(token, `1.0`), first)
}

// 21, C64, X12: closed, unknown and internal are three states and two answers; see also the table of verdicts.
func TestToken_21_closed_is_gone_and_unknown_is_unknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	s.ends("r", "complete", engine.StatusCompleted)
	checkClosed(t, s.answer(token, `1`), "run_ended")
	checkProblem(t, s.answer(junkToken, `1`), 404, "not-found")
}

func TestC64_an_internal_hook_is_unknown_by_token_and_open_by_ids(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "internal"})
	checkProblem(t, s.answer(token, `1`), 404, "not-found")
	checkProblem(t, s.call("DELETE", "/callbacks/flow/hooks/"+token, ""), 404, "not-found")
	checkAccepted(t, s.call("POST", "/v1/runs/r/hooks/h/resume", `1`))
}

// 57: reading a link never acts, however often.
func TestToken_57_reading_a_link_has_no_effect(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	for i := range 100 {
		method := []string{"GET", "HEAD"}[i%2]
		r := s.call(method, "/callbacks/flow/hooks/"+token, "", "Range", "bytes=0-1", "Sec-Purpose", "prefetch")
		if r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "POST, DELETE" {
			t.Fatalf("%s: got %d", method, r.status)
		}
	}
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
	checkAccepted(t, s.answer(token, `1`))
}

func TestX12_no_method_but_POST_answers_a_hook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "BREW"} {
		r := s.one(method + " /callbacks/flow/hooks/" + token + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1")
		if r.status/100 != 4 {
			t.Errorf("%s: got %d", method, r.status)
		}
		if strings.Contains(r.raw, token) {
			t.Errorf("%s: the answer repeats the token", method)
		}
	}
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
}

func TestToken_withdrawal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	soft := s.open("soft", doorInput{Hook: "soft"})
	firm := s.open("firm", doorInput{Hook: "ask"})

	checkProblem(t, s.call("DELETE", "/callbacks/flow/hooks/"+firm, ""), 403, "forbidden")
	first := s.call("DELETE", "/callbacks/flow/hooks/"+soft, "")
	checkMessage(t, first, 200, "disposed", "accepted")
	if first.field("receipt/run_id") != nil || first.field("receipt/hook_id") != nil {
		t.Error("who holds a token only is told the run")
	}
	again := s.call("DELETE", "/callbacks/flow/hooks/"+soft, "{}")
	checkMessage(t, again, 200, "duplicate", "duplicate")
	checkClosed(t, s.answer(soft, `1`), "disposed")

	r := s.call("POST", "/v1/hooks/dispose", `{"token":"`+firm+`"}`)
	checkMessage(t, r, 200, "disposed", "accepted")
	checkClosed(t, s.answer(firm, `1`), "disposed")
}

// C65: a callback URL opens one hook and nothing else.
func TestC65_a_token_is_good_for_one_hook_and_one_verb(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	s := serveOn(t, eng, nil)
	token := s.open("r", doorInput{Hook: "ask"})
	closed := serveOn(t, eng, func(c *Config) { c.OpenAPI = false })
	for _, tc := range [][2]string{
		{"GET", "/v1/runs"},
		{"GET", "/v1/runs/r"},
		{"GET", "/v1/hooks"},
		{"POST", "/v1/runs/r/cancel"},
		{"POST", "/v1/runs/r/signals/end"},
		{"POST", "/v1/runs/r/hooks/h/resume"},
		{"POST", "/v1/runs/r/hooks/h/token"},
		{"POST", "/v1/hooks/dispose"},
		{"GET", "/v1/workflows"},
		{"POST", "/v1/runs"},
	} {
		r := closed.call(tc[0], tc[1], "", "Authorization", "Bearer "+token)
		checkProblem(t, r, 401, "unauthorized")
		if r.header.Get("WWW-Authenticate") != challengeInvalid {
			t.Errorf("%v: no challenge", tc)
		}
	}
	for _, path := range []string{"", "/", "/" + token + "/hooks", "/" + token[:20]} {
		if r := closed.call("GET", "/callbacks/flow/hooks"+path, ""); r.status/100 != 4 {
			t.Errorf("%s: got %d", path, r.status)
		}
	}
	checkProblem(t, closed.call("DELETE", "/callbacks/flow/hooks/"+token, ""), 403, "forbidden")
	checkAccepted(t, closed.answer(token, `1`))
}

// C58, C59, C66: a link is made of the configured base, is the same on every call and after the hook was read again,
// and works behind a proxy that strips the base's path.
func TestC66_the_link_of_a_hook_is_one_link(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), nil)
	token := s.open("r", doorInput{Hook: "ask"})
	second := serveOn(t, engineOn(t, url, nil), nil)
	for _, at := range []*site{s, second, s} {
		r := at.call("POST", "/v1/runs/r/hooks/h/token", `{}`, "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "ftp")
		if r.status != 200 || r.text("token") != token {
			t.Fatalf("another token: %d", r.status)
		}
		if want := publicURL + "/callbacks/flow/hooks/" + token; r.text("url") != want {
			t.Error("the link is not made of the public URL")
		}
		if len(r.text("token_id")) != 8 {
			t.Errorf("token_id: got %q", r.text("token_id"))
		}
	}
	checkAccepted(t, second.answer(token, `1`))
	checkProblem(t, s.call("POST", "/v1/runs/r/hooks/h/token", ``), 409, "hook-already-resumed")
}

func TestC58_links_come_from_the_public_URL_only(t *testing.T) {
	t.Parallel()
	eng := engineOn(t, pgtest.URL(t), func(c *engine.Config) { c.PublicURL = "" })
	if _, err := New(Config{Engine: eng}); !errors.Is(err, ErrNoPublicURL) {
		t.Errorf("a gateway without a public URL: got %v", err)
	}
	s := serveOn(t, eng, nil)
	s.start("r", doorInput{Hook: "ask"})
	await(t, "the hook is there", func() bool { return s.hookState("r") == "active" })
	checkProblem(t, s.call("POST", "/v1/runs/r/hooks/h/token", ``), 500, "internal")
}

func TestC59_a_proxy_may_change_everything_around_the_path(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	first := s.call("POST", "/callbacks/flow/hooks/"+token+"?b=2&a=1", `1`, "X-Forwarded-Prefix", "/base", "X-Forwarded-Proto", "https")
	checkAccepted(t, first)
	r := s.one(post("/callbacks/flow/hooks/"+token, "Host: other:8443", "Content-Length: 1", "", "1"))
	checkProblem(t, r, 400, "malformed-request") // two hosts
	r = s.one("POST /callbacks/flow/hooks/" + token + " HTTP/1.1\r\nHost: other:8443\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1")
	checkDuplicate(t, r, first)
}

func TestC60_one_link_does_not_open_another_hook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := s.open("r1", doorInput{Hook: "ask"}), s.open("r2", doorInput{Hook: "ask"})
	for _, mixed := range []string{one[:30] + two[30:], two[:30] + one[30:], one[:47] + two[47:]} {
		checkProblem(t, s.answer(mixed, `1`), 404, "not-found")
	}
	checkAccepted(t, s.answer(one, `1`))
	if state := s.hookState("r2"); state != "active" {
		t.Errorf("the other hook is %s", state)
	}
}

// C61: the alphabet of a token survives every encoder, so a link needs no decoding.
func TestC61_a_token_needs_no_escapes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	if len(token) != 53 || strings.Trim(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		t.Error("the token has characters that are escaped in URLs")
	}
	for _, mangled := range []string{token + ".", token + "%3E", token + "%2E", "%3C" + token + "%3E"} {
		checkProblem(t, s.answer(mangled, `1`), 404, "not-found")
	}
	checkAccepted(t, s.answer(token, `1`))
}

func TestToken_supplied_by_the_host(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const token = "host-supplied-token_0123456789"
	s.open("r", doorInput{Hook: "ask", Token: token})
	checkProblem(t, s.call("POST", "/v1/runs/r/hooks/h/token", ``), 409, "token-host-supplied")
	checkAccepted(t, s.answer(token, `1`))
}
