package httppost_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/steps/httppost"
)

// TestThePageShowsCodeThatCompiles finds every Go block of the page in the examples of this package, and every code and
// default of the package in the page.
func TestThePageShowsCodeThatCompiles(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/steps-http-post.md")
	code := read(t, "example_test.go") + read(t, "example_workflow_test.go")
	blocks := strings.Split(page, "```go\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("%d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code, block) {
			t.Errorf("not in the examples:\n%s", block)
		}
	}
	for _, word := range []string{
		httppost.CodeTarget, httppost.CodeLink, httppost.CodeRedirect, httppost.CodeRejected, httppost.CodeGone, httppost.CodeUnexpected,
		httppost.CodeSlow, httppost.CodeEarly, httppost.CodeThrottled, httppost.CodeServer, httppost.CodeTimeout, httppost.CodeNetwork,
		httppost.CodeTLS, httppost.CodeDNS, httppost.CodeUnconfigured, httppost.CodeUnavailable, httppost.CodeCancelled,
	} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the page does not explain %s", word)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
