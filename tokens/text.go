package tokens

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"strings"
)

// The parts of a minted token. 62^43 is just above 2^256, and 62^6 above 2^32.
const (
	prefix    = "fhk_"
	keyPrefix = "fge_" // of an API key, which has the length of prefix
	pagePre   = "fha_" // of a page's token, which has it as well
	bodyLen   = 43
	sumLen    = 6
	mintedLen = len(prefix) + bodyLen + sumLen

	base   = 62
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
// host token. Everything else, also an API key or a text with one of our other
// prefixes, is ErrMalformed and needs no look-up.
func Parse(text string) (Secret, error) {
	if !hasOurPrefix(text) {
		if hostRule(text) != "" {
			return Secret{}, ErrMalformed
		}
		return NewSecret(text), nil
	}
	return parseOurs(prefix, text)
}

// parseOurs reads a text of our own making that begins with start.
func parseOurs(start, text string) (Secret, error) {
	if len(text) != mintedLen || !strings.HasPrefix(text, start) || !all(text[len(start):], isAlphanumeric) {
		return Secret{}, ErrMalformed
	}
	rest, sum := text[:mintedLen-sumLen], text[mintedLen-sumLen:]
	if digits := checksum([]byte(rest)); sum != string(digits[:]) {
		return Secret{}, ErrMalformed
	}
	return NewSecret(text), nil
}

// ParseHost reads a token that a workflow supplies for a hook: 22 to 128 of
// [0-9A-Za-z_-], not starting with fge_ or with fh, a letter and an underscore,
// which would read as one of ours. The error is a *TokenError.
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
		return "a token does not start with fge_, nor with fh, a letter and an underscore"
	default:
		return ""
	}
}

// hasOurPrefix reports whether text starts with the prefix of an API key or
// with fh, a letter and an underscore, the prefixes we use or may use for hooks.
func hasOurPrefix(text string) bool {
	if strings.HasPrefix(text, keyPrefix) {
		return true
	}
	return len(text) >= len(prefix) && text[:2] == "fh" && isLetter(text[2]) && text[3] == '_'
}

// render writes 256 bits as a text of our own that begins with start.
func render(start string, number [32]byte) Secret {
	text := make([]byte, mintedLen)
	copy(text, start)
	encodeBody(text[len(start):mintedLen-sumLen], number)
	sum := checksum(text[:mintedLen-sumLen])
	copy(text[mintedLen-sumLen:], sum[:])
	return NewSecret(string(text))
}

// checksum is the CRC-32 (IEEE) of text in six base62 digits.
func checksum(text []byte) (digits [sumLen]byte) {
	encode(digits[:], uint64(crc32.ChecksumIEEE(text)))
	return digits
}

// encode fills digits with n in base62, the highest first.
func encode(digits []byte, n uint64) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[n%base]
		n /= base
	}
}

// encodeBody fills digits with 256 bits in base62, ten digits at a time: that
// many are the remainder of a division by a number of one word.
func encodeBody(digits []byte, number [32]byte) {
	const tenDigits = base * base * base * base * base * base * base * base * base * base
	var words [4]uint64
	for i := range words {
		words[i] = binary.BigEndian.Uint64(number[8*i:])
	}
	for end := len(digits); end > 0; end -= 10 {
		var rest uint64
		for i := range words {
			words[i], rest = bits.Div64(rest, words[i], tenDigits)
		}
		encode(digits[max(end-10, 0):end], rest)
	}
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
