package access

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The page on security shows a file of issuers that is one, and explains every member of it and every scope.
func TestDocs_security_page(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	_, example, found := strings.Cut(page, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	got, err := ParseIssuers([]byte(example))
	want := []Issuer{{
		Name: "https://id.example.com", Audience: "flowgate", KeysURL: "https://id.example.com/.well-known/jwks.json",
		Algorithms: []string{"EdDSA", "ES256"}, Type: DefaultType, MaxLifetime: 15 * time.Minute,
		Namespaces: nsList("acme", "acme-test"), Scopes: []Scope{RunsStart, RunsRead, SignalsSend},
	}}
	if diff := cmp.Diff(want, got); !found || err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, scope := range AllScopes() {
		if !strings.Contains(page, "| `"+string(scope)+"`") && !strings.Contains(page, ", `"+string(scope)+"` |") {
			t.Errorf("the page does not explain the scope %s", scope)
		}
	}
	for _, alg := range algorithms {
		if !strings.Contains(page, "`"+alg+"`") {
			t.Errorf("the page does not name %s", alg)
		}
	}
	members := reflect.TypeFor[issuerText]()
	for i := range members.NumField() {
		if name := members.Field(i).Tag.Get("json"); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not explain the member %s", name)
		}
	}
}
