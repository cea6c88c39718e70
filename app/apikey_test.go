package app_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// asCaller is call with a credential.
func asCaller(t *testing.T, want int, credential, method, url, body string) reply {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	r, err := do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}, req)
	if err != nil {
		t.Fatal(err)
	}
	if r.status != want {
		t.Fatalf("%s %s: status %d, want %d: %v", method, url, r.status, want, r.body)
	}
	return r
}

// From nothing to a call with a credential and back: create, use, list, exchange, revoke.
func TestAPIKeyCommands(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	key, said, err := runWith(t, env, "apikey", "create", "--namespace", "acme", "--name", "the ci", "--scope", "runs:start", "--scope", "runs:read", "--expires-in", "24h")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^fge_[0-9A-Za-z]{49}\n$`).MatchString(key) || strings.Contains(said, "fge_") {
		t.Fatalf("stdout %q, stderr %q", key, said)
	}
	key = strings.TrimSpace(key)
	id := regexp.MustCompile(`key_[0-9a-f]{20}`).FindString(said)
	only, _, err := runWith(t, env, "apikey", "create", "--namespace=acme", "--name=one", "--scope=signals:send", "--run=r", "--hook=h", "--signal=go", "--signal=a,b")
	if err != nil {
		t.Fatal(err)
	}

	gate := launch(t, env, "serve", "--examples")
	asCaller(t, 201, key, "POST", gate.url+"/v1/runs", `{"workflow":"collect","run_id":"r","input":{"count":1}}`)
	asCaller(t, 200, key, "GET", gate.url+"/v1/runs/r", "")
	asCaller(t, 403, key, "POST", gate.url+"/v1/runs/r/cancel", "")
	asCaller(t, 401, key[:52]+"-", "GET", gate.url+"/v1/runs/r", "")
	asCaller(t, 403, strings.TrimSpace(only), "GET", gate.url+"/v1/runs", "")

	list, _, err := runWith(t, env, "apikey", "list", "--namespace=acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{id, "the ci", "active", "runs:start runs:read", "run=r hook=h signals=go,a,b"} {
		if !strings.Contains(list, says) {
			t.Errorf("the list lacks %q:\n%s", says, list)
		}
	}
	if strings.Contains(list, "fge_") {
		t.Error("the list shows a key")
	}
	if none, _, err := runWith(t, env, "apikey", "list", "--namespace=other"); err != nil || strings.Count(none, "\n") != 1 {
		t.Errorf("keys of another namespace: %v %s", err, none)
	}
	for range 2 {
		if out, _, err := runWith(t, env, "apikey", "revoke", id); err != nil || !strings.Contains(out, "is revoked since") {
			t.Errorf("revoke: %v %s", err, out)
		}
	}
	asCaller(t, 401, key, "GET", gate.url+"/v1/runs/r", "")
	if list, _, _ := runWith(t, env, "apikey", "list"); !strings.Contains(list, "revoked") {
		t.Errorf("the list does not say so:\n%s", list)
	}
	if logs := gate.logged(); strings.Contains(logs, "fge_") || strings.Contains(logs, key[4:40]) {
		t.Error("a key was logged")
	}
	gate.stop(t)
}

// Each mistake on the command line is refused by its flag, and a key that slipped into an argument is not repeated.
func TestAPIKeyCommandsRefuse(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	const secret = "fge_" + "7R45vahC06GeCCI5MXZyMHyO8iYtDvxu2UdxPhiTaHN0cAvpI"
	create := func(more ...string) []string {
		return append([]string{"apikey", "create", "--namespace=acme", "--name=ci"}, more...)
	}
	for says, args := range map[string][]string{
		"--scope":                           create(),
		"must be of runs:start":             create("--scope=runs:write"),
		"--scope must be of":                create("--scope=runs:read,runs:start"),
		"--namespace":                       {"apikey", "create", "--name=ci", "--scope=runs:read"},
		"--namespace must be one namespace": {"apikey", "create", "--namespace=*", "--name=ci", "--scope=runs:read"},
		"--name must not hold":              {"apikey", "create", "--namespace=acme", "--name=" + secret, "--scope=runs:read"},
		"--expires-in must be":              create("--scope=runs:read", "--expires-in=-1h"),
		"at most 10 years":                  create("--scope=runs:read", "--expires-in=99999h"),
		"--hook needs run_id":               create("--scope=runs:read", "--hook=h"),
		"--signal must not be empty":        create("--scope=runs:read", "--signal="),
		"must be the ID of a key":           {"apikey", "revoke", secret},
		"there is an argument":              {"apikey", "list", secret},
		"there is no API key of this ID":    {"apikey", "revoke", "key_none"},
	} {
		stdout, stderr, err := runWith(t, env, args...)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", args, err, says)
			continue
		}
		if strings.Contains(stdout+stderr+err.Error(), secret[:20]) {
			t.Errorf("%q: a key was repeated", says)
		}
		if refused, ok := errors.AsType[*app.RefusedError](err); ok && (app.ExitCode(err) != 3 || refused.Verdict != "unknown") {
			t.Errorf("%q: exit code %d", says, app.ExitCode(err))
		}
	}
	if list, _, err := runWith(t, env, "apikey", "list"); err != nil || strings.Count(list, "\n") != 1 {
		t.Errorf("refused keys were made: %v %s", err, list)
	}
	// A key that is made with another secret under a known ID would open nothing.
	if _, _, err := runWith(t, env, create("--scope=runs:read")...); err != nil {
		t.Fatal(err)
	}
	env["FLOWGATE_DIGEST_KEYS"] = key("d1", 40)
	if _, _, err := runWith(t, env, create("--scope=runs:read")...); err == nil || !strings.Contains(err.Error(), "d1") {
		t.Errorf("another digest key: %v", err)
	}
}
