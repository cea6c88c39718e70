package tokens

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
)

// ErrKeyUnknown says that no key with the asked ID is loaded. It is an error of
// configuration, never of the caller who holds a token.
var ErrKeyUnknown = errors.New("key unknown")

// What is computed with a key begins with the use it is for, so that no result
// of one use is ever the result of another, even if an operator gives one
// secret to both sets.
const (
	useToken  = "fhk1"
	useDigest = "fhd1"
	useAPIKey = "fge1"
	usePage   = "fha1"
	useForm   = "fhf1"
	useCheck  = "fhc1"
)

// Keyring holds the mint keys and digest keys of a process. It is immutable and
// safe for concurrent use. It prints as [redacted].
type Keyring struct {
	mint   []loadedKey
	digest []loadedKey
}

// loadedKey is a key that is out of fmt's reach.
type loadedKey struct {
	id  string
	sum func(use string, parts ...[]byte) [sha256.Size]byte
}

// NewKeyring loads both sets. The first key of each is the current one, which
// makes what is new; the others serve what they made earlier. Each set needs a
// key, and IDs are unique in their set. The error is a *KeyError.
func NewKeyring(mint, digest []Key) (*Keyring, error) {
	m, err := load(MintSet, mint)
	if err != nil {
		return nil, err
	}
	d, err := load(DigestSet, digest)
	if err != nil {
		return nil, err
	}
	return &Keyring{mint: m, digest: d}, nil
}

func load(set string, keys []Key) ([]loadedKey, error) {
	if len(keys) == 0 {
		return nil, &KeyError{Set: set, Index: -1, Rule: "at least one is needed"}
	}
	seen := make(map[string]bool, len(keys))
	loaded := make([]loadedKey, 0, len(keys))
	for i, k := range keys {
		rule := k.check()
		if rule == "" && seen[k.ID] {
			rule = "its ID is used twice in the set"
		}
		if rule != "" {
			return nil, &KeyError{Set: set, Index: i, ID: k.ID, Rule: rule}
		}
		seen[k.ID] = true
		secret := bytes.Clone(k.Secret)
		loaded = append(loaded, loadedKey{id: k.ID, sum: func(use string, parts ...[]byte) [sha256.Size]byte {
			return authenticate(secret, use, parts)
		}})
	}
	return loaded, nil
}

// authenticate is HMAC-SHA-256 over the use and the parts. Each part follows
// its length as four bytes, so ab and c never read as a and bc.
func authenticate(secret []byte, use string, parts [][]byte) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(use))
	var length [4]byte
	for _, p := range parts {
		binary.BigEndian.PutUint32(length[:], uint32(len(p)))
		mac.Write(length[:])
		mac.Write(p)
	}
	mac.Sum(sum[:0])
	return sum
}

// KeyCheck proves that two processes hold the same secret under one key ID, and
// tells nothing else about it. It may be stored and shown.
type KeyCheck struct {
	Kind  string // MintSet, DigestSet or SignSet
	ID    string
	Check [32]byte
}

// Checks returns one check per loaded key: mint keys first, each set in its
// order.
func (k *Keyring) Checks() []KeyCheck {
	checks := make([]KeyCheck, 0, len(k.mint)+len(k.digest))
	for _, key := range k.mint {
		checks = append(checks, key.check(MintSet))
	}
	for _, key := range k.digest {
		checks = append(checks, key.check(DigestSet))
	}
	return checks
}

func (k loadedKey) check(set string) KeyCheck {
	return KeyCheck{Kind: set, ID: k.id, Check: k.sum(useCheck, []byte(set), []byte(k.id))}
}

// find returns the key of that ID, or an error that wraps ErrKeyUnknown.
func find(set string, keys []loadedKey, id string) (loadedKey, error) {
	for _, k := range keys {
		if k.id == id {
			return k, nil
		}
	}
	return loadedKey{}, fmt.Errorf("%s key %q: %w", set, id, ErrKeyUnknown)
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (*Keyring) Format(f fmt.State, _ rune) { writeRedacted(f) }

// MarshalText returns [redacted]; it also serves JSON.
func (*Keyring) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (*Keyring) LogValue() slog.Value { return slog.StringValue(Redacted) }
