package tokens

import "encoding/hex"

// Digest stands for a token wherever one must be stored or looked up. It is
// keyed, so a stolen table confirms no guess, not even of a weak host token.
type Digest [32]byte

// TokenID names the token in histories and logs: the digest's first 8 hex
// digits. It finds nothing by itself.
func (d Digest) TokenID() string { return hex.EncodeToString(d[:4]) }

// MarshalText returns the digest as 64 lower-case hex digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads exactly 64 hex digits.
func (d *Digest) UnmarshalText(text []byte) error { return readHex(d[:], text, "token digest") }

// Digest returns the digest of a token under the current digest key, and that
// key's ID, which is stored beside it.
func (k *Keyring) Digest(token Secret) (keyID string, d Digest) {
	current := k.digest[0]
	return current.id, current.digest(token)
}

// Digests returns the digests of a token under every loaded digest key, the
// current one first: a look-up tries them all, because the hook may have been
// made before the last rotation.
func (k *Keyring) Digests(token Secret) []Digest {
	ds := make([]Digest, 0, len(k.digest))
	for _, key := range k.digest {
		ds = append(ds, key.digest(token))
	}
	return ds
}

func (k loadedKey) digest(token Secret) Digest {
	return k.sum(useDigest, []byte(token.Reveal()))
}
