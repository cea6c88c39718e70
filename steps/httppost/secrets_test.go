package httppost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
	"github.com/flowgate-go/flowgate/tokens"
)

const (
	bearer    = "xoxb-bearer-value-0123456789"
	pathToken = "T00000000-B00000000-XXXXXXXXXXXX"
	hookToken = "fhk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK01"
	hostToken = "host-supplied-token-of-22-and-more"
)

var secretTexts = []string{bearer, pathToken, hookToken, hostToken, oldKey, newKey, oldKey[6:], newKey[6:]}

// full is a Config with every kind of secret, for a receiver.
func full(r *receiver) httppost.Config {
	c := r.reaching()
	scope := httppost.Scope{Hosts: []string{"127.0.0.1"}}
	c.Credentials = map[string]httppost.Credential{"slack": {Scope: scope, Value: tokens.NewSecret("Bearer " + bearer)}}
	c.Signing = signing(newKey, oldKey)
	c.Endpoints = map[string]httppost.Endpoint{
		"approvals": {URL: tokens.NewSecret(r.URL + "/services/" + pathToken + "?k=1"), Auth: "slack", SignWith: "billing"},
	}
	c.HookURL = func(_ *engine.Step, _ context.Context, id string) (string, error) {
		token := hookToken
		if id == "host" {
			token = hostToken
		}
		return "https://flow.example.com/callbacks/flow/hooks/" + token, nil
	}
	return c
}

func TestConfigsAndPostersPrintWithoutSecrets(t *testing.T) {
	t.Parallel()
	c := full(newReceiver(t, nil))
	p := newPoster(t, c)
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts["config "+verb] = fmt.Sprintf(verb, c)
		texts["pointer "+verb] = fmt.Sprintf(verb, &c)
		texts["poster "+verb] = fmt.Sprintf(verb, p)
		texts["in a field "+verb] = fmt.Sprintf(verb, struct{ p *httppost.Poster }{p})
	}
	raw, err := json.Marshal(c)
	if err != nil || !bytes.Contains(raw, []byte(tokens.Redacted)) {
		t.Errorf("%s, %v", raw, err)
	}
	log.Info("config", "c", c, "p", p)
	texts["JSON"], texts["log"] = string(raw), logged.String()
	for what, text := range texts {
		for _, secret := range secretTexts {
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s holds a secret: %s", what, text)
			}
		}
	}
}

// Whatever an endpoint sends back, an output has none of the secrets of its request, and an error neither.
func TestSecretsThatComeBackAreNotKept(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		kind   string
		status int
	}{
		"JSON": {"application/json", 200}, "text": {"text/plain", 200}, "refused": {"text/plain", 400}, "trouble": {"application/json", 500},
	} {
		r := newReceiver(t, nil)
		r.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			said := map[string]any{
				"path": q.URL.String(), "auth": q.Header.Get("Authorization"), "bare": bearer, "body": string(body),
				"url": r.URL + q.URL.String(), q.Header.Get("Authorization"): []any{hostToken, hookToken}, "jwt": "eyJhbGciOi.eyJzdWIiOiIx.c2ln",
			}
			w.Header().Set("Content-Type", answer.kind)
			w.Header().Set("X-Echo", q.Header.Get("Authorization")+" "+q.URL.Path+" "+hostToken)
			w.WriteHeader(answer.status)
			_ = json.NewEncoder(w).Encode(said)
		})
		out, err := do(t, newPoster(t, full(r)), httppost.Input{
			To: "approvals", Links: []spec.HookID{"approval", "host"}, CaptureHeaders: []string{"X-Echo"},
			Body: map[string]string{"text": "Approve: {hook:approval} or {hook:host}"},
		})
		said := fmt.Sprint(err)
		if answer.status == 200 {
			if err != nil {
				t.Fatal(err)
			}
			said = stored(t, out)
			if !strings.Contains(said, tokens.Redacted) {
				t.Errorf("%s: nothing came back: %s", name, said)
			}
		}
		for _, secret := range append(secretTexts, "eyJzdWIiOiIx") {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %q is in %s", name, secret, said)
			}
		}
	}
}

