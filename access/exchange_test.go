package access

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

func (r *rig) exchange(req ExchangeRequest) Exchanged {
	r.t.Helper()
	got, err := r.Exchange(r.t.Context(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// An exchanged token is its parent's, narrower, and has the parent's actor.
func TestExchange(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key, secret := r.create(func(q *KeyRequest) { q.Signals = []string{"go"} })
	got := r.exchange(ExchangeRequest{
		Credential: secret, Scopes: []string{"runs:read"}, Resource: publicURL + "/v1/runs/a%2Fb/hooks/h%20x", Audience: publicURL,
		Lifetime: time.Minute,
	})
	expires := r.clock.Now().Add(time.Minute)
	want := Principal{
		Namespace: "acme", Actor: "key:" + key.ID, Method: ByExchange, Scopes: []Scope{RunsRead}, Run: "a/b", Hook: "h x",
		Signals: []string{"go"}, KeyID: key.ID, Expires: &expires,
	}
	taken := r.takes("the token", got.Token.Reveal())
	if want.TokenID = taken.TokenID; len(want.TokenID) != 32 {
		t.Errorf("its ID is %q", want.TokenID)
	}
	if diff := cmp.Diff(want, taken, cmpopts.IgnoreUnexported(Principal{})); diff != "" {
		t.Error(diff)
	}
	if got.Lifetime != time.Minute || !slices.Equal(got.Scopes, []Scope{RunsRead}) {
		t.Errorf("got %+v", got)
	}
	// A token of a token is the key's as well, and not longer than the first.
	r.clock.add(30 * time.Second)
	again := r.exchange(ExchangeRequest{Credential: got.Token.Reveal()})
	if p := r.takes("its token", again.Token.Reveal()); p.KeyID != key.ID || p.Hook != "h x" || again.Lifetime != 30*time.Second {
		t.Errorf("got %+v for %s", p, again.Lifetime)
	}
	if _, err := r.keys.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	r.refuses("after its key was revoked", got.Token.Reveal(), reasonRevoked)
	r.refuses("its token, too", again.Token.Reveal(), reasonRevoked)
	if _, err := r.Exchange(t.Context(), ExchangeRequest{Credential: secret}); !errors.Is(err, ErrRefused) {
		t.Errorf("a revoked key is exchanged: %v", err)
	}
}

// A token of a JWT lives no longer than it, and only while its issuer is believed.
func TestExchange_of_a_JWT(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	r := newRig(t, func(c *Config) { c.Store = openStore(t, url) })
	got := r.exchange(ExchangeRequest{Credential: r.token(nil, nil)})
	if p := r.takes("the token", got.Token.Reveal()); p.Actor != issuerURL+"#ann" || p.KeyID != "" || got.Lifetime != 300*time.Second {
		t.Errorf("got %+v for %s", p, got.Lifetime)
	}
	if _, err := r.Exchange(t.Context(), ExchangeRequest{Credential: r.token(nil, map[string]any{"exp": r.clock.Now().Unix() - 20, "iat": r.clock.Now().Unix() - 90})}); !errors.Is(err, ErrRefused) {
		t.Errorf("a credential in its leeway is prolonged: %v", err)
	}
	for what, change := range map[string]func(*Config){
		"the issuer is gone":       func(c *Config) { c.Issuers = nil },
		"the issuer lost the name": func(c *Config) { c.Issuers[0].Namespaces = nsList("other") },
	} {
		later := newRig(t, func(c *Config) { c.Store = openStore(t, url); change(c) })
		later.refuses(what, got.Token.Reveal(), reasonParent)
	}
	narrower := newRig(t, func(c *Config) { c.Store, c.Issuers[0].Scopes = openStore(t, url), []Scope{SignalsSend} })
	if p := narrower.takes("the issuer may less", got.Token.Reveal()); len(p.Scopes) != 0 {
		t.Errorf("a token has scopes that its issuer may not give any more: %v", p.Scopes)
	}
	same := newRig(t, func(c *Config) { c.Store = openStore(t, url) })
	same.takes("another process", got.Token.Reveal())
}

func TestExchange_refuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, wide := r.create(nil)
	_, ofRun := r.create(func(q *KeyRequest) { q.Run = "r" })
	_, ofHook := r.create(func(q *KeyRequest) { q.Run, q.Hook = "r", "h" })
	base := publicURL + "/v1/runs/"
	for _, tc := range []struct {
		what string
		req  ExchangeRequest
		want error
	}{
		{"no credential", ExchangeRequest{}, ErrRefused},
		{"a scope more", ExchangeRequest{Credential: wide, Scopes: []string{"runs:read", "runs:cancel"}}, ErrScope},
		{"an unknown scope", ExchangeRequest{Credential: wide, Scopes: []string{"*"}}, ErrScope},
		{"no scope", ExchangeRequest{Credential: wide, Scopes: []string{}}, ErrScope},
		{"nothing to give", ExchangeRequest{Credential: r.token(nil, map[string]any{"scope": nil})}, ErrScope},
		{"another audience", ExchangeRequest{Credential: wide, Audience: "https://evil.example"}, ErrTarget},
		{"another host", ExchangeRequest{Credential: wide, Resource: "https://evil.example/v1/runs/r"}, ErrTarget},
		{"a longer host", ExchangeRequest{Credential: wide, Resource: publicURL + ".evil/v1/runs/r"}, ErrTarget},
		{"the list of runs", ExchangeRequest{Credential: wide, Resource: publicURL + "/v1/runs"}, ErrTarget},
		{"no run", ExchangeRequest{Credential: wide, Resource: base}, ErrTarget},
		{"another resource", ExchangeRequest{Credential: wide, Resource: base + "r/history"}, ErrTarget},
		{"behind a hook", ExchangeRequest{Credential: wide, Resource: base + "r/hooks/h/token"}, ErrTarget},
		{"no hook", ExchangeRequest{Credential: wide, Resource: base + "r/hooks/"}, ErrTarget},
		{"a bad escape", ExchangeRequest{Credential: wide, Resource: base + "%zz"}, ErrTarget},
		{"a bad name", ExchangeRequest{Credential: wide, Resource: base + "%00"}, ErrTarget},
		{"another run", ExchangeRequest{Credential: ofRun, Resource: base + "s"}, ErrTarget},
		{"another hook", ExchangeRequest{Credential: ofHook, Resource: base + "r/hooks/i"}, ErrTarget},
		{"a hook of another run", ExchangeRequest{Credential: ofHook, Resource: base + "s/hooks/h"}, ErrTarget},
	} {
		got, err := r.Exchange(t.Context(), tc.req)
		if !errors.Is(err, tc.want) || !got.Token.IsZero() {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
	}
	for _, life := range []time.Duration{-1, 1, time.Second - 1, MaxExchanged + 1} {
		if bad, ok := errors.AsType[*spec.InvalidError](errOf(r.Exchange(t.Context(), ExchangeRequest{Credential: wide, Lifetime: life}))); !ok || bad.Field != "expires_in" {
			t.Errorf("%s: %v", life, bad)
		}
	}
	// A hook's own credential stays the hook's when the run is asked for.
	got := r.exchange(ExchangeRequest{Credential: ofHook, Resource: base + "r"})
	if p := r.takes("the run's resource", got.Token.Reveal()); p.Hook != "h" {
		t.Errorf("got %+v", p)
	}
}

// What is signed by us but was never made here is refused, and so is what says more than its parent.
func TestExchanged_forged(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key, secret := r.create(nil)
	good := r.exchange(ExchangeRequest{Credential: secret}).Token.Reveal()
	_, signer := r.sign.Current()
	var says map[string]any
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(good, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &says); err != nil {
		t.Fatal(err)
	}
	forge := func(ofHeader, change map[string]any) string {
		copied := map[string]any{}
		for name, value := range says {
			copied[name] = value
		}
		return sign(jwt.SigningMethodEdDSA, signer, with(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": "s1"}, ofHeader), with(copied, change))
	}
	r.takes("the same again", forge(nil, nil))
	for what, tc := range map[string]struct {
		token, reason string
	}{
		"another namespace":   {forge(nil, map[string]any{"ns": "other"}), reasonParent},
		"no parent":           {forge(nil, map[string]any{"par": nil}), reasonParent},
		"an unknown parent":   {forge(nil, map[string]any{"par": "key:key_nobody"}), reasonUnknown},
		"a parent of no kind": {forge(nil, map[string]any{"par": "root:" + key.ID}), reasonParent},
		"its own parent":      {forge(nil, map[string]any{"par": "iss:" + publicURL}), reasonParent},
		"a stranger's issuer": {forge(nil, map[string]any{"par": "iss:https://evil.example"}), reasonParent},
		"a longer life":       {forge(nil, map[string]any{"exp": r.clock.Now().Unix() + 601}), reasonLifetime},
		"another type":        {forge(map[string]any{"typ": "JWT"}, nil), reasonHeader},
		"another key":         {forge(map[string]any{"kid": "s2"}, nil), reasonKey},
		"no namespace":        {forge(nil, map[string]any{"ns": nil}), reasonNamespace},
		"another audience":    {forge(nil, map[string]any{"aud": "flowgate"}), reasonClaims},
		"an issuer's key":     {sign(jwt.SigningMethodEdDSA, pairs()["ed"], head(nil), says), reasonKey},
	} {
		r.refuses(what, tc.token, tc.reason)
	}
	r.clock.add(MaxExchanged + leeway)
	r.refuses("after its life", good, reasonExpired)
}

// Sign keys are rotated by adding the new one in front; two processes with another seed under one ID do not both start.
func TestSignKeys_rotation(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	with := func(ids ...string) *rig {
		return newRig(t, func(c *Config) { c.Store, c.SignKeys = openStore(t, url), testSignKeys(t, ids...) })
	}
	old := with("s1")
	_, secret := old.create(nil)
	first := old.exchange(ExchangeRequest{Credential: secret}).Token.Reveal()
	both := with("s2", "s1")
	both.takes("a token of the old key", first)
	second := both.exchange(ExchangeRequest{Credential: secret}).Token.Reveal()
	both.takes("a token of the new key", second)
	old.refuses("a token of a key that is not loaded", second, reasonKey)
	with("s2").refuses("a token of a key that was dropped", first, reasonKey)

	cfg := Config{Store: openStore(t, url), Digester: testDigester(t), SignKeys: testSignKeys(t, "s3"), PublicURL: publicURL}
	if _, err := New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.SignKeys = testSignKeys(t, "other-s3", "s3") // the seed is of the ID's last letter
	if _, err := New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.SignKeys = otherSeed(t, "s3")
	if other, ok := errors.AsType[*db.KeyMismatchError](errOf(New(t.Context(), cfg))); !ok || other.Kind != db.SignKey || other.ID != "s3" {
		t.Errorf("got %v", other)
	}
}
