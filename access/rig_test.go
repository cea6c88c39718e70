package access

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/tokens"
)

const (
	publicURL = "https://gate.example.com/base"
	issuerURL = "https://id.example.com"
)

// testClock is a clock that a test moves.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *testClock { return &testClock{now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)} }

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// keyHost serves a key set, and counts who asks.
type keyHost struct {
	*httptest.Server
	asked atomic.Int64
	serve atomic.Pointer[http.HandlerFunc]
}

func newKeyHost(t *testing.T) *keyHost {
	t.Helper()
	h := &keyHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked.Add(1)
		(*h.serve.Load())(w, r)
	}))
	t.Cleanup(h.Close)
	h.answer(http.StatusOK, `{"keys":[]}`)
	return h
}

func (h *keyHost) do(serve http.HandlerFunc) { h.serve.Store(&serve) }

func (h *keyHost) answer(status int, body string) {
	h.do(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// pairs are keys of an issuer, made once: RSA takes a while.
var pairs = sync.OnceValue(func() map[string]crypto.Signer {
	must := func(k crypto.Signer, err error) crypto.Signer {
		if err != nil {
			panic(err)
		}
		return k
	}
	ed := func() (crypto.Signer, error) { _, k, err := ed25519.GenerateKey(rand.Reader); return k, err }
	ec := func(c elliptic.Curve) (crypto.Signer, error) { return ecdsa.GenerateKey(c, rand.Reader) }
	rs := func(bits int) (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, bits) }
	return map[string]crypto.Signer{
		"ed": must(ed()), "ed2": must(ed()), "stranger": must(ed()), "p256": must(ec(elliptic.P256())),
		"p384": must(ec(elliptic.P384())), "rsa": must(rs(2048)), "short": must(rs(1024)),
	}
})

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// jwkOf is the public JWK of a pair, with changes.
func jwkOf(id string, change map[string]any) map[string]any {
	jwk := map[string]any{"kid": id, "use": "sig"}
	switch key := pairs()[id].Public().(type) {
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", b64(key)
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // 4, then both coordinates
		if err != nil {
			panic(err)
		}
		half := len(point) / 2
		jwk["kty"], jwk["crv"] = "EC", key.Curve.Params().Name
		jwk["x"], jwk["y"] = b64(point[1:1+half]), b64(point[1+half:])
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", b64(key.N.Bytes()), b64([]byte{1, 0, 1})
	}
	for name, value := range change {
		jwk[name] = value
	}
	return jwk
}

func setOf(keys ...map[string]any) string {
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// rig is a Verifier with one issuer behind a key host.
type rig struct {
	*Verifier
	t     *testing.T
	clock *testClock
	host  *keyHost
	store *db.Store
	log   *bytes.Buffer
}

func openStore(t *testing.T, url string) *db.Store {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return db.Open(pool, db.Config{})
}

func testDigester(t *testing.T) *tokens.Digester {
	t.Helper()
	d, err := tokens.NewDigester([]tokens.Key{{ID: "d1", Secret: bytes.Repeat([]byte("d"), 32)}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testSignKeys(t *testing.T, ids ...string) *tokens.SignKeys {
	t.Helper()
	var keys []tokens.Key
	for _, id := range ids {
		keys = append(keys, tokens.Key{ID: id, Secret: bytes.Repeat([]byte(id[len(id)-1:]), 32)})
	}
	s, err := tokens.NewSignKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// issuer is the configuration of the rig's issuer.
func issuer(host *keyHost) Issuer {
	return Issuer{
		Name: issuerURL, Audience: "flowgate", KeysURL: host.URL, Algorithms: []string{"EdDSA", "ES256", "RS256", "PS256"},
		Namespaces: nsList("acme", "other"), Scopes: []Scope{RunsRead, SignalsSend},
	}
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	host := newKeyHost(t)
	host.answer(http.StatusOK, setOf(jwkOf("ed", nil), jwkOf("p256", nil), jwkOf("rsa", nil), jwkOf("short", nil)))
	r := &rig{t: t, clock: newClock(), host: host, store: openStore(t, pgtest.URL(t))}
	cfg := Config{
		Store: r.store, Digester: testDigester(t), SignKeys: testSignKeys(t, "s1"), PublicURL: publicURL,
		Issuers: []Issuer{issuer(host)}, Clock: r.clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.Verifier, err = New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	r.run()
	return r
}

// run keeps the keys fresh until the test ends.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("run: %v", err)
		}
	})
	for _, s := range r.sets {
		await(r.t, "the keys were asked for", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return !s.tried.IsZero() && !s.busy })
	}
}

func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never: %s", what)
		}
	}
}

// says are the claims of a good token, with changes; a nil value takes a claim away.
func (r *rig) says(change map[string]any) map[string]any {
	now := r.clock.Now().Unix()
	return with(map[string]any{
		"iss": issuerURL, "aud": "flowgate", "sub": "ann", "iat": now, "exp": now + 300, "ns": "acme", "scope": "runs:read openid",
	}, change)
}

func with(all, change map[string]any) map[string]any {
	for name, value := range change {
		if value == nil {
			delete(all, name)
			continue
		}
		all[name] = value
	}
	return all
}

// sign makes a token of a header and claims, whatever they are.
func sign(method jwt.SigningMethod, key any, header, claims any) string {
	text := b64(asJSON(header)) + "." + b64(asJSON(claims))
	sig, err := method.Sign(text, key)
	if err != nil {
		panic(err)
	}
	return text + "." + b64(sig)
}

func asJSON(v any) []byte {
	if text, ok := v.(string); ok {
		return []byte(text)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func head(change map[string]any) map[string]any {
	return with(map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": "ed"}, change)
}

// token is a good one but for the changes.
func (r *rig) token(ofHeader, ofClaims map[string]any) string {
	return sign(jwt.SigningMethodEdDSA, pairs()["ed"], head(ofHeader), r.says(ofClaims))
}

// refuses checks that a credential is refused, for a reason, and that nothing comes with the refusal.
func (r *rig) refuses(what, credential, reason string) {
	r.t.Helper()
	p, err := r.Verify(r.t.Context(), credential)
	var why *RefusedError
	if !errors.As(err, &why) || !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) {
		r.t.Errorf("%s: got %+v %v", what, p, err)
		return
	}
	if reason != "" && why.Reason != reason {
		r.t.Errorf("%s: refused for %q, want %q", what, why.Reason, reason)
	}
	if fmt.Sprint(p) != fmt.Sprint(Principal{}) || err.Error() != ErrRefused.Error() {
		r.t.Errorf("%s: %+v comes with %q", what, p, err)
	}
}

func (r *rig) takes(what, credential string) Principal {
	r.t.Helper()
	p, err := r.Verify(r.t.Context(), credential)
	if err != nil {
		why, _ := errors.AsType[*RefusedError](err)
		r.t.Fatalf("%s: %v %+v", what, err, why)
	}
	return p
}

// otherSeed is a sign key of a known ID with another seed.
func otherSeed(t *testing.T, id string) *tokens.SignKeys {
	t.Helper()
	s, err := tokens.NewSignKeys([]tokens.Key{{ID: id, Secret: bytes.Repeat([]byte("~"), 32)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
