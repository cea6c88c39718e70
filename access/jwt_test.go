package access

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flowgate-go/flowgate/spec"
)

func nsList(names ...spec.Namespace) []spec.Namespace { return names }

func TestJWT_good(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	expires := r.clock.Now().Add(300 * time.Second)
	want := Principal{
		Namespace: "acme", Actor: issuerURL + "#ann", Method: ByJWT, Scopes: []Scope{RunsRead}, Expires: &expires,
	}
	got := r.takes("a token", r.token(nil, nil))
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Principal{})); diff != "" {
		t.Error(diff)
	}
	got = r.takes("constraints", r.token(nil, map[string]any{"run": "r", "hook": "h", "signals": []string{"go"}, "scope": "signals:send runs:cancel"}))
	want.Run, want.Hook, want.Signals, want.Scopes = "r", "h", []string{"go"}, []Scope{SignalsSend}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Principal{})); diff != "" {
		t.Error(diff)
	}
	if got := r.takes("no names", r.token(nil, map[string]any{"signals": []string{}})); got.Signals == nil {
		t.Error("no names became any name")
	}
	for what, token := range map[string]string{
		"a list of audiences": r.token(nil, map[string]any{"aud": []string{"x", "flowgate"}}),
		"no scope":            r.token(nil, map[string]any{"scope": nil}),
		"ES256":               sign(jwt.SigningMethodES256, pairs()["p256"], head(map[string]any{"alg": "ES256", "kid": "p256"}), r.says(nil)),
		"RS256":               sign(jwt.SigningMethodRS256, pairs()["rsa"], head(map[string]any{"alg": "RS256", "kid": "rsa"}), r.says(nil)),
		"PS256":               sign(jwt.SigningMethodPS256, pairs()["rsa"], head(map[string]any{"alg": "PS256", "kid": "rsa"}), r.says(nil)),
		"half seconds":        r.token(nil, map[string]any{"iat": float64(r.clock.Now().Unix()) - 0.5}),
	} {
		r.takes(what, token)
	}
}

