package access

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// create makes a key for a request.
func (r *rig) create(change func(*KeyRequest)) (APIKey, string) {
	r.t.Helper()
	req := KeyRequest{Namespace: "acme", Name: "ci", Scopes: []Scope{RunsRead, SignalsSend}}
	if change != nil {
		change(&req)
	}
	key, secret, err := r.keys.Create(r.t.Context(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return key, secret.Reveal()
}

func TestAPIKey_life(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key, secret := r.create(func(q *KeyRequest) {
		q.Run, q.Hook, q.Signals, q.Lifetime = "r", "h", []string{"go"}, time.Hour
	})
	expires := r.clock.Now().Add(time.Hour)
	want := Principal{
		Namespace: "acme", Actor: "key:" + key.ID, Method: ByAPIKey, Scopes: []Scope{RunsRead, SignalsSend}, Run: "r", Hook: "h",
		Signals: []string{"go"}, KeyID: key.ID, Expires: &expires,
	}
	if diff := cmp.Diff(want, r.takes("a key", secret), cmpopts.IgnoreUnexported(Principal{})); diff != "" {
		t.Error(diff)
	}
	_, other := r.create(nil)
	for what, text := range map[string]string{
		"cut off": secret[:52], "longer": secret + "0", "one letter": flip(secret), "in other letters": strings.ToUpper(secret),
		"the prefix": "fge_", "with a space": secret + " ", "many": strings.Repeat("fge_", 4000), "a hook token": "fhk_" + secret[4:],
	} {
		r.refuses(what, text, reasonMalformed)
	}
	stranger, err := tokens.NewAPIKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r.refuses("a well-formed stranger", stranger.Reveal(), reasonUnknown)

	r.clock.add(time.Hour - time.Nanosecond)
	r.takes("just before its end", secret)
	r.clock.add(time.Nanosecond)
	r.refuses("at its end", secret, reasonExpired)
	r.clock.add(-2 * time.Hour)
	r.takes("when the clock went back", secret)
	for range 2 {
		if _, err := r.keys.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		r.refuses("revoked", secret, reasonRevoked)
	}
	r.takes("the other key", other)
	if _, err := r.keys.Revoke(t.Context(), "key_nobody"); !errors.Is(err, ErrKeyNotFound) {
		t.Errorf("revoking nothing: %v", err)
	}
}

func flip(text string) string {
	last := byte('0')
	if text[20] == last {
		last = '1'
	}
	return text[:20] + string(last) + text[21:]
}

// The use of a key is noted at most once a minute.
func TestAPIKey_last_use(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	key, secret := r.create(nil)
	began := r.clock.Now()
	for _, tc := range []struct{ later, noted time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {110 * time.Second, time.Minute}, {time.Hour, time.Hour},
	} {
		r.clock.add(began.Add(tc.later).Sub(r.clock.Now()))
		r.takes("the key", secret)
		got, err := r.store.APIKeyByID(t.Context(), key.ID)
		if err != nil || got.LastUsedAt == nil || !got.LastUsedAt.Equal(began.Add(tc.noted)) {
			t.Errorf("after %s: %v %v, want %s", tc.later, got.LastUsedAt, err, tc.noted)
		}
	}
	r.keys.mu.Lock()
	defer r.keys.mu.Unlock()
	if len(r.keys.using) != 0 {
		t.Errorf("%d notes are never made", len(r.keys.using))
	}
}

func TestAPIKey_refused_requests(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for field, change := range map[string]func(*KeyRequest){
		"namespace":  func(q *KeyRequest) { q.Namespace = "*" },
		"name":       func(q *KeyRequest) { q.Name = "" },
		"scope":      func(q *KeyRequest) { q.Scopes = nil },
		"expires_in": func(q *KeyRequest) { q.Lifetime = MaxKeyLifetime + 1 },
		"run_id":     func(q *KeyRequest) { q.Run = " " },
		"hook_id":    func(q *KeyRequest) { q.Hook = "h" },
		"signal":     func(q *KeyRequest) { q.Signals = []string{""} },
	} {
		req := KeyRequest{Namespace: "acme", Name: "ci", Scopes: AllScopes()}
		change(&req)
		_, secret, err := r.keys.Create(t.Context(), req)
		if bad, ok := errors.AsType[*spec.InvalidError](err); !ok || bad.Field != field || !secret.IsZero() {
			t.Errorf("%s: %v", field, err)
		}
	}
	if keys, err := r.keys.List(t.Context(), "", "", 10); err != nil || len(keys) != 0 {
		t.Errorf("%d keys %v", len(keys), err)
	}
}

// After the digest key is rotated, old keys work as long as the old digest key is loaded, and a process without it does
// not start.
func TestAPIKey_digest_rotation(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	digests := func(ids ...string) func(*Config) {
		return func(c *Config) {
			var keys []tokens.Key
			for _, id := range ids {
				keys = append(keys, tokens.Key{ID: id, Secret: []byte(strings.Repeat(id, 16))})
			}
			var err error
			if c.Digester, err = tokens.NewDigester(keys); err != nil {
				t.Fatal(err)
			}
			c.Store = openStore(t, url)
		}
	}
	old := newRig(t, digests("d1"))
	_, first := old.create(nil)
	both := newRig(t, digests("d2", "d1"))
	both.takes("the old key", first)
	_, second := both.create(nil)
	both.takes("the new key", second)
	cfg := Config{SignKeys: testSignKeys(t, "s1"), PublicURL: publicURL}
	digests("d2")(&cfg)
	if missing, ok := errors.AsType[*db.KeyMissingError](errOf(New(t.Context(), cfg))); !ok || missing.ID != "d1" {
		t.Errorf("got %v", missing)
	}
}

// Whether a credential is good is not guessed when the database is down; what cannot be one is refused all the same.
func TestVerify_database_down(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, secret := r.create(nil)
	exchanged, err := r.Exchange(t.Context(), ExchangeRequest{Credential: secret})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgxpool.ParseConfig("postgres://127.0.0.1:1/x?connect_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	r.keys.store = db.Open(pool, db.Config{})
	for what, credential := range map[string]string{"an API key": secret, "its token": exchanged.Token.Reveal()} {
		p, err := r.Verify(t.Context(), credential)
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) || p.Namespace != "" {
			t.Errorf("%s: %+v %v", what, p, err)
		}
	}
	r.refuses("a mangled key", flip(secret), reasonMalformed)
	r.takes("a JWT of an issuer", r.token(nil, nil))
}
