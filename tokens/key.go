package tokens

import (
	"fmt"
	"log/slog"
)

// The sets of keys, as KeyError and KeyCheck name them.
const (
	MintSet   = "mint"
	DigestSet = "digest"
	SignSet   = "sign" // of SignKeys
)

const (
	maxKeyID     = 64
	minKeySecret = 32
)

// Key is one named secret of a set. The ID is public and stored beside what the
// key made; the secret is at least 32 random bytes. A Key prints as [redacted],
// but its bytes are in the open: do not keep it. NewKeyring takes a copy, and
// what fmt cannot ask (an unexported field, %p) would be printed byte by byte.
type Key struct {
	ID     string // 1 to 64 of [A-Za-z0-9_-]
	Secret []byte
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (Key) Format(f fmt.State, _ rune) { writeRedacted(f) }

// MarshalText returns [redacted]; it also serves JSON.
func (Key) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (Key) LogValue() slog.Value { return slog.StringValue(Redacted) }

// check returns the rule of form the key breaks, or "".
func (k Key) check() string {
	switch {
	case k.ID == "" || len(k.ID) > maxKeyID || !all(k.ID, isURLSafe):
		return "the ID must be 1 to 64 of A-Z a-z 0-9 _ -"
	case len(k.Secret) < minKeySecret:
		return "the secret must have at least 32 bytes"
	default:
		return ""
	}
}

// KeyError says which key of a set cannot be used and why.
type KeyError struct {
	Set   string // MintSet, DigestSet or SignSet
	Index int    // position in the set, from 0; -1 if the set is empty
	ID    string `json:"-"` // the key's ID as given; do not print it, it may be a misplaced secret
	Rule  string
}

// Error names the set, the position counted from 1, and the rule. It leaves the
// ID out, because in a configuration with the two parts swapped the ID is the
// secret.
func (e *KeyError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s keys: %s", e.Set, e.Rule)
	}
	return fmt.Sprintf("%s key %d: %s", e.Set, e.Index+1, e.Rule)
}

// GoString is Error, for %#v.
func (e *KeyError) GoString() string { return e.Error() }
