package history

import (
	"cmp"
	"encoding/hex"

	"github.com/flowgate-go/flowgate/spec"
)

// RunKey names a run: the namespace is part of every key.
type RunKey struct {
	Namespace spec.Namespace
	RunID     spec.RunID
}

// Compare orders keys byte by byte, the order in which the door locks runs.
func (k RunKey) Compare(other RunKey) int {
	if c := cmp.Compare(k.Namespace, other.Namespace); c != 0 {
		return c
	}
	return cmp.Compare(k.RunID, other.RunID)
}

// TokenDigest is the keyed digest of a hook's token; the token itself is nowhere in a history.
type TokenDigest [32]byte

// TokenID is the part of the digest that is shown to people: its first 8 hex digits.
func (d TokenDigest) TokenID() string { return hex.EncodeToString(d[:4]) }

// MarshalText writes the digest in hex.
func (d TokenDigest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *TokenDigest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return hex.ErrLength
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// TokenGrant is what a history keeps of a hook's token: enough to find the hook by its digest and, for who holds the
// mint key, to make the same link again.
type TokenGrant struct {
	Digest    TokenDigest `json:"token_digest"`
	DigestKey string      `json:"digest_key"`         // ID of the key the digest was made with
	MintKey   string      `json:"mint_key,omitempty"` // ID of the key the token was minted with; empty when the host supplied it
	Nonce     []byte      `json:"nonce,omitempty"`
}
