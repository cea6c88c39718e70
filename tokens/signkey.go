package tokens

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// SignKeys hold the Ed25519 keys that signed tokens of our own are made and
// verified with. The first one signs, all verify. They are immutable, safe for
// concurrent use, and print as [redacted].
type SignKeys struct{ keys []signKey }

// signKey is a key that is out of fmt's reach.
type signKey struct {
	loadedKey
	sign   func(message []byte) []byte
	public ed25519.PublicKey
}

// NewSignKeys loads keys whose secrets are Ed25519 seeds of exactly 32 bytes
// (RFC 8032). At least one is needed, and IDs are unique. The error is a
// *KeyError.
func NewSignKeys(keys []Key) (*SignKeys, error) {
	loaded, err := load(SignSet, keys)
	if err != nil {
		return nil, err
	}
	s := &SignKeys{}
	for i, k := range keys {
		if len(k.Secret) != ed25519.SeedSize {
			return nil, &KeyError{Set: SignSet, Index: i, ID: k.ID, Rule: "the secret must have exactly 32 bytes, an Ed25519 seed"}
		}
		private := ed25519.NewKeyFromSeed(k.Secret)
		s.keys = append(s.keys, signKey{
			loadedKey: loaded[i],
			sign:      func(message []byte) []byte { return ed25519.Sign(private, message) },
			public:    private.Public().(ed25519.PublicKey),
		})
	}
	return s, nil
}

// Current returns the ID of the key that signs, and the key as a signer that
// shows its public half only.
func (s *SignKeys) Current() (keyID string, signer crypto.Signer) {
	return s.keys[0].id, signerOf{s.keys[0]}
}

// Public returns the public half of a key, false when none has that ID.
func (s *SignKeys) Public(keyID string) (ed25519.PublicKey, bool) {
	for _, k := range s.keys {
		if k.id == keyID {
			return k.public, true
		}
	}
	return nil, false
}

// Checks returns one check per loaded key, in order.
func (s *SignKeys) Checks() []KeyCheck {
	checks := make([]KeyCheck, 0, len(s.keys))
	for _, k := range s.keys {
		checks = append(checks, k.check(SignSet))
	}
	return checks
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (*SignKeys) Format(f fmt.State, _ rune) { writeRedacted(f) }

// MarshalText returns [redacted]; it also serves JSON.
func (*SignKeys) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (*SignKeys) LogValue() slog.Value { return slog.StringValue(Redacted) }

// signerOf signs messages with a key.
type signerOf struct{ key signKey }

// Public implements crypto.Signer.
func (s signerOf) Public() crypto.PublicKey { return s.key.public }

// Sign implements crypto.Signer for messages that are not hashed before, which
// is how Ed25519 signs.
func (s signerOf) Sign(_ io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != 0 {
		return nil, errors.New("sign: an Ed25519 key signs messages, not hashes")
	}
	return s.key.sign(message), nil
}

// Format implements fmt.Formatter: [redacted], whatever the verb and flags.
func (signerOf) Format(f fmt.State, _ rune) { writeRedacted(f) }
