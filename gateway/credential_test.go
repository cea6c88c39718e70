package gateway

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/tokens"
)

// filled is the path of a route with the same word in every place.
func (r route) filled(word string) string { return placeholder.ReplaceAllString(r.pattern, word) }

// 47: a scope opens its own routes and no others, whatever kind of credential has it.
func TestCredentials_47_scopes(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	for _, scope := range access.AllScopes() {
		_, key := c.key("default", nil, scope)
		for kind, credential := range map[string]string{
			"an API key": key, "a JWT": c.jwt("default", map[string]any{"scope": string(scope)}), "an exchanged token": c.exchanged(key, ""),
		} {
			caller := s.as(credential)
			for _, r := range s.gw.routes() {
				if r.needs == "" {
					continue
				}
				got := caller.call(r.method, r.filled("1"), "")
				if r.needs == scope && r.also == "" {
					if got.status == http.StatusUnauthorized || got.status == http.StatusForbidden {
						t.Errorf("%s with %s: %s %s: %d", kind, scope, r.method, r.pattern, got.status)
					}
					continue
				}
				checkProblem(t, got, 403, "forbidden")
				if want := fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, r.scopes()); got.header.Get("WWW-Authenticate") != want {
					t.Errorf("%s: challenge %q, want %q", r.pattern, got.header.Get("WWW-Authenticate"), want)
				}
			}
		}
	}
}

// Who sends no valid credential learns that, and nothing more: not why, and not whether there is what was asked for.
func TestCredentials_refused(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	id, key := c.key("default", nil)
	revoked, revokedKey := c.key("default", nil)
	of := c.exchanged(revokedKey, "")
	for range 2 {
		if _, err := c.keys.Revoke(t.Context(), revoked); err != nil {
			t.Fatal(err)
		}
	}
	stranger, err := tokens.NewAPIKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.as(key).start("there", doorInput{})
	var first string
	for what, header := range map[string]string{
		"a mangled key": "Bearer " + key[:52] + "-", "a cut key": "Bearer " + key[:30], "a key's ID": "Bearer " + id,
		"a stranger's key": "Bearer " + stranger.Reveal(), "a revoked key": "Bearer " + revokedKey, "its token": "Bearer " + of,
		"a hook token": "Bearer " + junkToken, "a JWT that expired": "Bearer " + c.jwt("default", map[string]any{"exp": 10, "iat": 1}),
		"a JWT without a namespace": "Bearer " + c.jwt("default", map[string]any{"ns": nil}), "dots": "Bearer ..",
		"two keys": "Bearer " + key + " " + key, "two spaces": "Bearer  " + key, "a comma": "Bearer " + key + ",",
		"a large JWT": "Bearer " + c.jwt("default", map[string]any{"pad": strings.Repeat("x", 8<<10)}),
		"bytes":       "Bearer \xff\xfe",
	} {
		for _, path := range []string{"/v1/runs/there", "/v1/runs/nobody"} {
			r := s.call("GET", path, "", "Authorization", header)
			checkProblem(t, r, 401, "unauthorized")
			if got := r.header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token"` {
				t.Errorf("%s: challenge %q", what, got)
			}
			same := strings.ReplaceAll(r.raw, r.header.Get("X-Request-Id"), "ID")
			if first == "" {
				first = same
			}
			if same != first {
				t.Errorf("%s: %s differs from %s", what, same, first)
			}
		}
	}
	for what, header := range map[string]string{
		"basic": "Basic " + key, "no scheme": key, "an empty credential": "Bearer ", "the scheme alone": "Bearer", "nothing": "",
	} {
		r := s.call("GET", "/v1/runs/there", "", "Authorization", header)
		checkProblem(t, r, 401, "unauthorized")
		if got := r.header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("%s: challenge %q", what, got)
		}
	}
	for want, headers := range map[int]string{
		400: "Authorization: Bearer " + key + "\r\nAuthorization: Bearer " + key + "\r\n",
		431: "Authorization: Bearer " + strings.Repeat("x", 17<<10) + "\r\n",
	} {
		if r := s.one("GET /v1/runs/there HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n"); r.status != want {
			t.Errorf("got %d, want %d", r.status, want)
		}
	}
	for _, elsewhere := range []string{"?access_token=" + key, "?token=" + key, "?api_key=" + key} {
		checkProblem(t, s.call("GET", "/v1/runs/there"+elsewhere, ""), 401, "unauthorized")
	}
	if r := s.call("GET", "/v1/runs/there", "", "Authorization", "bEARER "+key); r.status != 200 {
		t.Errorf("the scheme in other letters: %d", r.status)
	}
}

