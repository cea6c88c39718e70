package tokens

import (
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
)

// The parts of a minted token. 62^43 is just above 2^256, and 62^6 above 2^32.
const (
	prefix    = "fhk_"
	bodyLen   = 43
	sumLen    = 6
	mintedLen = len(prefix) + bodyLen + sumLen

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

const (
	minHost = 22
	maxHost = 128
)

// ErrMalformed says that a text cannot be a token of a hook, whatever the
// database holds.
var ErrMalformed = errors.New("malformed token")

// TokenError says which rule a host-supplied token breaks, without showing it.
// It matches ErrMalformed.
type TokenError struct{ Rule string }

// Error names the rule.
func (e *TokenError) Error() string { return "malformed token: " + e.Rule }

// Is matches ErrMalformed.
func (e *TokenError) Is(target error) bool { return target == ErrMalformed }

// Parse reads what a caller presents as the token of a hook: a minted token,
// whose length, alphabet and checksum must be right, or one in the form of a
// host token. Everything else, also a token with one of our other prefixes, is
// ErrMalformed and needs no look-up.
func Parse(text string) (Secret, error) {
	if !hasOurPrefix(text) {
		if hostRule(text) != "" {
			return Secret{}, ErrMalformed
		}
		return NewSecret(text), nil
	}
	if len(text) != mintedLen || !strings.HasPrefix(text, prefix) || !all(text[len(prefix):], isAlphanumeric) {
		return Secret{}, ErrMalformed
	}
	rest, sum := text[:mintedLen-sumLen], text[mintedLen-sumLen:]
	if sum != checksum(rest) {
		return Secret{}, ErrMalformed
	}
	return NewSecret(text), nil
}

// ParseHost reads a token that a workflow supplies for a hook: 22 to 128 of
// [0-9A-Za-z_-], not starting with fh, a letter and an underscore, which would
// read as one of ours. The error is a *TokenError.
func ParseHost(text string) (Secret, error) {
	if rule := hostRule(text); rule != "" {
		return Secret{}, &TokenError{Rule: rule}
	}
	return NewSecret(text), nil
}

// hostRule returns the rule that text breaks as a host token, or "".
func hostRule(text string) string {
	switch {
	case len(text) < minHost || len(text) > maxHost:
		return "a token has 22 to 128 characters"
	case !all(text, isURLSafe):
		return "a token has only the characters 0-9 A-Z a-z _ -"
	case hasOurPrefix(text):
		return "a token does not start with fh, a letter and an underscore"
	default:
		return ""
	}
}

// hasOurPrefix reports whether text starts with fh, a letter and an underscore,
// the space of all prefixes we use or may use.
func hasOurPrefix(text string) bool {
	return len(text) >= len(prefix) && text[:2] == "fh" && isLetter(text[2]) && text[3] == '_'
}

// render writes 256 bits as a minted token.
func render(bits [32]byte) Secret {
	rest := prefix + encode(new(big.Int).SetBytes(bits[:]), bodyLen)
	return NewSecret(rest + checksum(rest))
}

// checksum is the CRC-32 (IEEE) of text in six base62 digits.
func checksum(text string) string {
	return encode(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(text)))), sumLen)
}

// encode writes n in exactly size base62 digits, the highest first.
func encode(n *big.Int, size int) string {
	digits := make([]byte, size)
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	for i := size - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		digits[i] = base62[digit.Int64()]
	}
	return string(digits)
}

// all reports whether every byte of text is in the class.
func all(text string, class func(byte) bool) bool {
	for i := range len(text) {
		if !class(text[i]) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

func isURLSafe(c byte) bool { return isAlphanumeric(c) || c == '_' || c == '-' }
