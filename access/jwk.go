package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/MicahParks/jwkset"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// Limits of a JWK Set.
const (
	maxKeySetBytes = 1 << 20
	maxKeySetKeys  = 256
	minRSABits     = 2048
	maxRSABits     = 8192 // a larger one takes the time of whoever verifies
	minHMACBytes   = 32
)

// Refusals of a JWK Set. Keys of a kind that nobody asked for are no reason: sets have keys for other uses too.
var (
	errKeySet      = errors.New("is not a JWK Set: want {\"keys\": […]} of at most 1 MiB and 256 keys, without repeated members")
	errKeySetTwice = errors.New("has two keys for one key ID and algorithm")
	errKeyIsShort  = errors.New("has a secret key of less than 32 bytes")
)

// keyName is how a JWT names the key it is signed with.
type keyName struct{ id, alg string }

// keyIDForm is that of a key ID, which issuers write as base64 of either alphabet: it is looked up in memory, and never a path or
// a query.
var keyIDForm = regexp.MustCompile(`^[A-Za-z0-9_+/=-]{1,128}$`)

// parseKeySet reads the keys of a JWK Set that verify signatures of these algorithms, each as the one type that its
// algorithm takes: no key is ever used for another algorithm. Keys that are not for that are left out.
func parseKeySet(text []byte, algs []string) (map[keyName]any, error) {
	if _, err := canon.Parse(text, canon.Limits{MaxBytes: maxKeySetBytes}); err != nil {
		return nil, errKeySet
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil || len(set.Keys) > maxKeySetKeys {
		return nil, errKeySet
	}
	keys := map[keyName]any{}
	for n, text := range set.Keys {
		id, found, err := parseKey(text, algs)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", n+1, err)
		}
		for alg, key := range found {
			name := keyName{id, alg}
			if _, twice := keys[name]; twice {
				return nil, errKeySetTwice
			}
			keys[name] = key
		}
	}
	return keys, nil
}

// parseKey reads one key, by the algorithms that it serves.
func parseKey(text []byte, algs []string) (id string, found map[string]any, err error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(text, &m); err != nil {
		return "", nil, errKeySet
	}
	if !keyIDForm.MatchString(m.KID) || m.USE != "" && m.USE != jwkset.UseSig ||
		len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify) {
		return "", nil, nil
	}
	key, err := typedKey(m, algs)
	if err != nil || key == nil {
		return "", nil, err
	}
	found = map[string]any{}
	for _, alg := range algs {
		if (m.ALG == "" || m.ALG.String() == alg) && fits(key, alg) {
			found[alg] = key
		}
	}
	return m.KID, found, nil
}

// typedKey makes the public key of a JWK, or the secret of a symmetric one; nil when it is of no use here. Certificates
// and addresses in it are not looked at, and nor are private parts.
func typedKey(m jwkset.JWKMarshal, algs []string) (any, error) {
	if m.KTY == jwkset.KtyOct {
		return secretKey(m, algs)
	}
	public := jwkset.JWKMarshal{KTY: m.KTY, CRV: m.CRV, X: m.X, Y: m.Y, N: m.N, E: m.E}
	jwk, err := jwkset.NewJWKFromMarshal(public, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return nil, nil //nolint:nilerr // a key of a kind that is not known, or none at all: tokens that name it are refused
	}
	return jwk.Key(), nil
}

func secretKey(m jwkset.JWKMarshal, algs []string) (any, error) {
	if !slices.Contains(algs, algHMAC) {
		return nil, nil
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(m.K)
	if err != nil {
		return nil, errKeySet
	}
	if len(secret) < minHMACBytes {
		return nil, errKeyIsShort
	}
	return secret, nil
}

// fits says whether a key is of the type, and of the strength, of an algorithm.
func fits(key any, alg string) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return alg == "EdDSA"
	case *ecdsa.PublicKey:
		return alg == "ES256" && key.Curve.Params().BitSize == 256 || alg == "ES384" && key.Curve.Params().BitSize == 384
	case *rsa.PublicKey:
		bits := key.N.BitLen()
		return (alg == "RS256" || alg == "PS256") && bits >= minRSABits && bits <= maxRSABits && key.E >= 3
	case []byte:
		return alg == algHMAC
	}
	return false
}
