package flowgate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The Go code that these pages show is a piece of an example, which compiles and runs.
func TestDocs_show_code_of_examples(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "examples/") {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	for _, page := range []string{"queries.md"} {
		text, err := os.ReadFile(filepath.Join("docs", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s shows no code", page)
		}
		for _, block := range blocks {
			if block, _, _ = strings.Cut(block, "```"); !strings.Contains(code.String(), block) {
				t.Errorf("%s shows what no example has:\n%s", page, block)
			}
		}
	}
}