// The log says why a credential is none, in one of a few words.
func TestCredentials_refusals_are_logged(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	id, key := c.key("default", nil)
	if _, err := c.keys.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	checkProblem(t, s.as(key).call("GET", "/v1/runs", ""), 401, "unauthorized")
	checkProblem(t, s.as(c.jwt("default", map[string]any{"exp": 10, "iat": 1})).call("GET", "/v1/runs", ""), 401, "unauthorized")
	form := url.Values{"grant_type": {grantExchange}, "subject_token": {key}, "subject_token_type": {typeAccess}}
	if r := s.call("POST", "/v1/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); r.status != 400 {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	await(t, "three lines are written", func() bool { return strings.Count(s.logs.String(), `"credential":`) == 3 })
	logs := s.logs.String()
	if strings.Count(logs, `"credential":"revoked"`) != 2 || strings.Count(logs, `"credential":"expired"`) != 1 {
		t.Error(logs)
	}
}

// A credential for one run, one hook or some names opens nothing else, and does not tell what there is.
func TestCredentials_constraints(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	_, all := c.key("default", nil)
	s.as(all).open("mine", doorInput{Hook: "ask", Stay: true})
	s.as(all).open("theirs", doorInput{Hook: "ask", Stay: true})
	_, ofRun := c.key("default", func(r *access.KeyRequest) { r.Run = "mine" })
	_, ofHook := c.key("default", func(r *access.KeyRequest) { r.Run, r.Hook = "mine", "h" })
	_, ofName := c.key("default", func(r *access.KeyRequest) { r.Signals = []string{"any/thing"} })
	_, ofNoName := c.key("default", func(r *access.KeyRequest) { r.Signals = []string{} })
	capability := c.exchanged(all, publicURL+"/v1/runs/mine/hooks/h")
	viaJWT := c.jwt("default", map[string]any{"run": "mine", "hook": "h"})
	for _, tc := range []struct {
		who, method, path, body string
		status                  int
	}{
		{ofRun, "GET", "/v1/runs/mine", "", 200},
		{ofRun, "GET", "/v1/runs/mine/hooks", "", 200},
		{ofRun, "GET", "/v1/runs/mine/hooks/h", "", 200},
		{ofRun, "GET", "/v1/runs/mine/history", "", 200},
		{ofRun, "GET", "/v1/runs/mine/explain", "", 200},
		{ofRun, "GET", "/v1/runs/theirs/explain", "", 404},
		{ofHook, "GET", "/v1/runs/mine/explain", "", 404},
		{ofRun, "GET", "/v1/runs/theirs", "", 404},
		{ofRun, "GET", "/v1/runs/nobody", "", 404},
		{ofRun, "POST", "/v1/runs/theirs/cancel", "", 404},
		{ofRun, "POST", "/v1/runs/theirs/hooks/h/token", "", 404},
		{ofRun, "GET", "/v1/runs", "", 403},
		{ofRun, "POST", "/v1/runs", `{"workflow":"test.door","run_id":"mine"}`, 403},
		{ofRun, "GET", "/v1/hooks", "", 403},
		{ofRun, "POST", "/v1/hooks/dispose", `{"token":"` + junkToken + `"}`, 403},
		{ofRun, "GET", "/v1/dead-letters", "", 403},
		{ofRun, "GET", "/v1/workflows", "", 403},
		{ofRun, "POST", "/v1/workflows/test.door/signal-with-start", `{"run_id":"mine","signal":{"name":"end"}}`, 403},
		{ofHook, "GET", "/v1/runs/mine/hooks/h", "", 200},
		{ofHook, "GET", "/v1/runs/mine", "", 404},
		{ofHook, "GET", "/v1/runs/mine/hooks", "", 404},
		{ofHook, "GET", "/v1/runs/mine/hooks/i", "", 404},
		{ofHook, "GET", "/v1/runs/theirs/hooks/h", "", 404},
		{ofHook, "POST", "/v1/runs/mine/signals/any%2Fthing", `1`, 404},
		{ofHook, "GET", "/v1/hooks", "", 403},
		{capability, "POST", "/v1/runs/theirs/hooks/h/resume", `{"ok":true}`, 404},
		{capability, "POST", "/v1/runs/mine/cancel", "", 404},
		{viaJWT, "GET", "/v1/runs/mine/hooks/h", "", 200},
		{viaJWT, "GET", "/v1/runs/theirs/hooks/h", "", 404},
		{ofName, "POST", "/v1/runs/theirs/signals/any%2Fthing", `1`, 202},
		{ofName, "POST", "/v1/runs/theirs/signals/end", `"x"`, 404},
		{ofName, "POST", "/v1/runs/theirs/updates/set", `{"N":1}`, 404},
		{ofName, "GET", "/v1/runs/theirs", "", 200},
		{ofName, "GET", "/v1/runs", "", 403},
		{ofNoName, "POST", "/v1/runs/theirs/signals/end", `"x"`, 404},
		{ofNoName, "GET", "/v1/runs/theirs", "", 200},
		{capability, "POST", "/v1/runs/mine/hooks/h/resume", `{"ok":true}`, 202},
	} {
		r := s.as(tc.who).call(tc.method, tc.path, tc.body)
		if r.status != tc.status {
			t.Errorf("%s %s: got %d %s, want %d", tc.method, tc.path, r.status, r.raw, tc.status)
		}
		if tc.status == 404 {
			checkProblem(t, r, 404, "not-found")
		}
	}
	// What lies outside is as what is not there, to the byte.
	text := func(path string) string {
		r := s.as(ofRun).call("GET", path, "")
		return strings.ReplaceAll(fmt.Sprint(r.status, r.header.Get("Content-Type"), r.header.Get("WWW-Authenticate"), r.raw), r.header.Get("X-Request-Id"), "ID")
	}
	if one, two := text("/v1/runs/theirs"), text("/v1/runs/nobody"); one != two {
		t.Errorf("%s\n%s", one, two)
	}
}

// History says who acted by the verified credential, whatever a payload says.
func TestCredentials_actor(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	id, key := c.key("default", nil)
	s.as(key).open("r", doorInput{Hook: "ask", Stay: true})
	for _, credential := range []string{key, c.exchanged(key, ""), c.jwt("default", nil), c.exchanged(c.jwt("default", nil), "")} {
		if r := s.as(credential).call("POST", "/v1/runs/r/signals/any%2Fthing", `{"actor":"root","sub":"root"}`); r.status != 202 {
			t.Fatalf("got %d %s", r.status, r.raw)
		}
	}
	history := s.as(key).call("GET", "/v1/runs/r/history", "").raw
	for actor, want := range map[string]int{`"actor":"key:` + id + `"`: 3, `"actor":"` + issuerName + `#ann"`: 2} {
		if got := strings.Count(history, actor); got != want {
			t.Errorf("%s: %d times, want %d: %s", actor, got, want, history)
		}
	}
}

// An open API asks nobody who sends nothing, and verifies what is sent.
func TestCredentials_open_API(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	open := serveOn(t, s.gw.engine, func(cfg *Config) { cfg.Access = c.verifier })
	_, key := c.key("elsewhere", nil, access.RunsRead)
	open.start("r", doorInput{})
	if r := open.call("GET", "/v1/runs/r", ""); r.status != 200 {
		t.Errorf("without a credential: %d", r.status)
	}
	checkProblem(t, open.as(key).call("GET", "/v1/runs/r", ""), 404, "not-found")
	checkProblem(t, open.as(key).call("POST", "/v1/runs", `{"workflow":"test.door"}`), 403, "forbidden")
	checkProblem(t, open.as("nonsense").call("GET", "/v1/runs/r", ""), 401, "unauthorized")
	checkProblem(t, open.call("GET", "/v1/runs/r", "", "Authorization", "Basic eDp5"), 401, "unauthorized")
	none := serveOn(t, s.gw.engine, nil)
	checkProblem(t, none.as(key).call("GET", "/v1/runs/r", ""), 401, "unauthorized")
	checkProblem(t, none.call("POST", "/v1/token", ""), 404, "not-found")
}

// When keys cannot be looked up, nobody is refused for it: the answer is 503, and the retry is served.
func TestCredentials_database_down(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	c := newCredentials(t, server.URL())
	s := guarded(t, engineOn(t, server.URL(), nil), c)
	_, key := c.key("default", nil)
	token := c.exchanged(key, "")
	s.as(key).start("r", doorInput{})
	server.Kill()
	form := exchangeForm("subject_token", key)
	for _, send := range []func() reply{
		func() reply { return s.as(key).call("GET", "/v1/runs/r", "") },
		func() reply { return s.as(token).call("GET", "/v1/runs/r", "") },
		func() reply {
			return s.call("POST", "/v1/token", form, "Content-Type", "application/x-www-form-urlencoded")
		},
	} {
		checkBusy(t, send)
	}
	checkProblem(t, s.as(key[:52]+"-").call("GET", "/v1/runs/r", ""), 401, "unauthorized")
	pgtest.Restart(t, server)
	for _, credential := range []string{key, token} {
		await(t, "the retry is served", func() bool { return s.as(credential).call("GET", "/v1/runs/r", "").status == 200 })
	}
}

// 23: strangers who try API keys are told so until their budget is spent, and then nothing; who has one is served all the
// while, and what cannot be a key is refused without a look-up.
func TestCredentials_23_guessing(t *testing.T) {
	t.Parallel()
	s, c := newGuarded(t)
	few := serveOn(t, s.gw.engine, func(cfg *Config) {
		cfg.OpenAPI, cfg.Access = false, c.verifier
		cfg.Limits.Failures, cfg.Limits.SuspectLookups = Rate{PerSecond: 0.001, Burst: 20}, Rate{PerSecond: 0.001, Burst: 10}
	})
	id, key := c.key("default", nil)
	if r := few.as(key).call("GET", "/v1/runs", ""); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.raw)
	}
	seen := map[int]int{}
	for range 300 {
		stranger, err := tokens.NewAPIKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		r := few.as(stranger.Reveal()).call("GET", "/v1/runs", "")
		seen[r.status]++
		if r.status == 429 && (r.header.Get("Retry-After") == "" || r.header.Get("WWW-Authenticate") != "") {
			t.Errorf("429 with %v", r.header)
		}
	}
	if seen[401] < 20 || seen[401] > 40 || seen[401]+seen[429] != 300 {
		t.Errorf("answers: %v", seen)
	}
	for range 50 {
		if r := few.as(key).call("GET", "/v1/runs", ""); r.status != 200 {
			t.Fatalf("who has a key: %d %s", r.status, r.raw)
		}
		if r := few.exchange(exchangeForm("subject_token", key)); r.status != 200 {
			t.Fatalf("who exchanges one: %d %s", r.status, r.raw)
		}
	}
	// Being known does not outlive the key.
	if _, err := c.keys.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if r := few.as(key).call("GET", "/v1/runs", ""); r.status != 401 && r.status != 429 {
			t.Fatalf("a revoked key: %d %s", r.status, r.raw)
		}
	}
}
