package ingress

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"
	"time"
)

// scheme is a way to sign with an HMAC that can be said in a few words.
type scheme struct {
	header          string // of the signature, as all headers here in lower case
	separator       string // of the signatures in it; empty when there is one
	prefix          string // of a signature
	encoding        encoding
	hash            func() hash.Hash
	timestampHeader string // of the time; this or the next, or neither
	timestampPrefix string // of the time, among the signatures
	idHeader        string // of the event's ID, where that is signed
	text            []piece
	secretEncoding  encoding
}

type encoding string

const (
	encodingText   encoding = "text"
	encodingHex    encoding = "hex"
	encodingBase64 encoding = "base64"
)

// piece is a part of what is signed: a plain text, or one of the three values.
type piece struct{ plain, value string }

// The values of a signed text.
const (
	valueBody      = "body"
	valueTimestamp = "timestamp"
	valueID        = "id"
)

const (
	maxSignatures      = 16   // in one request; more are not looked at
	maxSignatureHeader = 4096 // bytes
	maxSignedID        = 255  // bytes
	minSecretBytes     = 16
	maxSecretBytes     = 512
)

// hashes are those that a configuration may name.
var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// parseSigned reads the template of a signed text. The second result is the rule that is broken, if one is.
func parseSigned(text string) (pieces []piece, rule string) {
	for text != "" {
		plain, rest, found := strings.Cut(text, "{")
		if plain != "" {
			pieces = append(pieces, piece{plain: plain})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name != valueBody && name != valueTimestamp && name != valueID {
			return nil, "must hold {body}, {timestamp} and {id} only, and text between them"
		}
		pieces = append(pieces, piece{value: name})
		text = after
	}
	return pieces, checkSigned(pieces)
}

// checkSigned refuses texts that two requests could share: the body comes once and last but for plain text, and what comes
// before it is separated from what follows.
func checkSigned(pieces []piece) string {
	seen := map[string]bool{}
	for i, p := range pieces {
		switch {
		case p.value == "":
		case seen[p.value]:
			return "must hold each value once"
		case i > 0 && pieces[i-1].value != "":
			return "must have a text between two values"
		case seen[valueBody]:
			return "must hold nothing behind {body} but text"
		}
		seen[p.value] = true
	}
	if !seen[valueBody] {
		return "must hold {body}"
	}
	return ""
}

func (s *scheme) uses(value string) bool {
	for _, p := range s.text {
		if p.value == value {
			return true
		}
	}
	return false
}

func (s *scheme) signed() (headers []string) {
	if s.timestampHeader != "" && s.uses(valueTimestamp) {
		headers = append(headers, s.timestampHeader)
	}
	if s.idHeader != "" && s.uses(valueID) {
		headers = append(headers, s.idHeader)
	}
	return headers
}

func (s *scheme) key(text string) ([]byte, string) {
	key := []byte(text)
	var err error
	switch s.secretEncoding {
	case encodingHex:
		key, err = hex.DecodeString(text)
	case encodingBase64:
		key, err = base64.StdEncoding.Strict().DecodeString(text)
	case encodingText:
	}
	if err != nil {
		return nil, "is not in " + string(s.secretEncoding)
	}
	return key, checkKey(key)
}

func checkKey(key []byte) string {
	if len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return "must be 16 to 512 bytes"
	}
	return ""
}

func (s *scheme) open(r *Request) (claim, Reason) {
	header, reason := r.one(s.header)
	if reason != "" {
		return claim{}, reason
	}
	if len(header) > maxSignatureHeader {
		return claim{}, ReasonMalformed
	}
	given, times := s.entries(header)
	if s.timestampHeader != "" {
		text, reason := r.one(s.timestampHeader)
		if reason != "" {
			return claim{}, reason
		}
		times = []string{text}
	}
	values := map[string]string{}
	var at time.Time
	if s.timestampHeader != "" || s.timestampPrefix != "" {
		var ok bool
		if len(times) != 1 {
			return claim{}, ReasonMalformed
		}
		if at, ok = parseTimestamp(times[0]); !ok {
			return claim{}, ReasonMalformed
		}
		values[valueTimestamp] = times[0]
	}
	if s.idHeader != "" {
		if values[valueID], reason = r.one(s.idHeader); reason != "" {
			return claim{}, reason
		}
	}
	if len(given) == 0 || len(given) > maxSignatures || !s.separable(values) {
		return claim{}, ReasonMalformed
	}
	return claim{at: at, valid: func(key []byte) bool { return s.matches(key, values, r.Body, given) }}, ""
}

// entries are the signatures of the header, decoded, and the times among them. What is neither is of another version, and
// what cannot be decoded matches nothing.
func (s *scheme) entries(header string) (given [][]byte, times []string) {
	all := []string{header}
	if s.separator != "" {
		all = strings.Split(header, s.separator)
	}
	for _, entry := range all {
		if s.timestampPrefix != "" {
			if text, ok := strings.CutPrefix(entry, s.timestampPrefix); ok {
				times = append(times, text)
				continue
			}
		}
		if text, ok := strings.CutPrefix(entry, s.prefix); ok {
			mac, err := decodeMAC(s.encoding, text)
			if err != nil {
				mac = nil
			}
			given = append(given, mac)
		}
	}
	return given, times
}

func decodeMAC(as encoding, text string) ([]byte, error) {
	if as == encodingBase64 {
		return base64.StdEncoding.Strict().DecodeString(text)
	}
	return hex.DecodeString(text)
}

// separable says that no value reaches into what follows it in the signed text.
func (s *scheme) separable(values map[string]string) bool {
	for i, p := range s.text {
		value, given := values[p.value]
		if !given || p.value == "" {
			continue
		}
		if len(value) > maxSignedID || i+1 < len(s.text) && strings.Index(value+s.text[i+1].plain, s.text[i+1].plain) < len(value) {
			return false
		}
	}
	return true
}

// matches says that one of the signatures is that of the body. All are compared, each in constant time.
func (s *scheme) matches(key []byte, values map[string]string, body []byte, given [][]byte) bool {
	mac := hmac.New(s.hash, key)
	for _, p := range s.text {
		switch p.value {
		case "":
			mac.Write([]byte(p.plain))
		case valueBody:
			mac.Write(body)
		default:
			mac.Write([]byte(values[p.value]))
		}
	}
	want := mac.Sum(nil)
	found := false
	for _, one := range given {
		if hmac.Equal(one, want) {
			found = true
		}
	}
	return found
}
