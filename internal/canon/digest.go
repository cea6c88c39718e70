package canon

import (
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of a payload's canonical form. Equal payloads have
// equal digests. It is not secret, but it can confirm a guess of a short
// payload, so it has no place in an answer to a caller.
type Digest [32]byte

// FromBytes makes a Digest of exactly 32 bytes, as a database returns them.
func FromBytes(b []byte) (Digest, error) {
	var d Digest
	if len(b) != len(d) {
		return Digest{}, fmt.Errorf("payload digest: %d bytes, want %d", len(b), len(d))
	}
	copy(d[:], b)
	return d, nil
}

// String returns the digest as 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText returns the digest as 64 lower-case hex digits.
func (d Digest) MarshalText() ([]byte, error) {
	return hex.AppendEncode(make([]byte, 0, 2*len(d)), d[:]), nil
}

// UnmarshalText reads exactly 64 hex digits of either case.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("payload digest: %d hex digits, want %d", len(text), 2*len(d))
	}
	var decoded Digest
	if _, err := hex.Decode(decoded[:], text); err != nil {
		return fmt.Errorf("payload digest: not hexadecimal")
	}
	*d = decoded
	return nil
}
