package gateway

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

const issuerName = "https://id.example.com"

// issuerKey is the one key of the tests' issuer.
var issuerKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("i"), ed25519.SeedSize))

// credentials are what the callers of one or more gateways on a database have.
type credentials struct {
	t        *testing.T
	keys     *access.Keys
	verifier *access.Verifier
}

// newCredentials makes the credentials of a database. The issuer may name every namespace.
func newCredentials(t *testing.T, url string) *credentials {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return newCredentialsOn(t, pool)
}

// newCredentialsOn is newCredentials over connections of the test's.
func newCredentialsOn(t *testing.T, pool *pgxpool.Pool) *credentials {
	t.Helper()
	store := db.Open(pool, db.Config{})
	signing, err := tokens.NewSignKeys([]tokens.Key{{ID: "s1", Secret: bytes.Repeat([]byte("s"), 32)}})
	if err != nil {
		t.Fatal(err)
	}
	digester := testKeys(t).Digester()
	verifier, err := access.New(t.Context(), access.Config{
		Store: store, Digester: digester, SignKeys: signing, PublicURL: publicURL,
		Issuers: []access.Issuer{{
			Name: issuerName, Audience: "flowgate", KeysFile: issuerKeys(t), Namespaces: []spec.Namespace{access.AnyNamespace},
			Scopes: access.AllScopes(),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &credentials{t: t, keys: access.NewKeys(store, digester, time.Now, rand.Reader), verifier: verifier}
}

func issuerKeys(t *testing.T) string {
	t.Helper()
	public := base64.RawURLEncoding.EncodeToString(issuerKey.Public().(ed25519.PublicKey))
	path := filepath.Join(t.TempDir(), "keys.json")
	text := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"i1","x":"` + public + `"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// key makes an API key.
func (c *credentials) key(ns spec.Namespace, change func(*access.KeyRequest), scopes ...access.Scope) (id, secret string) {
	c.t.Helper()
	if scopes == nil {
		scopes = access.AllScopes()
	}
	r := access.KeyRequest{Namespace: ns, Name: "test", Scopes: scopes}
	if change != nil {
		change(&r)
	}
	key, shown, err := c.keys.Create(context.Background(), r)
	if err != nil {
		c.t.Fatal(err)
	}
	return key.ID, shown.Reveal()
}

// jwt makes a JWT of the issuer, with changes; a nil value takes a claim away.
func (c *credentials) jwt(ns spec.Namespace, change map[string]any) string {
	c.t.Helper()
	now := time.Now().Unix()
	says := jwt.MapClaims{
		"iss": issuerName, "aud": "flowgate", "sub": "ann", "iat": now, "exp": now + 600, "ns": string(ns),
		"scope": access.Words(access.AllScopes()),
	}
	for name, value := range change {
		says[name] = value
		if value == nil {
			delete(says, name)
		}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, says)
	token.Header["typ"], token.Header["kid"] = "at+jwt", "i1"
	text, err := token.SignedString(issuerKey)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// exchanged makes a token of ours for a credential.
func (c *credentials) exchanged(credential, resource string) string {
	c.t.Helper()
	made, err := c.verifier.Exchange(context.Background(), access.ExchangeRequest{Credential: credential, Resource: resource})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Token.Reveal()
}

// guarded serves an engine whose API needs credentials.
func guarded(t *testing.T, eng *engine.Engine, c *credentials) *site {
	t.Helper()
	return serveOn(t, eng, func(cfg *Config) { cfg.OpenAPI, cfg.Access = false, c.verifier })
}

// newGuarded is guarded on a database of its own.
func newGuarded(t *testing.T) (*site, *credentials) {
	t.Helper()
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	return guarded(t, engineOn(t, url, nil), c), c
}

// claimsOf reads the claims of a token without verifying it.
func claimsOf(t *testing.T, token string) (says map[string]any) {
	t.Helper()
	part := bytes.Split([]byte(token), []byte("."))
	raw, err := base64.RawURLEncoding.DecodeString(string(part[1]))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &says); err != nil {
		t.Fatal(err)
	}
	return says
}
