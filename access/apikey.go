package access

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// usedEvery is how often the use of an API key is noted.
const usedEvery = time.Minute

// MaxKeyLifetime bounds how long an API key may be made for.
const MaxKeyLifetime = 10 * 365 * 24 * time.Hour

// ErrKeyNotFound says that there is no API key of an ID.
var ErrKeyNotFound = db.ErrAPIKeyNotFound

// APIKey is what is known of an API key: never the key itself.
type APIKey = db.APIKey

// KeyRequest describes an API key to be made.
type KeyRequest struct {
	Namespace spec.Namespace
	Name      string // for people; obeys spec.CheckName
	Scopes    []Scope
	Run       spec.RunID    // the only run it may act on; empty: any
	Hook      spec.HookID   // the only hook of Run; empty: any
	Signals   []string      // the only names it may send; nil: any
	Lifetime  time.Duration // 0: until it is revoked; at most MaxKeyLifetime
}

// Keys makes, lists, revokes and recognises API keys. It is safe for concurrent use; any number of them, in any number of
// processes, may share a database.
type Keys struct {
	store    *db.Store
	digester *tokens.Digester
	clock    func() time.Time
	random   io.Reader

	mu    sync.Mutex
	using map[string]bool // keys whose use is being noted; at most one entry per request under way
}

// NewKeys returns the API keys of a database. random is a source of cryptographic randomness.
func NewKeys(store *db.Store, digester *tokens.Digester, clock func() time.Time, random io.Reader) *Keys {
	return &Keys{store: store, digester: digester, clock: clock, random: random, using: map[string]bool{}}
}

// Create makes a key. The secret is shown by nothing else and never again. Errors: *spec.InvalidError, those of the
// database.
func (k *Keys) Create(ctx context.Context, r KeyRequest) (APIKey, tokens.Secret, error) {
	if err := r.check(); err != nil {
		return APIKey{}, tokens.Secret{}, err
	}
	secret, err := tokens.NewAPIKey(k.random)
	if err != nil {
		return APIKey{}, tokens.Secret{}, err
	}
	id := make([]byte, 10)
	if _, err := io.ReadFull(k.random, id); err != nil {
		return APIKey{}, tokens.Secret{}, fmt.Errorf("read key ID: %w", err)
	}
	key := APIKey{
		ID: "key_" + hex.EncodeToString(id), Namespace: r.Namespace, Name: r.Name, RunID: r.Run, HookID: r.Hook, Signals: r.Signals,
		CreatedAt: k.clock().UTC().Truncate(time.Microsecond),
	}
	for _, s := range r.Scopes {
		key.Scopes = append(key.Scopes, string(s))
	}
	if r.Lifetime > 0 {
		expires := key.CreatedAt.Add(r.Lifetime)
		key.ExpiresAt = &expires
	}
	var digest tokens.Digest
	key.DigestKey, digest = k.digester.Digest(secret)
	key.Digest = digest[:]
	if err := k.store.InsertAPIKey(ctx, key); err != nil {
		return APIKey{}, tokens.Secret{}, err
	}
	return key, secret, nil
}

func (r KeyRequest) check() error {
	if err := r.Namespace.Validate(); err != nil {
		return err
	}
	if r.Namespace == AnyNamespace {
		return invalid("namespace", "must be one namespace: a key is never for all of them")
	}
	if err := spec.CheckName("name", r.Name); err != nil {
		return err
	}
	if len(r.Scopes) == 0 {
		return invalid("scope", "must be given at least once: "+Words(AllScopes()))
	}
	for _, s := range r.Scopes {
		if _, err := ParseScopes("scope", []string{string(s)}); err != nil {
			return err
		}
	}
	if r.Lifetime < 0 || r.Lifetime > MaxKeyLifetime {
		return invalid("expires_in", "must be more than 0 and at most 10 years")
	}
	return r.checkConstraints()
}