// 43, 44: the whole table of what a JWT may try.
func TestJWT_hostile(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	good := r.token(nil, nil)
	r.takes("the token that the others are made of", good)
	asked := r.host.asked.Load()
	public := pairs()["rsa"].Public().(*rsa.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	now := r.clock.Now().Unix()
	h := func(change map[string]any) string { return r.token(change, nil) }
	c := func(change map[string]any) string { return r.token(nil, change) }
	ed := func(header, claims any) string { return sign(jwt.SigningMethodEdDSA, pairs()["ed"], header, claims) }
	parts := strings.Split(good, ".")
	elsewhere := r.host.URL + "/stolen"

	for _, tc := range []struct{ what, token, reason string }{
		// Form.
		{"nothing", "", reasonMalformed},
		{"two parts", parts[0] + "." + parts[1], reasonMalformed},
		{"four parts", good + "." + parts[2], reasonMalformed},
		{"only dots", strings.Repeat(".", 4000), reasonMalformed},
		{"no signature", parts[0] + "." + parts[1] + ".", reasonMalformed},
		{"a line end", good + "\n", reasonMalformed},
		{"a space", " " + good, reasonMalformed},
		{"padding", good + "=", reasonMalformed},
		{"standard base64", strings.NewReplacer("-", "+", "_", "/").Replace(good) + "+", reasonMalformed},
		{"NUL", good + "\x00", reasonMalformed},
		{"too long", c(map[string]any{"pad": strings.Repeat("x", 8<<10)}), reasonMalformed},
		{"not base64", "a." + parts[1] + "." + parts[2], reasonMalformed},
		{"other last bits", lastBits(t, good), ""},
		{"a header that is no object", ed(`[]`, r.says(nil)), reasonMalformed},
		{"claims that are no object", ed(head(nil), `[]`), reasonMalformed},
		{"claims that are null", ed(head(nil), `null`), reasonIssuer},
		{"claims that are deep", ed(head(nil), strings.Repeat(`{"a":`, 2000)+"1"+strings.Repeat("}", 2000)), reasonMalformed},
		{"five parts of a JWE", good + ".a.b", reasonMalformed},

		// Method and key.
		{"alg none", b64(asJSON(head(map[string]any{"alg": "none"}))) + "." + parts[1] + "." + parts[2], reasonSignature},
		{"alg none, no signature", b64(asJSON(head(map[string]any{"alg": "none"}))) + "." + parts[1] + ".", reasonMalformed},
		{"alg NONE", b64(asJSON(head(map[string]any{"alg": "NONE"}))) + "." + parts[1] + "." + parts[2], reasonMalformed},
		{"HS256 with the public key", sign(jwt.SigningMethodHS256, asPEM, head(map[string]any{"alg": "HS256", "kid": "rsa"}), r.says(nil)), reasonHeader},
		{"HS256 with the raw public key", sign(jwt.SigningMethodHS256, der, head(map[string]any{"alg": "HS256", "kid": "rsa"}), r.says(nil)), reasonHeader},
		{"HS256 with no key", sign(jwt.SigningMethodHS256, []byte{}, head(map[string]any{"alg": "HS256", "kid": "ed"}), r.says(nil)), reasonHeader},
		{"a method that is not the issuer's", sign(jwt.SigningMethodES384, pairs()["p384"], head(map[string]any{"alg": "ES384", "kid": "p384"}), r.says(nil)), reasonHeader},
		{"a method that nobody takes", sign(jwt.SigningMethodRS512, pairs()["rsa"], head(map[string]any{"alg": "RS512", "kid": "rsa"}), r.says(nil)), reasonSignature},
		{"a key of another type", h(map[string]any{"kid": "rsa"}), reasonKey},
		{"an RSA key that is too short", sign(jwt.SigningMethodRS256, pairs()["short"], head(map[string]any{"alg": "RS256", "kid": "short"}), r.says(nil)), reasonKey},
		{"an unknown key", sign(jwt.SigningMethodEdDSA, pairs()["stranger"], head(map[string]any{"kid": "stranger"}), r.says(nil)), reasonKey},
		{"a stranger's key under a known ID", sign(jwt.SigningMethodEdDSA, pairs()["stranger"], head(nil), r.says(nil)), reasonSignature},
		{"a key in the token", sign(jwt.SigningMethodEdDSA, pairs()["stranger"], head(map[string]any{"jwk": jwkOf("stranger", nil)}), r.says(nil)), reasonSignature},
		{"a key elsewhere", sign(jwt.SigningMethodEdDSA, pairs()["stranger"], head(map[string]any{"jku": elsewhere, "x5u": elsewhere, "kid": "stranger"}), r.says(nil)), reasonKey},
		{"a certificate in the token", sign(jwt.SigningMethodEdDSA, pairs()["stranger"], head(map[string]any{"x5c": []string{base64.StdEncoding.EncodeToString(der)}}), r.says(nil)), reasonSignature},
		{"one byte of the claims", parts[0] + "." + b64(asJSON(r.says(map[string]any{"ns": "other"}))) + "." + parts[2], reasonSignature},
		{"another token's signature", parts[0] + "." + parts[1] + "." + strings.Split(c(map[string]any{"sub": "bob"}), ".")[2], reasonSignature},

		// Header.
		{"crit", h(map[string]any{"crit": []string{"exp"}, "exp": 1}), reasonHeader},
		{"empty crit", h(map[string]any{"crit": []string{}}), reasonHeader},
		{"b64", h(map[string]any{"b64": false}), reasonHeader},
		{"b64 true", h(map[string]any{"b64": true}), reasonHeader},
		{"typ JWT", h(map[string]any{"typ": "JWT"}), reasonHeader},
		{"typ in capitals", h(map[string]any{"typ": "AT+JWT"}), reasonHeader},
		{"typ with a space", h(map[string]any{"typ": "at+jwt "}), reasonHeader},
		{"no typ", h(map[string]any{"typ": nil}), reasonHeader},
		{"typ of another type", h(map[string]any{"typ": []string{"at+jwt"}}), reasonHeader},
		{"no kid", h(map[string]any{"kid": nil}), reasonHeader},
		{"a kid that is a path", h(map[string]any{"kid": "../../dev/null"}), reasonHeader},
		{"a kid that is SQL", h(map[string]any{"kid": "ed' OR 1=1"}), reasonHeader},
		{"a long kid", h(map[string]any{"kid": strings.Repeat("k", 129)}), reasonHeader},
		{"a kid that is a number", h(map[string]any{"kid": 1}), reasonHeader},
		{"alg twice", ed(`{"alg":"none","alg":"EdDSA","typ":"at+jwt","kid":"ed"}`, r.says(nil)), reasonHeader},
		{"kid twice", ed(`{"alg":"EdDSA","typ":"at+jwt","kid":"x","kid":"ed"}`, r.says(nil)), reasonHeader},
		{"ALG beside alg", ed(`{"ALG":"EdDSA","typ":"at+jwt","kid":"ed"}`, r.says(nil)), reasonMalformed},

		// Claims.
		{"no exp", c(map[string]any{"exp": nil}), reasonClaims},
		{"exp that is text", c(map[string]any{"exp": fmt.Sprint(now + 300)}), reasonMalformed},
		{"exp that is null", ed(head(nil), claimsText(r.says(nil), `"exp":null`, "exp")), reasonMalformed},
		{"exp in capitals", c(map[string]any{"exp": nil, "EXP": now + 300}), reasonClaims},
		{"exp twice", ed(head(nil), claimsText(r.says(nil), fmt.Sprintf(`"exp":%d,"exp":%d`, now-300, now+300), "exp")), reasonMalformed},
		{"exp of long ago", c(map[string]any{"exp": now - 31, "iat": now - 100}), reasonExpired},
		{"exp at the edge of the leeway", c(map[string]any{"exp": now - 30, "iat": now - 100}), reasonExpired},
		{"a negative exp", c(map[string]any{"exp": -1}), reasonMalformed},
		{"exp beyond time", c(map[string]any{"exp": 1e300}), reasonMalformed},
		{"exp far ahead", c(map[string]any{"exp": now + 901}), reasonLifetime},
		{"exp before iat", c(map[string]any{"exp": now + 5, "iat": now + 10}), reasonLifetime},
		{"no iat", c(map[string]any{"iat": nil}), reasonClaims},
		{"iat ahead", c(map[string]any{"iat": now + 31}), reasonClaims},
		{"iat of long ago", c(map[string]any{"iat": now - 700}), reasonLifetime},
		{"nbf ahead", c(map[string]any{"nbf": now + 31}), reasonClaims},
		{"no aud", c(map[string]any{"aud": nil}), reasonClaims},
		{"another aud", c(map[string]any{"aud": "flowgate2"}), reasonClaims},
		{"an empty aud", c(map[string]any{"aud": []string{}}), reasonClaims},
		{"aud in capitals", c(map[string]any{"aud": "Flowgate"}), reasonClaims},
		{"aud of another type", c(map[string]any{"aud": map[string]any{"a": "flowgate"}}), reasonMalformed},
		{"no iss", c(map[string]any{"iss": nil}), reasonIssuer},
		{"another iss", c(map[string]any{"iss": issuerURL + "/"}), reasonIssuer},
		{"our own iss", c(map[string]any{"iss": publicURL}), reasonKey},
		{"no sub", c(map[string]any{"sub": nil}), reasonClaims},
		{"a long sub", c(map[string]any{"sub": strings.Repeat("s", 250)}), reasonClaims},
		{"a sub with a line end", c(map[string]any{"sub": "ann\nbob"}), reasonClaims},
		{"a sub of another type", c(map[string]any{"sub": 7}), reasonMalformed},
		{"no ns", c(map[string]any{"ns": nil}), reasonNamespace},
		{"an empty ns", c(map[string]any{"ns": ""}), reasonMalformed},
		{"another's ns", c(map[string]any{"ns": "foreign"}), reasonNamespace},
		{"every ns", c(map[string]any{"ns": "*"}), reasonNamespace},
		{"two ns", c(map[string]any{"ns": []string{"acme", "other"}}), reasonMalformed},
		{"NS beside ns", c(map[string]any{"ns": nil, "NS": "acme"}), reasonNamespace},
		{"scope as a list", c(map[string]any{"scope": []string{"runs:read"}}), reasonMalformed},
		{"a hook of no run", c(map[string]any{"hook": "h"}), reasonMalformed},
		{"an empty run", c(map[string]any{"run": ""}), reasonMalformed},
		{"a run that is null", ed(head(nil), claimsText(r.says(nil), `"run":null`, "run")), reasonMalformed},
		{"a run that is none", c(map[string]any{"run": " r"}), reasonClaims},
		{"signals that are one text", c(map[string]any{"signals": "go"}), reasonMalformed},
		{"signals that are null", ed(head(nil), claimsText(r.says(nil), `"signals":null`, "signals")), reasonMalformed},
		{"signals with a number", c(map[string]any{"signals": []any{"go", 1}}), reasonMalformed},
	} {
		r.refuses(tc.what, tc.token, tc.reason)
	}
	if n := r.host.asked.Load() - asked; n != 0 {
		t.Errorf("%d requests were made for tokens that say where keys are", n)
	}
	// The edges from inside.
	for what, change := range map[string]map[string]any{
		"exp within the leeway": {"exp": now - 29, "iat": now - 100}, "iat within the leeway": {"iat": now + 30},
		"nbf within the leeway": {"nbf": now + 30}, "the longest life": {"exp": now + 900},
	} {
		r.takes(what, c(change))
	}
}

// claimsText is claims without one, and with a text in its place.
func claimsText(says map[string]any, text, without string) string {
	delete(says, without)
	rest := string(asJSON(says))
	return rest[:len(rest)-1] + "," + text + "}"
}

// lastBits is a token whose signature ends in another character that decodes, loosely, to the same bytes.
func lastBits(t *testing.T, token string) string {
	t.Helper()
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, token[len(token)-1])
	other := token[:len(token)-1] + string(digits[last^1])
	sig := func(s string) []byte {
		b, _ := base64.RawURLEncoding.DecodeString(s[strings.LastIndex(s, ".")+1:])
		return b
	}
	if !slices.Equal(sig(token), sig(other)) {
		t.Fatal("the two signatures differ")
	}
	return other
}

