package gateway

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
)

// The order of checks: form of path and headers, authentication, then the body.
func TestAccess_order_of_checks(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.OpenAPI = false })
	for _, tc := range []struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		{"PUT", "/v1/runs/%20", "", nil, 405, "method-not-allowed"},
		{"GET", "/v1/nothing", "", nil, 404, "not-found"},
		{"GET", "/v1/runs/%20", "", nil, 400, "invalid-argument"},
		{"POST", "/v1/runs/r/signals/n", "1", []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, "idempotency-key-invalid"},
		{"POST", "/v1/runs/r/signals/n", "{", []string{"Content-Type", "text/plain"}, 401, "unauthorized"},
		{"POST", "/v1/runs", "{", nil, 401, "unauthorized"},
		{"GET", "/v1/runs/r?wait=never", "", nil, 401, "unauthorized"},
		{"GET", "/v1/runs/r", "", []string{"Authorization", "Bearer x"}, 401, "unauthorized"},
	} {
		r := s.call(tc.method, tc.path, tc.body, tc.headers...)
		checkProblem(t, r, tc.status, tc.code)
		if challenge := r.header.Get("WWW-Authenticate"); (challenge != "") != (tc.status == 401) {
			t.Errorf("%s %s: WWW-Authenticate %q", tc.method, tc.path, challenge)
		}
	}
	checkProblem(t, s.answer(junkToken, `1`), 404, "not-found")
}

// Every route under /v1 asks who calls, but for the one that takes a credential in its body, and no other does.
func TestAccess_every_API_route_needs_a_credential(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.OpenAPI = false })
	for _, r := range s.gw.routes() {
		if api := strings.HasPrefix(r.pattern, "/v1/") && r.pattern != "/v1/token"; api != (r.needs != "") {
			t.Errorf("%s %s: scope %q", r.method, r.pattern, r.needs)
		}
		if r.needs != "" {
			checkProblem(t, s.call(r.method, placeholder.ReplaceAllString(r.pattern, "x"), ""), 401, "unauthorized")
		}
	}
}

// In dev mode a page of a stranger whose name resolves to this machine is kept out, from callbacks as well; and no
// response ever invites other origins.
func TestAccess_dev_mode_takes_local_hosts_only(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.Dev = true })
	ask := func(target, host string) reply {
		return s.one("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n")
	}
	for _, host := range []string{
		"localhost", "LOCALHOST:80", "a.localhost", "127.0.0.1", "127.9.9.9:8080", "[::1]", "[::1]:8080",
		"gate.example.com", "Gate.Example.Com:443",
	} {
		r := ask("/v1/runs", host)
		if r.status != 200 {
			t.Errorf("%s: got %d %s", host, r.status, r.raw)
		}
		checkHeaders(t, r)
	}
	for _, host := range []string{
		"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "gate.example.com.evil.example",
		"10.0.0.1", "0.0.0.0", "[::]", "192.168.1.1:8080",
	} {
		checkProblem(t, ask("/v1/runs", host), 403, "forbidden")
		checkProblem(t, ask("http://"+host+"/v1/runs", "localhost"), 403, "forbidden")
		checkProblem(t, ask(junkPath, host), 403, "forbidden")
	}
	checkProblem(t, s.one("GET /v1/runs HTTP/1.0\r\n\r\n"), 403, "forbidden")
	open := serveOn(t, s.gw.engine, nil)
	if r := open.one("GET /v1/runs HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n"); r.status != 200 {
		t.Errorf("outside dev mode: got %d", r.status)
	}
}

// 62: a panic is a 500 without its text, and the process goes on.
func TestAccess_62_a_panic_is_contained(t *testing.T) {
	t.Parallel()
	logs := &logBuffer{}
	gw, err := New(Config{Engine: newEngine(t), Logger: logs.logger(), PublicURL: publicURL})
	if err != nil {
		t.Fatal(err)
	}
	var who map[string]int
	gw.authenticate = func(c *fiber.Ctx, _ *call) (access.Principal, error) {
		if c.Path() == "/v1/workflows" {
			who["nobody"] = 1
		}
		panic(secretWord)
	}
	s := listen(t, gw, logs)
	for range 3 {
		for _, path := range []string{"/v1/runs", "/v1/workflows"} {
			r := s.call("GET", path, "")
			checkProblem(t, r, 500, "internal")
			if strings.Contains(r.raw, secretWord) {
				t.Error("the answer repeats the panic")
			}
		}
	}
	checkProblem(t, s.answer(junkToken, `1`), 404, "not-found")
	if n := gw.inFlight.used.Load(); n != 0 {
		t.Errorf("%d slots are lost", n)
	}
	text := logs.String()
	if strings.Contains(text, secretWord) {
		t.Error("the log repeats the panic")
	}
	for _, wanted := range []string{`"panic":"string"`, "assignment to entry in nil map", "access_test.go", `"level":"error"`} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the log lacks %s", wanted)
		}
	}
}
