package httppost_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

func TestNamesAreRead(t *testing.T) {
	t.Parallel()
	n, err := httppost.ParseNames([]byte(`{
		"endpoints": {"slack": {"url": "https://hooks.example.com/T/B", "auth": "mail", "sign_with": "out", "namespaces": ["a"]}},
		"credentials": {"mail": {"hosts": ["mail.example.com"], "namespaces": ["a","b"], "header": "X-Api-Key", "value": "12345678"}},
		"signing": {"out": {"hosts": ["*"], "secrets": ["c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEx", "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTIy"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	e, c, s := n.Endpoints["slack"], n.Credentials["mail"], n.Signing["out"]
	if e.URL.Reveal() != "https://hooks.example.com/T/B" || e.Auth != "mail" || e.SignWith != "out" || e.Namespaces[0] != "a" {
		t.Errorf("endpoint %+v", e)
	}
	if c.Value.Reveal() != "12345678" || c.Header != "X-Api-Key" || c.Hosts[0] != "mail.example.com" || len(c.Namespaces) != 2 {
		t.Errorf("credential %+v", c)
	}
	if len(s.Secrets) != 2 || !strings.HasSuffix(s.Secrets[1].Reveal(), "LTIy") || s.Hosts[0] != "*" {
		t.Errorf("signing %+v", s)
	}
	p, err := httppost.New(httppost.Config{Endpoints: n.Endpoints, Credentials: n.Credentials, Signing: n.Signing})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if text := fmt.Sprintf("%+v", n); strings.Contains(text, "12345678") {
		t.Errorf("names print %s", text)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, field, rule string }{
		"nothing":                  {``, "names", "object"},
		"no JSON":                  {`{"credentials": {"a": {"value": "` + hush, "names", "JSON"},
		"a list":                   {`["` + hush + `"]`, "names", "object"},
		"two objects":              {`{} {"x":"` + hush + `"}`, "names", "JSON"},
		"a member twice":           {`{"endpoints": {"` + hush + `": {}, "` + hush + `": {}}}`, "names", "twice"},
		"an unknown member":        {`{"endpoint": {}}`, "endpoint", "not a member"},
		"an unknown member within": {`{"signing": {"a": {"secret": "` + hush + `"}}}`, "secret", "not a member"},
		"a secret as a member":     {`{"signing": {"a": {"` + hush + `-1": 1}}}`, "names", "unknown member"},
		"a number for a value":     {`{"credentials": {"a": {"value": 4711}}}`, "credentials/value", "string"},
		"a string for secrets":     {`{"signing": {"a": {"secrets": "` + hush + `"}}}`, "signing/secrets", "list"},
		"a string for an object":   {`{"endpoints": {"a": "` + hush + `"}}`, "endpoints", "object"},
		"too much":                 {`{"a": "` + strings.Repeat("x", httppost.MaxNamesBytes) + `"}`, "names", "1 MiB"},
	} {
		_, err := httppost.ParseNames([]byte(tt.text))
		bad, ok := errors.AsType[*spec.InvalidError](err)
		if !ok || bad.Field != tt.field || !strings.Contains(bad.Rule, tt.rule) {
			t.Errorf("%s: %v, want %s: …%s…", name, err, tt.field, tt.rule)
		}
		if err != nil && (strings.Contains(err.Error(), hush) || strings.Contains(err.Error(), "4711")) {
			t.Errorf("%s: %v repeats a value", name, err)
		}
	}
}