// A secret that is cut by the limit leaves no beginning behind.
func TestSecretsOnTheEdge(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "you sent "+bearer) })
	for n := range len(bearer) {
		out, err := do(t, newPoster(t, full(r)), httppost.Input{To: "approvals", Body: 1, CaptureBytes: new(9 + n)})
		if err != nil || !out.Truncated || strings.Contains(fmt.Sprint(out.Body), "xo") {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestLinksStandInTheBodyOnly(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := full(r)
	step := stepOf(t, json.RawMessage(`{"to":"approvals","links":["approval"],"body":{"n":12345678901234567890,"html":"<&>",`+
		`"text":"a {hook:approval} b \u007bhook:approval}","{hook:approval}":"name","other":"{hook:other} {hook:}"}}`), 1)
	for range 2 {
		if _, err := doIn(t.Context(), newPoster(t, c), step); err != nil {
			t.Fatal(err)
		}
	}
	got := r.requests()
	link := "https://flow.example.com/callbacks/flow/hooks/" + hookToken
	want := `{"html":"<&>","n":12345678901234567890,"other":"{hook:other} {hook:}","text":"a ` + link + ` b ` + link + `","{hook:approval}":"name"}`
	if string(got[0].body) != want || string(got[1].body) != want {
		t.Errorf("%s\nthen %s\nwant %s", got[0].body, got[1].body, want)
	}
	if err := verify(t, oldKey, got[0]); err != nil {
		t.Error(err)
	}
	if got[0].path != "/services/"+pathToken+"?k=1" || got[0].header.Get("Authorization") != "Bearer "+bearer {
		t.Errorf("%s %v", got[0].path, got[0].header)
	}
}

func TestLinksThatCannotBeMade(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	in := httppost.Input{To: "approvals", Body: "{hook:approval}", Links: []spec.HookID{"approval"}}
	for _, tt := range []struct {
		name  string
		make  httppost.HookURL
		code  string
		final bool
	}{
		{"not configured", nil, httppost.CodeUnconfigured, false},
		{"answered", failing(&engine.HookClosedError{}), httppost.CodeLink, true},
		{"of the host", failing(engine.ErrTokenNotMinted), httppost.CodeLink, true},
		{"no database", failing(fmt.Errorf("%w: x", engine.ErrUnavailable)), httppost.CodeUnavailable, false},
	} {
		c := full(r)
		c.HookURL = tt.make
		_, err := do(t, newPoster(t, c), in)
		t.Log(err)
		wantFailure(t, err, tt.code, tt.final)
	}
	_, err := do(t, newPoster(t, full(r)), httppost.Input{To: "approvals", Body: "none", Links: []spec.HookID{"approval"}})
	wantInvalid(t, "no placeholder", err, "links/0")
	if n := len(r.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func failing(err error) httppost.HookURL {
	return func(*engine.Step, context.Context, string) (string, error) { return "", err }
}

// A secret goes to its hosts and serves its namespaces only.
func TestSecretsStayInTheirScope(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	elsewhere := httppost.Scope{Hosts: []string{"api.example.com", "*.example.org"}}
	foreign := httppost.Scope{Hosts: []string{"*"}, Namespaces: []spec.Namespace{"other"}}
	c := full(r)
	value := tokens.NewSecret("Bearer " + bearer)
	c.Credentials["elsewhere"] = httppost.Credential{Scope: elsewhere, Value: value}
	c.Credentials["foreign"] = httppost.Credential{Scope: foreign, Value: value}
	c.Credentials["anywhere"] = httppost.Credential{Scope: httppost.Scope{Hosts: []string{"*"}}, Header: "X-Api-Key", Value: value}
	c.Signing["elsewhere"] = httppost.Signing{Scope: elsewhere, Secrets: []tokens.Secret{tokens.NewSecret(newKey)}}
	c.Signing["foreign"] = httppost.Signing{Scope: foreign, Secrets: []tokens.Secret{tokens.NewSecret(newKey)}}
	c.Endpoints["foreign"] = httppost.Endpoint{URL: tokens.NewSecret(r.URL), Namespaces: []spec.Namespace{"other"}}
	p := newPoster(t, c)
	for _, tt := range []struct {
		in    httppost.Input
		code  string
		final bool
	}{
		{httppost.Input{URL: r.URL, Auth: "elsewhere"}, httppost.CodeTarget, true},
		{httppost.Input{URL: r.URL, SignWith: "elsewhere"}, httppost.CodeTarget, true},
		{httppost.Input{To: "approvals", Auth: "elsewhere"}, httppost.CodeTarget, true},
		{httppost.Input{URL: r.URL, Auth: "foreign"}, httppost.CodeUnconfigured, false},
		{httppost.Input{URL: r.URL, Auth: "unknown"}, httppost.CodeUnconfigured, false},
		{httppost.Input{URL: r.URL, SignWith: "foreign"}, httppost.CodeUnconfigured, false},
		{httppost.Input{URL: r.URL, SignWith: "unknown"}, httppost.CodeUnconfigured, false},
		{httppost.Input{To: "foreign"}, httppost.CodeUnconfigured, false},
		{httppost.Input{To: "unknown"}, httppost.CodeUnconfigured, false},
	} {
		tt.in.Body = 1
		_, err := do(t, p, tt.in)
		wantFailure(t, err, tt.code, tt.final)
	}
	if n := len(r.requests()); n != 0 {
		t.Fatalf("%d requests", n)
	}
	step := stepOf(t, httppost.Input{To: "foreign", Body: 1, Auth: "foreign", SignWith: "foreign"}, 1)
	step.Namespace = "other"
	if _, err := doIn(t.Context(), p, step); err != nil {
		t.Error(err)
	}
	if _, err := do(t, p, httppost.Input{URL: r.URL, Body: 1, Auth: "anywhere"}); err != nil {
		t.Error(err)
	}
	if got := r.requests(); got[1].header.Get("X-Api-Key") != "Bearer "+bearer || got[1].header.Get("Authorization") != "" {
		t.Error(got[1].header)
	}
}

func TestConfigsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	anywhere := httppost.Scope{Hosts: []string{"*"}}
	cred := func(c httppost.Credential) httppost.Config {
		return httppost.Config{Credentials: map[string]httppost.Credential{"x": c}}
	}
	sign := func(s httppost.Signing) httppost.Config {
		return httppost.Config{Signing: map[string]httppost.Signing{"x": s}}
	}
	end := func(e httppost.Endpoint) httppost.Config {
		return httppost.Config{Endpoints: map[string]httppost.Endpoint{"x": e}}
	}
	secret := tokens.NewSecret
	for _, tt := range []struct {
		field  string
		config httppost.Config
	}{
		{"Timeout", httppost.Config{Timeout: -1}},
		{"Timeout", httppost.Config{Timeout: 2e9, MaxTimeout: 1e9}},
		{"MaxTimeout", httppost.Config{MaxTimeout: 11 * 60e9}},
		{"CaptureBytes", httppost.Config{CaptureBytes: httppost.LimitCaptureBytes + 1}},
		{"CaptureBytes", httppost.Config{CaptureBytes: -1}},
		{"MaxRetryAfter", httppost.Config{MaxRetryAfter: -1}},
		{"Concurrency", httppost.Config{Concurrency: -1}},
		{"UserAgent", httppost.Config{UserAgent: "a\r\nb"}},
		{"Hosts/0", httppost.Config{Hosts: []string{"https://hush-hush"}}},
		{"Hosts/1", httppost.Config{Hosts: []string{"*", "a.*.example"}}},
		{"Hosts/0", httppost.Config{Hosts: []string{"example.com:443"}}},
		{"InternalHosts/0", httppost.Config{InternalHosts: []string{"*"}}},
		{"InternalHosts/0", httppost.Config{InternalHosts: []string{""}}},
		{"InternalNetworks/0", httppost.Config{InternalNetworks: make([]netip.Prefix, 1)}},
		{"Credentials", httppost.Config{Credentials: map[string]httppost.Credential{"": {}}}},
		{"Credentials/x/Hosts", cred(httppost.Credential{Value: secret("Bearer hush-hush")})},
		{"Credentials/x/Hosts/0", cred(httppost.Credential{Scope: httppost.Scope{Hosts: []string{"a b"}}})},
		{"Credentials/x/Namespaces/0", cred(httppost.Credential{Scope: httppost.Scope{Hosts: []string{"*"}, Namespaces: []spec.Namespace{""}}})},
		{"Credentials/x/Header", cred(httppost.Credential{Scope: anywhere, Header: "Host", Value: secret("Bearer hush-hush")})},
		{"Credentials/x/Header", cred(httppost.Credential{Scope: anywhere, Header: "a b", Value: secret("Bearer hush-hush")})},
		{"Credentials/x/Value", cred(httppost.Credential{Scope: anywhere})},
		{"Credentials/x/Value", cred(httppost.Credential{Scope: anywhere, Value: secret("short")})},
		{"Credentials/x/Value", cred(httppost.Credential{Scope: anywhere, Value: secret("hush-hush\r\nX: y")})},
		{"Signing", httppost.Config{Signing: map[string]httppost.Signing{" ": {}}}},
		{"Signing/x/Hosts", sign(httppost.Signing{Secrets: []tokens.Secret{secret(oldKey)}})},
		{"Signing/x/Secrets", sign(httppost.Signing{Scope: anywhere})},
		{"Signing/x/Secrets", sign(httppost.Signing{Scope: anywhere, Secrets: make([]tokens.Secret, 4)})},
		{"Signing/x/Secrets/1", sign(httppost.Signing{Scope: anywhere, Secrets: []tokens.Secret{secret(oldKey), secret("whsec_c2hvcnQ=")}})},
		{"Signing/x/Secrets/0", sign(httppost.Signing{Scope: anywhere, Secrets: []tokens.Secret{secret("hush-hush-hush-hush-hush-hush-hush")}})},
		{"Endpoints/x/URL", end(httppost.Endpoint{})},
		{"Endpoints/x/URL", end(httppost.Endpoint{URL: secret("http://example.com/hush-hush")})},
		{"Endpoints/x/Auth", end(httppost.Endpoint{URL: secret("https://example.com/hush-hush"), Auth: "y"})},
		{"Endpoints/x/SignWith", end(httppost.Endpoint{URL: secret("https://example.com/hush-hush"), SignWith: "y"})},
		{"Endpoints/x/Namespaces/0", end(httppost.Endpoint{URL: secret("https://example.com"), Namespaces: []spec.Namespace{" "}})},
	} {
		_, err := httppost.New(tt.config)
		invalid, ok := errors.AsType[*spec.InvalidError](err)
		if !ok || invalid.Field != tt.field || strings.Contains(err.Error(), hush) {
			t.Errorf("%v, want field %s", err, tt.field)
		}
	}
	if _, err := httppost.New(httppost.Config{}); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}

// The path of an endpoint is a secret also where it is short and comes back alone.
func TestShortPathsAreNotKept(t *testing.T) {
	t.Parallel()
	const path = "/h/s3cr3t-abc"
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, "posted to "+q.URL.Path) })
	c := r.reaching()
	c.Endpoints = map[string]httppost.Endpoint{"short": {URL: tokens.NewSecret(r.URL + path + "?k=1")}}
	out, err := do(t, newPoster(t, c), httppost.Input{To: "short", Body: 1})
	if err != nil || out.Body != "posted to "+tokens.Redacted {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAHeaderIsNotSetTwice(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := r.reaching()
	c.Credentials = map[string]httppost.Credential{
		"caller": {Scope: httppost.Scope{Hosts: []string{"127.0.0.1"}}, Header: "X-Caller", Value: tokens.NewSecret(bearer)},
	}
	_, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1, Auth: "caller", Headers: map[string]string{"x-caller": hush}})
	wantInvalid(t, "x-caller", err, "headers/X-Caller")
}

// An input cannot make a secret travel in clear by writing http.
func TestSecretsAreNotSentInClear(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, nil, false)
	link := httppost.Input{URL: r.URL, Body: "{hook:a}", Links: []spec.HookID{"a"}}
	auth := httppost.Input{URL: r.URL, Body: 1, Auth: "slack"}
	p := newPoster(t, full(r))
	for _, in := range []httppost.Input{link, auth} {
		_, err := do(t, p, in)
		wantFailure(t, err, httppost.CodeTarget, true)
	}
	if n := len(r.requests()); n != 0 {
		t.Fatalf("%d requests", n)
	}
	c := full(r)
	c.InternalHosts = []string{"127.0.0.1"}
	p = newPoster(t, c)
	for _, in := range []httppost.Input{link, auth, {URL: r.URL, Body: 1, SignWith: "billing"}} {
		if _, err := do(t, p, in); err != nil {
			t.Error(err)
		}
	}
}
