package app_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// A process that is told of an issuer gets its keys from the issuer's host, and believes its tokens for their namespace.
func TestServeBelievesConfiguredIssuers(t *testing.T) {
	t.Parallel()
	signer := func(c string) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte(c), ed25519.SeedSize))
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		public := base64.RawURLEncoding.EncodeToString(signer("1").Public().(ed25519.PublicKey))
		fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","x":%q}]}`, public)
	}))
	t.Cleanup(host.Close)
	path := filepath.Join(t.TempDir(), "issuers.json")
	text := fmt.Sprintf(`{"issuers":[{"issuer":"https://id.example.com","audience":"flowgate","jwks_url":%q,"namespaces":["acme"],"scopes":["runs:start","runs:read"]}]}`, host.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_ISSUERS_FILE"] = path
	gate := launch(t, env, "serve", "--examples")
	token := func(ns string, key ed25519.PrivateKey) string {
		now := time.Now().Unix()
		made := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": "https://id.example.com", "aud": "flowgate", "sub": "ann", "iat": now, "exp": now + 60, "ns": ns, "scope": "runs:start runs:read",
		})
		made.Header["typ"], made.Header["kid"] = "at+jwt", "k1"
		signed, err := made.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	good := token("acme", signer("1"))
	asCaller(t, 201, good, "POST", gate.url+"/v1/runs", `{"workflow":"collect","run_id":"r","input":{"count":1}}`)
	asCaller(t, 200, good, "GET", gate.url+"/v1/runs/r", "")
	asCaller(t, 403, good, "POST", gate.url+"/v1/runs/r/cancel", "")
	asCaller(t, 401, token("other", signer("1")), "GET", gate.url+"/v1/runs/r", "")
	asCaller(t, 401, token("acme", signer("2")), "GET", gate.url+"/v1/runs/r", "")
	gate.stop(t)
}

// The deployment's own name is nobody else's, and a file of keys that cannot be read is found at the start.
func TestServeRefusesIssuers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for says, issuer := range map[string]string{
		"issuers/0/issuer must not be the public URL": `{"issuer":"https://gate.example.com/base","audience":"a","jwks_url":"https://h/k","namespaces":["a"],"scopes":["runs:read"]}`,
		"issuers/0/jwks_file":                         `{"issuer":"i","audience":"a","jwks_file":"/none","namespaces":["a"],"scopes":["runs:read"]}`,
	} {
		path := filepath.Join(t.TempDir(), "issuers.json")
		if err := os.WriteFile(path, []byte(`{"issuers":[`+issuer+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		env := deployment(url)
		env["FLOWGATE_ISSUERS_FILE"] = path
		if _, _, err := runWith(t, env, "serve"); err == nil || !bytes.Contains([]byte(err.Error()), []byte(says)) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
