package access

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

const goodIssuer = `{"issuer":"https://id.example.com","audience":"flowgate","jwks_url":"https://id.example.com/keys","namespaces":["acme"],"scopes":["runs:read"]}`

func TestParseIssuers(t *testing.T) {
	t.Parallel()
	got, err := ParseIssuers([]byte(`{"issuers":[` + goodIssuer + `,{"issuer":"b","audience":"b","jwks_file":"/k","algorithms":["HS256"],
		"typ":"JWT","max_lifetime":"24h","namespace":"b","scopes":["hooks:resume","hooks:resume"]}]}`))
	want := []Issuer{
		{
			Name: "https://id.example.com", Audience: "flowgate", KeysURL: "https://id.example.com/keys", Algorithms: []string{"EdDSA"},
			Type: "at+jwt", MaxLifetime: 15 * time.Minute, Namespaces: nsList("acme"), Scopes: []Scope{RunsRead},
		},
		{
			Name: "b", Audience: "b", KeysFile: "/k", Algorithms: []string{"HS256"}, Type: "JWT", MaxLifetime: 24 * time.Hour,
			Namespace: "b", Scopes: []Scope{HooksResume},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := ParseIssuers([]byte(`{}`)); err != nil || len(got) != 0 {
		t.Errorf("none: %v %v", got, err)
	}
}

// Each mistake is refused by its place, and without its value.
func TestParseIssuers_refuses(t *testing.T) {
	t.Parallel()
	const mark = "MARK-7f3a"
	edit := func(from, to string) string {
		out := strings.Replace(goodIssuer, from, to, 1)
		if out == goodIssuer {
			t.Fatalf("no %s", from)
		}
		return `{"issuers":[` + out + `]}`
	}
	for text, field := range map[string]string{
		"":                            "issuers",
		"[]":                          "",
		`{"issuers":{}}`:              "issuers",
		`{"issuers":[1]}`:             "issuers",
		`{"issuers":[],"issuers":[]}`: "issuers",
		`{"MARK-7f3a":[]}`:            "issuers",
		`{"issuers":[` + goodIssuer + `,` + goodIssuer + `]}`:             "issuers/1/issuer",
		`{"issuers":[` + strings.Repeat(goodIssuer+",", 64) + `{}]}`:      "issuers/64/issuer",
		edit(`"issuer":"https://id.example.com"`, `"issuer":""`):          "issuers/0/issuer",
		edit(`https://id.example.com"`, `https://id.example.com#x"`):      "issuers/0/issuer",
		edit(`https://id.example.com"`, strings.Repeat("i", 161)+`"`):     "issuers/0/issuer",
		edit(`"audience":"flowgate",`, ``):                                "issuers/0/audience",
		edit(`https://id.example.com/keys`, `http://MARK-7f3a/keys`):      "issuers/0/jwks_url",
		edit(`https://id.example.com/keys`, `https://u:MARK-7f3a@h/keys`): "issuers/0/jwks_url",
		edit(`https://id.example.com/keys`, `file:///MARK-7f3a`):          "issuers/0/jwks_url",
		edit(`https://id.example.com/keys`, `https://%zz`):                "issuers/0/jwks_url",
		edit(`"jwks_url"`, `"jwks_file":"/k","jwks_url"`):                 "issuers/0/jwks_url",
		edit(`"jwks_url":"https://id.example.com/keys",`, ``):             "issuers/0/jwks_url",
		edit(`"scopes"`, `"algorithms":["none"],"scopes"`):                "issuers/0/algorithms/0",
		edit(`"scopes"`, `"algorithms":["EdDSA","HS256"],"scopes"`):       "issuers/0/algorithms/1",
		edit(`"scopes"`, `"max_lifetime":"25h","scopes"`):                 "issuers/0/max_lifetime",
		edit(`"scopes"`, `"max_lifetime":"MARK-7f3a","scopes"`):           "issuers/0/max_lifetime",
		edit(`"scopes"`, `"max_lifetime":"-1s","scopes"`):                 "issuers/0/max_lifetime",
		edit(`"scopes"`, `"typ":" ","scopes"`):                            "issuers/0/typ",
		edit(`"scopes"`, `"namespace":"acme","scopes"`):                   "issuers/0/namespaces",
		edit(`"namespaces":["acme"],`, ``):                                "issuers/0/namespaces",
		edit(`"namespaces":["acme"]`, `"namespaces":[" a"]`):              "issuers/0/namespaces/0",
		edit(`"namespaces":["acme"]`, `"namespace":"*"`):                  "issuers/0/namespace",
		edit(`["runs:read"]`, `["runs:write"]`):                           "issuers/0/scopes",
		edit(`["runs:read"]`, `[]`):                                       "issuers/0/scopes",
		edit(`"scopes"`, `"secret":"MARK-7f3a","scopes"`):                 "issuers",
	} {
		issuers, err := ParseIssuers([]byte(text))
		bad, ok := errors.AsType[*spec.InvalidError](err)
		if !ok || !strings.HasPrefix(bad.Field, field) || len(issuers) > 0 && err == nil {
			t.Errorf("%.200s: got %v, want the field %s", text, err, field)
			continue
		}
		if strings.Contains(strings.ReplaceAll(err.Error(), `member "MARK-7f3a"`, ""), mark) {
			t.Errorf("%.200s: the error repeats a value: %v", text, err)
		}
	}
}

// No configured issuer speaks for this deployment.
func TestNew_refuses_its_own_name(t *testing.T) {
	t.Parallel()
	for _, name := range []string{publicURL, publicURL + "/"} {
		cfg := Config{
			Store: openStore(t, "postgres://127.0.0.1:1/x"), Digester: testDigester(t), SignKeys: testSignKeys(t, "s1"), PublicURL: publicURL,
			Issuers: []Issuer{{Name: name, Audience: "a", KeysURL: "https://h/k", Namespace: "n", Scopes: AllScopes()}},
		}
		if bad, ok := errors.AsType[*spec.InvalidError](errOf(New(t.Context(), cfg))); !ok || bad.Field != "issuers/0/issuer" {
			t.Errorf("%s: %v", name, bad)
		}
	}
	if _, err := New(t.Context(), Config{}); !errors.Is(err, ErrConfig) {
		t.Errorf("nothing: %v", err)
	}
}

func errOf[T any](_ T, err error) error { return err }
