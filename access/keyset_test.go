package access

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// byKey is a token that names a key.
func (r *rig) byKey(id string) string {
	return sign(jwt.SigningMethodEdDSA, pairs()[id], head(map[string]any{"kid": id}), r.says(nil))
}

// A new key is had at once, an old one goes, and strangers' key IDs cause one refresh a minute.
func TestKeySet_rotation(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	asked := r.host.asked.Load()
	r.clock.add(refreshRest)
	r.host.answer(http.StatusOK, setOf(jwkOf("ed2", nil)))
	r.takes("the new key", r.byKey("ed2"))
	r.refuses("the old key", r.byKey("ed"), reasonKey)
	for range 50 {
		r.refuses("a stranger's key", r.byKey("stranger"), reasonKey)
	}
	if n := r.host.asked.Load() - asked; n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
	r.clock.add(-time.Hour)
	r.host.answer(http.StatusOK, setOf(jwkOf("ed", nil)))
	r.takes("a new key after the clock went back", r.byKey("ed"))
	if n := r.host.asked.Load() - asked; n != 2 {
		t.Errorf("%d refreshes, want 2", n)
	}
}

// What cannot be had is not replaced: known keys go on, unknown ones are nobody's fault.
func TestKeySet_host_in_trouble(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	elsewhere := newKeyHost(t)
	elsewhere.answer(http.StatusOK, setOf(jwkOf("stranger", nil)))
	for what, serve := range map[string]http.HandlerFunc{
		"status 500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a redirect":   func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, elsewhere.URL, http.StatusFound) },
		"a page":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"another JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"error":"x"}`)) },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat(" ", maxKeySetBytes) + `]}`))
		},
		"a key twice": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(setOf(jwkOf("ed", nil), jwkOf("stranger", map[string]any{"kid": "ed"}))))
		},
		"a broken end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			_, _ = w.Write([]byte(`{"keys"`))
		},
	} {
		r.host.do(serve)
		r.clock.add(refreshRest)
		if _, err := r.Verify(t.Context(), r.byKey("stranger")); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) {
			t.Errorf("%s: an unknown key: %v", what, err)
		}
		r.takes(what+": a known key", r.byKey("ed"))
	}
	if n := elsewhere.asked.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	r.clock.add(refreshRest)
	r.host.answer(http.StatusOK, setOf(jwkOf("ed2", nil)))
	r.takes("once it is back", r.byKey("ed2"))
}

// A host that hangs holds nobody for long: not who has a known key, and of the others only some, for a bounded time.
func TestKeySet_host_that_hangs(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	release := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	hanging := make(chan struct{}, 1)
	r.host.do(func(_ http.ResponseWriter, q *http.Request) {
		hanging <- struct{}{}
		select {
		case <-release:
		case <-q.Context().Done():
		}
	})
	r.clock.add(refreshRest)
	began := time.Now()
	var group sync.WaitGroup
	for range 4 * keyWaiters {
		group.Go(func() {
			if _, err := r.Verify(context.Background(), r.byKey("stranger")); !errors.Is(err, ErrUnavailable) {
				t.Errorf("an unknown key: %v", err)
			}
		})
	}
	<-hanging
	s := r.sets[0]
	waiting := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.waiters }
	await(t, "as many wait as may", func() bool { return waiting() == keyWaiters })
	for range 100 {
		if n := waiting(); n > keyWaiters {
			t.Fatalf("%d wait", n)
		}
		r.takes("a known key", r.byKey("ed"))
	}
	group.Wait()
	if took := time.Since(began); took > fetchTimeout {
		t.Errorf("somebody waited for %s", took)
	}
	if n := waiting(); n != 0 {
		t.Errorf("%d waiters are left", n)
	}
}

// An issuer whose keys were never had is unavailable, not wrong; a request that ends does not wait.
func TestKeySet_host_that_is_down_from_the_start(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Issuers[0].KeysURL = "http://127.0.0.1:1/keys" })
	if _, err := r.Verify(t.Context(), r.byKey("ed")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	r.clock.add(refreshRest)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Verify(ctx, r.byKey("ed")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// Keys that are for something else, or of a kind that is not known, are left out; a set may have them.
func TestParseKeySet(t *testing.T) {
	t.Parallel()
	algs := []string{"EdDSA", "ES256", "RS256", "PS256"}
	for _, tc := range []struct {
		what string
		key  map[string]any
		want string
	}{
		{"Ed25519", jwkOf("ed", nil), "EdDSA"},
		{"RSA", jwkOf("rsa", nil), "RS256 PS256"},
		{"RSA for one method", jwkOf("rsa", map[string]any{"alg": "PS256"}), "PS256"},
		{"no use", jwkOf("ed", map[string]any{"use": nil}), "EdDSA"},
		{"key_ops", jwkOf("ed", map[string]any{"key_ops": []string{"verify"}}), "EdDSA"},
		{"a certificate elsewhere", jwkOf("ed", map[string]any{"x5u": "http://127.0.0.1:1/"}), "EdDSA"},
		{"for encryption", jwkOf("rsa", map[string]any{"use": "enc"}), ""},
		{"to sign with", jwkOf("ed", map[string]any{"key_ops": []string{"sign"}}), ""},
		{"no ID", jwkOf("ed", map[string]any{"kid": ""}), ""},
		{"an ID that is a path", jwkOf("ed", map[string]any{"kid": "../x"}), ""},
		{"a method of another kind", jwkOf("ed", map[string]any{"alg": "RS256"}), ""},
		{"a curve that nobody asked for", jwkOf("p384", nil), ""},
		{"another curve's name", jwkOf("p384", map[string]any{"crv": "P-256"}), ""},
		{"short RSA", jwkOf("short", nil), ""},
		{"RSA with the exponent 1", jwkOf("rsa", map[string]any{"e": b64([]byte{1})}), ""},
		{"RSA that is huge", jwkOf("rsa", map[string]any{"n": b64([]byte(strings.Repeat("\xff", 2048)))}), ""},
		{"a short point", jwkOf("ed", map[string]any{"x": b64([]byte("short"))}), ""},
		{"a point off the curve", jwkOf("p256", map[string]any{"x": b64([]byte(strings.Repeat("1", 32)))}), ""},
		{"not base64", jwkOf("ed", map[string]any{"x": "#"}), ""},
		{"an unknown kind", jwkOf("ed", map[string]any{"kty": "AKP"}), ""},
		{"a secret where nobody asked for one", map[string]any{"kty": "oct", "kid": "h", "k": b64([]byte(strings.Repeat("s", 32)))}, ""},
	} {
		keys, err := parseKeySet([]byte(setOf(tc.key)), algs)
		var got []string
		for _, alg := range algs {
			if keys[keyName{tc.key["kid"].(string), alg}] != nil {
				got = append(got, alg)
			}
		}
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s: got %v %v, want %q", tc.what, got, err, tc.want)
		}
	}
	for what, text := range map[string]string{
		"nothing": "", "null": "null", "a list": "[]", "no keys": "{}", "keys that are null": `{"keys":null}`,
		"a key that is text": `{"keys":["x"]}`, "rest": `{"keys":[]} x`, "many keys": `{"keys":[` + strings.Repeat(`{},`, 256) + `{}]}`,
		"a number where text belongs": `{"keys":[{"kid":1}]}`,
	} {
		if keys, err := parseKeySet([]byte(text), algs); err == nil || keys != nil {
			t.Errorf("%s: %v %v", what, keys, err)
		}
	}
}
