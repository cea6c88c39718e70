package httppost

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// MaxNamesBytes bounds the text that ParseNames reads.
const MaxNamesBytes = 1 << 20

// Names are what inputs name instead of holding it: the fields of Config that have secrets in them.
type Names struct {
	Endpoints   map[string]Endpoint
	Credentials map[string]Credential
	Signing     map[string]Signing
}

// namesText is Names as a file spells them.
type namesText struct {
	Endpoints map[string]struct {
		URL        string           `json:"url"`
		Auth       string           `json:"auth"`
		SignWith   string           `json:"sign_with"`
		Namespaces []spec.Namespace `json:"namespaces"`
	} `json:"endpoints"`
	Credentials map[string]struct {
		scopeText
		Header string `json:"header"`
		Value  string `json:"value"`
	} `json:"credentials"`
	Signing map[string]struct {
		scopeText
		Secrets []string `json:"secrets"`
	} `json:"signing"`
}

type scopeText struct {
	Hosts      []string         `json:"hosts"`
	Namespaces []spec.Namespace `json:"namespaces"`
}

func (s scopeText) scope() Scope { return Scope(s) }

// ParseNames reads names from JSON, an object of at most 1 MiB with the members endpoints, credentials and signing, each an
// object by name:
//
//	{"endpoints":   {"slack": {"url": "https://…", "auth": "…", "sign_with": "…", "namespaces": ["…"]}},
//	 "credentials": {"mail": {"hosts": ["api.mail.example.com"], "header": "X-Api-Key", "value": "…"}},
//	 "signing":     {"customers": {"hosts": ["*.example.com"], "secrets": ["whsec_…"]}}}
//
// Errors: *spec.InvalidError, which names the member and holds nothing of the text's values. What the values must be New
// says.
func ParseNames(text []byte) (Names, error) {
	if err := checkNames(text); err != nil {
		return Names{}, err
	}
	var read namesText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return Names{}, namesError(err)
	}
	return read.names(), nil
}

// checkNames finds what the decoder would pass over: a member twice, something behind the object.
func checkNames(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return invalid("names", "must be a JSON object")
	}
	_, err := canon.Parse(text, canon.Limits{MaxBytes: MaxNamesBytes})
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*canon.PayloadError](err); ok {
		return invalid("names", bad.Rule) // its pointer may hold what was meant as a value
	}
	return invalid("names", "must be at most 1 MiB")
}

func namesError(err error) error {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		rule := "must be an object"
		switch bad.Type.Kind().String() {
		case "string":
			rule = "must be a string"
		case "slice":
			rule = "must be a list of strings"
		}
		return invalid(strings.ReplaceAll(bad.Field, ".", "/"), rule)
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if name, failed := strconv.Unquote(quoted); failed == nil && len(name) <= 32 && isWord(name) {
			return invalid(name, "is not a member of names")
		}
	}
	return invalid("names", "has an unknown member")
}

func (t namesText) names() Names {
	n := Names{Endpoints: map[string]Endpoint{}, Credentials: map[string]Credential{}, Signing: map[string]Signing{}}
	for name, e := range t.Endpoints {
		n.Endpoints[name] = Endpoint{
			URL: tokens.NewSecret(e.URL), Auth: e.Auth, SignWith: e.SignWith, Namespaces: e.Namespaces,
		}
	}
	for name, c := range t.Credentials {
		n.Credentials[name] = Credential{Scope: c.scope(), Header: c.Header, Value: tokens.NewSecret(c.Value)}
	}
	for name, s := range t.Signing {
		signing := Signing{Scope: s.scope()}
		for _, secret := range s.Secrets {
			signing.Secrets = append(signing.Secrets, tokens.NewSecret(secret))
		}
		n.Signing[name] = signing
	}
	return n
}
