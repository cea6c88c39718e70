package ingress

import (
	"os"
	"strings"
	"testing"
)

// The page shows a file that is one, and names every preset, member, reason and word of an answer.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, block, found := strings.Cut(page, "```json\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("the page shows no file")
	}
	if _, err := Parse([]byte(block)); err != nil {
		t.Errorf("the file of the page: %v", err)
	}
	words := append(presetNames(),
		"verify", "unverified", "secrets", "tolerance", "form", "unsigned_headers", "namespace", "when", "run", "signal", "hook", "id", "payload",
		"ignore", "hold", "on_conflict", "status", "not_before", "not_after", "timestamp_header", "timestamp_prefix", "id_header", "secret_encoding",
		"separator", "encoding", "hash", "prefix", "signed", "accepted", "duplicate", "held", "ignored", "unwanted", "unmapped", "run-not-found",
		"hook-not-found", "run-ended", "hook-closed", "signal-not-declared", "payload-schema", "conflict", "expired")
	for _, word := range words {
		if !strings.Contains(page, "`"+word) && !strings.Contains(page, `"`+word) {
			t.Errorf("the page does not say %s", word)
		}
	}
}