// Secret keys come from private files only, and are never used for another method.
func TestJWT_HMAC(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("s", 32))
	oct := func(k []byte) map[string]any { return map[string]any{"kty": "oct", "kid": "h", "k": b64(k)} }
	file := func(mode os.FileMode, text string) string {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	of := func(path string) func(*Config) {
		return func(c *Config) {
			c.Issuers[0].KeysURL, c.Issuers[0].KeysFile, c.Issuers[0].Algorithms = "", path, []string{"HS256", "EdDSA"}
		}
	}
	r := newRig(t, of(file(0o600, setOf(oct(secret), jwkOf("ed", nil)))))
	mac := func(key []byte) string {
		return sign(jwt.SigningMethodHS256, key, head(map[string]any{"alg": "HS256", "kid": "h"}), r.says(nil))
	}
	r.takes("the secret key", mac(secret))
	r.takes("a public key beside it", r.token(nil, nil))
	r.refuses("another secret", mac([]byte(strings.Repeat("t", 32))), reasonSignature)
	r.refuses("no secret", mac(nil), reasonSignature)
	r.refuses("a public key as the secret", sign(jwt.SigningMethodHS256, []byte(pairs()["ed"].Public().(ed25519.PublicKey)), head(map[string]any{"alg": "HS256"}), r.says(nil)), reasonKey)

	for want, path := range map[string]string{
		errKeysFilePublic.Error(): file(0o644, setOf(oct(secret))),
		errKeyIsShort.Error():     file(0o600, setOf(oct(secret[:31]))),
		errKeySetTwice.Error():    file(0o600, setOf(oct(secret), oct(secret))),
		errKeySet.Error():         file(0o600, `{"keys":[],"keys":[]}`),
	} {
		cfg := Config{Store: r.store, Digester: testDigester(t), SignKeys: testSignKeys(t, "s1"), PublicURL: publicURL, Issuers: []Issuer{issuer(r.host)}}
		of(path)(&cfg)
		if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), b64(secret)[:20]) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A fixed namespace needs no claim, and no other one is taken.
