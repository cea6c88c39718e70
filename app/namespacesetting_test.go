package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/spec"
)

func namespacesOf(t *testing.T, text string) (map[spec.Namespace]gateway.NamespaceRules, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "namespaces.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return namespaceSetting{NamespacesFile: path}.namespaces()
}

func TestNamespacesFile(t *testing.T) {
	t.Parallel()
	got, err := namespacesOf(t, `{"namespaces":{"acme":{"requests":"2/m:5"},"bank":{"require_idempotency_key":true},"free":{"requests":"off"},"none":{}}}`)
	want := map[spec.Namespace]gateway.NamespaceRules{
		"acme": {Requests: gateway.Rate{PerSecond: 2. / 60, Burst: 5}}, "bank": {RequireIdempotencyKey: true},
		"free": {Requests: gateway.Unlimited()}, "none": {},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if got, err := (namespaceSetting{}).namespaces(); got != nil || err != nil {
		t.Errorf("no file: %v %v", got, err)
	}
	for text, says := range map[string]string{
		"": "empty", "[]": "must be", `{"namespaces":[]}`: "must be", `{"namespace":{}}`: "must be", `{"namespaces":{"a":{"rate":"1/s:1"}}}`: "must be",
		`{"namespaces":{"a":{"requests":"fast"}}}`:               "/namespaces/a/requests must be a rate",
		`{"namespaces":{"a":{"requests":"0/s:1"}}}`:              "/namespaces/a/requests must be a rate",
		`{"namespaces":{"a":{"require_idempotency_key":"yes"}}}`: "must be",
		`{"namespaces":{"a":{},"a":{"requests":"1/s:1"}}}`:       "twice",
		`{"namespaces":{" a":{}}}`:                               "/namespaces: the name",
		`{"namespaces":{"` + strings.Repeat("n", 256) + `":{}}}`: "/namespaces: the name",
		`{"namespaces":{"a":{}}} {"namespaces":{"b":{}}}`:        "JSON",
	} {
		_, err := namespacesOf(t, text)
		bad, ok := errors.AsType[*SettingError](err)
		if !ok || bad.Setting != settingNamespacesFile || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: got %v, want %q", text, err, says)
		}
	}
	if _, err := (namespaceSetting{NamespacesFile: "/nowhere"}).namespaces(); err == nil {
		t.Error("no such file")
	}
}
