package tokens

import (
	"fmt"
	"io"
)

// NewAPIKey makes an API key of 256 bits from r, which is a source of
// cryptographic randomness: "fge_" and the alphabet, length and checksum of a
// minted hook token, so that scanners find it by fge_[0-9A-Za-z]{49} and a
// mangled one is refused without a look-up.
func NewAPIKey(r io.Reader) (Secret, error) {
	var number [32]byte
	if _, err := io.ReadFull(r, number[:]); err != nil {
		return Secret{}, fmt.Errorf("read API key: %w", err)
	}
	return render(keyPrefix, number), nil
}

// ParseAPIKey reads what a caller presents as an API key. Everything that
// NewAPIKey cannot have made is ErrMalformed.
func ParseAPIKey(text string) (Secret, error) { return parseOurs(keyPrefix, text) }

// IsAPIKey says whether a text begins as API keys do.
func IsAPIKey(text string) bool {
	return len(text) >= len(keyPrefix) && text[:len(keyPrefix)] == keyPrefix
}

// Digester makes the digests of API keys: a part of a Keyring for who mints no
// tokens. It is immutable, safe for concurrent use, and prints as [redacted].
type Digester struct{ keys []loadedKey }

// NewDigester loads digest keys, the current one first. The error is a
// *KeyError.
func NewDigester(digest []Key) (*Digester, error) {
	keys, err := load(DigestSet, digest)
	if err != nil {
		return nil, err
	}
	return &Digester{keys: keys}, nil
}

// Digester returns the digest keys of the ring.
func (k *Keyring) Digester() *Digester { return &Digester{keys: k.digest} }

// Digest returns the digest of an API key under the current digest key, and
// that key's ID, which is stored beside it. It is never the digest of a hook
// token of the same text.
func (d *Digester) Digest(key Secret) (keyID string, sum Digest) {
	current := d.keys[0]
	return current.id, current.sum(useAPIKey, []byte(key.Reveal()))
}

// Digests returns the digests of an API key under every loaded digest key, the
// current one first.
func (d *Digester) Digests(key Secret) []Digest {
	sums := make([]Digest, 0, len(d.keys))
	for _, k := range d.keys {
		sums = append(sums, k.sum(useAPIKey, []byte(key.Reveal())))
	}
	return sums
}

// Checks returns one check per loaded digest key, in order; they are those of
// the Keyring.
func (d *Digester) Checks() []KeyCheck {
	checks := make([]KeyCheck, 0, len(d.keys))
	for _, k := range d.keys {
		checks = append(checks, k.check(DigestSet))
	}
	return checks
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (*Digester) Format(f fmt.State, _ rune) { writeRedacted(f) }

// MarshalText returns [redacted]; it also serves JSON.
func (*Digester) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