func TestJWT_fixed_namespace(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Issuers[0].Namespace, c.Issuers[0].Namespaces = "acme", nil })
	for what, ns := range map[string]any{"no claim": nil, "the same": "acme"} {
		if p := r.takes(what, r.token(nil, map[string]any{"ns": ns})); p.Namespace != "acme" {
			t.Errorf("%s: %q", what, p.Namespace)
		}
	}
	r.refuses("another one", r.token(nil, map[string]any{"ns": "other"}), reasonNamespace)
}

// An issuer whose keys are another's cannot speak for it: keys are looked up by issuer.
func TestJWT_issuers_are_apart(t *testing.T) {
	t.Parallel()
	second := newKeyHost(t)
	second.answer(http.StatusOK, setOf(jwkOf("ed2", map[string]any{"kid": "ed"})))
	r := newRig(t, func(c *Config) {
		i := issuer(second)
		i.Name, i.Namespaces, i.Scopes = "https://second.example.com", nsList("second"), []Scope{RunsCancel}
		c.Issuers = append(c.Issuers, i)
	})
	as := func(change map[string]any) string {
		return sign(jwt.SigningMethodEdDSA, pairs()["ed2"], head(nil), r.says(change))
	}
	if p := r.takes("its own", as(map[string]any{"iss": "https://second.example.com", "ns": "second", "scope": "runs:cancel runs:read"})); p.Namespace != "second" || len(p.Scopes) != 1 {
		t.Errorf("got %+v", p)
	}
	r.refuses("the first one's name", as(nil), reasonSignature)
	r.refuses("the first one's namespace", as(map[string]any{"iss": "https://second.example.com"}), reasonNamespace)
}
