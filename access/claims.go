package access

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Limits of a JWT. A larger or deeper one is refused before anything of it is used.
const (
	maxJWTBytes = 8 << 10
	maxJWTDepth = 8
	maxTime     = 253402300799 // the end of the year 9999
)

// errClaims is why claims cannot be read. What they hold is not repeated.
var errClaims = errors.New("claims break a rule")

// claims are what a JWT says, with the exact names and types of the contract. A claim of another type refuses the token,
// and so does one that stands twice: two readers could see two tokens.
type claims struct {
	issuer, subject, id string
	audience            []string
	expires, issued     *jwt.NumericDate
	notBefore           *jwt.NumericDate

	namespace string
	scope     []string
	run, hook string
	signals   []string // nil: not constrained
	parent    string   // of a token made here: what it was exchanged for
}

// UnmarshalJSON reads claims. Names are compared exactly, as RFC 7519 does; others are ignored.
func (c *claims) UnmarshalJSON(text []byte) error {
	members, err := membersOf(text)
	if err != nil {
		return err
	}
	*c = claims{}
	for name, into := range map[string]any{
		"iss": &c.issuer, "sub": &c.subject, "jti": &c.id, "aud": &c.audience, "exp": &c.expires, "iat": &c.issued,
		"nbf": &c.notBefore, "ns": &c.namespace, "scope": &c.scope, "run": &c.run, "hook": &c.hook, "signals": &c.signals,
		"par": &c.parent,
	} {
		text, given := members[name]
		if !given {
			continue
		}
		if err := readClaim(name, text, into); err != nil {
			return err
		}
	}
	if c.hook != "" && c.run == "" {
		return errClaims // hook IDs are unique within a run only
	}
	return nil
}

// membersOf takes a JSON object apart that has no member twice.
func membersOf(text []byte) (map[string]json.RawMessage, error) {
	if _, err := canon.Parse(text, canon.Limits{MaxBytes: maxJWTBytes, MaxDepth: maxJWTDepth}); err != nil {
		return nil, errClaims
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, errClaims
	}
	return members, nil
}

func readClaim(name string, text json.RawMessage, into any) (err error) {
	switch into := into.(type) {
	case *string:
		*into, err = readText(text)
	case **jwt.NumericDate:
		*into, err = readTime(text)
	case *[]string:
		switch name {
		case "aud":
			*into, err = readAudience(text)
		case "scope":
			var words string
			words, err = readText(text)
			*into = strings.Fields(words)
		default:
			*into, err = readTexts(text)
		}
	}
	return err
}

// readText reads a string that is not empty.
func readText(text json.RawMessage) (string, error) {
	var value *string
	if err := json.Unmarshal(text, &value); err != nil || value == nil || *value == "" {
		return "", errClaims
	}
	return *value, nil
}

// readTexts reads a list of names, which may be empty and is never nil.
func readTexts(text json.RawMessage) ([]string, error) {
	var values []*string
	if err := json.Unmarshal(text, &values); err != nil || values == nil {
		return nil, errClaims
	}
	out := []string{}
	for _, v := range values {
		if v == nil || spec.CheckName("name", *v) != nil {
			return nil, errClaims
		}
		out = append(out, *v)
	}
	return out, nil
}

// readAudience reads one string or a list of them (RFC 7519 section 4.1.3).
func readAudience(text json.RawMessage) ([]string, error) {
	if one, err := readText(text); err == nil {
		return []string{one}, nil
	}
	return readTexts(text)
}

// readTime reads seconds since 1970 that are a number, not a text of one.
func readTime(text json.RawMessage) (*jwt.NumericDate, error) {
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > maxTime {
		return nil, errClaims
	}
	whole, part := math.Modf(seconds)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(part*1e9))}, nil
}

// GetExpirationTime implements jwt.Claims.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return c.expires, nil }

// GetIssuedAt implements jwt.Claims.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return c.issued, nil }

// GetNotBefore implements jwt.Claims.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return c.notBefore, nil }

// GetIssuer implements jwt.Claims.
func (c *claims) GetIssuer() (string, error) { return c.issuer, nil }

// GetSubject implements jwt.Claims.
func (c *claims) GetSubject() (string, error) { return c.subject, nil }

// GetAudience implements jwt.Claims.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return c.audience, nil }
