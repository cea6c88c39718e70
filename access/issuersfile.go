package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// MaxIssuersBytes bounds the text that ParseIssuers reads.
const MaxIssuersBytes = 1 << 20

// issuerText is an Issuer as a file spells it.
type issuerText struct {
	Issuer      string           `json:"issuer"`
	Audience    string           `json:"audience"`
	KeysFile    string           `json:"jwks_file"`
	KeysURL     string           `json:"jwks_url"`
	Algorithms  []string         `json:"algorithms"`
	Type        string           `json:"typ"`
	MaxLifetime string           `json:"max_lifetime"`
	Namespace   spec.Namespace   `json:"namespace"`
	Namespaces  []spec.Namespace `json:"namespaces"`
	Scopes      []string         `json:"scopes"`
}

// ParseIssuers reads and checks issuers from JSON of at most 1 MiB:
//
//	{"issuers": [{"issuer": "https://id.example.com", "audience": "flowgate", "jwks_url": "https://…",
//	  "algorithms": ["EdDSA"], "typ": "at+jwt", "max_lifetime": "15m", "namespaces": ["acme"], "scopes": ["runs:read"]}]}
//
// Unknown members are refused. The error is a *spec.InvalidError, which names the place and holds no value.
func ParseIssuers(text []byte) ([]Issuer, error) {
	if _, err := canon.Parse(text, canon.Limits{MaxBytes: MaxIssuersBytes}); err != nil {
		return nil, invalid("issuers", "must be a JSON object of at most 1 MiB in which no member stands twice")
	}
	var file struct {
		Issuers []issuerText `json:"issuers"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, issuersError(err)
	}
	issuers := make([]Issuer, 0, len(file.Issuers))
	for n, t := range file.Issuers {
		issuer, err := t.issuer()
		if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
			return nil, invalid(fmt.Sprintf("issuers/%d/%s", n, bad.Field), bad.Rule)
		}
		issuers = append(issuers, issuer)
	}
	return issuers, checkIssuers(issuers)
}

func issuersError(err error) error {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(strings.ReplaceAll(bad.Field, ".", "/"), "must be of another JSON type")
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		// A value that slipped into the place of a name is not shown.
		if name, failed := strconv.Unquote(quoted); failed == nil && len(name) <= 32 && spec.CheckName("member", name) == nil {
			return invalid("issuers", "has an unknown member "+strconv.Quote(name))
		}
	}
	return invalid("issuers", "has an unknown member")
}

func (t issuerText) issuer() (Issuer, error) {
	i := Issuer{
		Name: t.Issuer, Audience: t.Audience, KeysFile: t.KeysFile, KeysURL: t.KeysURL, Algorithms: t.Algorithms, Type: t.Type,
		Namespace: t.Namespace, Namespaces: t.Namespaces,
	}
	var err error
	if t.MaxLifetime != "" {
		if i.MaxLifetime, err = time.ParseDuration(t.MaxLifetime); err != nil || i.MaxLifetime <= 0 {
			return i, invalid("max_lifetime", "must be a duration such as 15m, from 1s to 24h")
		}
	}
	if i.Scopes, err = ParseScopes("scopes", t.Scopes); err != nil {
		return i, err
	}
	return i.checked()
}

// checkIssuers refuses two issuers of one name: whose keys count would be chance.
func checkIssuers(issuers []Issuer) error {
	if len(issuers) > maxIssuers {
		return invalid("issuers", fmt.Sprintf("must be at most %d", maxIssuers))
	}
	seen := map[string]bool{}
	for n, i := range issuers {
		if seen[i.Name] {
			return invalid(fmt.Sprintf("issuers/%d/issuer", n), "names an issuer that stands there before")
		}
		seen[i.Name] = true
	}
	return nil
}