func (r KeyRequest) checkConstraints() error {
	if r.Run != "" {
		if err := r.Run.Validate(); err != nil {
			return err
		}
	}
	if r.Hook != "" {
		if r.Run == "" {
			return invalid("hook_id", "needs run_id: hook IDs are unique within a run only")
		}
		if err := r.Hook.Validate(); err != nil {
			return err
		}
	}
	for _, name := range r.Signals {
		if err := spec.CheckName("signal", name); err != nil {
			return err
		}
	}
	return nil
}

// List lists at most limit keys, revoked ones too, by ID and after one of them; all namespaces' where ns is empty.
// Errors: those of the database.
func (k *Keys) List(ctx context.Context, ns spec.Namespace, after string, limit int) ([]APIKey, error) {
	return k.store.ListAPIKeys(ctx, ns, after, limit)
}

// Revoke ends a key for good, and with it what was exchanged for it: at the next request. It is idempotent; the first time
// stands. Errors: ErrKeyNotFound, those of the database.
func (k *Keys) Revoke(ctx context.Context, id string) (APIKey, error) {
	return k.store.RevokeAPIKey(ctx, id, k.clock().UTC())
}

// verify says whose key a text is. A text that cannot be a key never reaches the database.
func (k *Keys) verify(ctx context.Context, text string, admit Admit) (Principal, error) {
	secret, err := tokens.ParseAPIKey(text)
	if err != nil {
		return Principal{}, refused(reasonMalformed)
	}
	if err := admit(text); err != nil {
		return Principal{}, err
	}
	digests := k.digester.Digests(secret)
	raw := make([][]byte, len(digests))
	for i := range digests {
		raw[i] = digests[i][:]
	}
	key, err := k.store.APIKeyByDigest(ctx, raw)
	if err != nil {
		return Principal{}, lookedUp(err)
	}
	if !isOneOf(raw, key.Digest) {
		return Principal{}, refused(reasonUnknown)
	}
	if err := k.used(ctx, key); err != nil {
		return Principal{}, err
	}
	return holderOf(key), nil
}

// isOneOf compares digests in a time that does not depend on them.
func isOneOf(digests [][]byte, one []byte) bool {
	equal := 0
	for _, d := range digests {
		equal |= subtle.ConstantTimeCompare(d, one)
	}
	return equal == 1
}

// live returns a key by its ID if it may be used. Errors: as of verify.
func (k *Keys) live(ctx context.Context, id string, admit Admit) (APIKey, error) {
	if err := admit(actorOf(id)); err != nil {
		return APIKey{}, err
	}
	key, err := k.store.APIKeyByID(ctx, id)
	if err != nil {
		return APIKey{}, lookedUp(err)
	}
	return key, k.used(ctx, key)
}

// used refuses a key that ended, and notes the use of one that did not.
func (k *Keys) used(ctx context.Context, key APIKey) error {
	now := k.clock()
	switch {
	case key.RevokedAt != nil:
		return refused(reasonRevoked)
	case key.ExpiresAt != nil && !now.Before(*key.ExpiresAt):
		return refused(reasonExpired)
	}
	before := now.Add(-usedEvery)
	if key.LastUsedAt != nil && key.LastUsedAt.After(before) || !k.begin(key.ID) {
		return nil
	}
	defer k.end(key.ID)
	_ = k.store.TouchAPIKey(ctx, key.ID, now.UTC(), before.UTC()) // a note that is lost is made by the next request
	return nil
}

// begin lets one request at a time note the use of a key.
func (k *Keys) begin(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.using[id] {
		return false
	}
	k.using[id] = true
	return true
}

func (k *Keys) end(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.using, id)
}

func holderOf(key APIKey) Principal {
	return Principal{
		Namespace: key.Namespace, Actor: actorOf(key.ID), Method: ByAPIKey, Scopes: known(key.Scopes, AllScopes()),
		Run: key.RunID, Hook: key.HookID, Signals: key.Signals, KeyID: key.ID, Expires: key.ExpiresAt,
	}
}

// actorOf is what histories call the holder of an API key.
func actorOf(keyID string) string { return spec.KeyActor + keyID }
