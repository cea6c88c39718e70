package tokens

import (
	"encoding/hex"
	"fmt"
	"io"
)

// Binding is the hook a token belongs to. No two hooks share one.
type Binding struct{ Namespace, RunID, HookID string }

// Nonce makes the token of one hook unpredictable also to who knows its
// binding. It is stored in the history; without the mint key it reveals
// nothing.
type Nonce [16]byte

// NewNonce reads a nonce from r, which is a source of cryptographic randomness.
func NewNonce(r io.Reader) (Nonce, error) {
	var n Nonce
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return Nonce{}, fmt.Errorf("read nonce: %w", err)
	}
	return n, nil
}

// MarshalText returns the nonce as 32 lower-case hex digits.
func (n Nonce) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(n[:])), nil }

// UnmarshalText reads exactly 32 hex digits.
func (n *Nonce) UnmarshalText(text []byte) error { return readHex(n[:], text, "nonce") }

// Minted is a new token with what is stored of it: the key's ID and the nonce,
// from which Remint makes the same token again.
type Minted struct {
	Token Secret
	KeyID string
	Nonce Nonce
}

// Mint makes the token of a hook with the current mint key. It is a function
// of the key, the binding and the nonce: the same three give the same token.
func (k *Keyring) Mint(b Binding, n Nonce) Minted {
	current := k.mint[0]
	return Minted{Token: current.mint(b, n), KeyID: current.id, Nonce: n}
}

// Remint makes a token again that was minted earlier under keyID. Without that
// key the error wraps ErrKeyUnknown.
func (k *Keyring) Remint(keyID string, b Binding, n Nonce) (Secret, error) {
	key, err := find(MintSet, k.mint, keyID)
	if err != nil {
		return Secret{}, err
	}
	return key.mint(b, n), nil
}

func (k loadedKey) mint(b Binding, n Nonce) Secret {
	return render(prefix, k.sum(useToken, []byte(b.Namespace), []byte(b.RunID), []byte(b.HookID), n[:]))
}

// readHex fills dst from exactly as many hex digits as it needs.
func readHex(dst, text []byte, what string) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return fmt.Errorf("%s: %d hex digits, want %d", what, len(text), hex.EncodedLen(len(dst)))
	}
	decoded := make([]byte, len(dst))
	if _, err := hex.Decode(decoded, text); err != nil {
		return fmt.Errorf("%s: not hexadecimal", what)
	}
	copy(dst, decoded)
	return nil
}
