package flowgate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
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
	for _, page := range []string{"queries.md", "updates.md", "steps.md", "children.md", "calls.md", "continue-as-new.md"} {
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

// The page of each kind of task explains every reason for which one fails.
func TestDocs_explain_every_reason(t *testing.T) {
	t.Parallel()
	for page, reasons := range map[string][]engine.FailureReason{
		"steps.md": {
			engine.FailedExhausted, engine.FailedNonRetryable, engine.FailedQuarantined, engine.FailedScheduleToClose, engine.FailedDiscarded,
		},
		"children.md": {
			engine.FailedChild, engine.FailedCancelled, engine.FailedUnknownWorkflow, engine.FailedDepth, engine.FailedSchema,
			engine.FailedConflict,
		},
		"calls.md": {
			engine.FailedTargetUnknown, engine.FailedTargetEnded, engine.FailedUndeclared, engine.FailedSchema, engine.FailedConflict,
		},
	} {
		text, err := os.ReadFile(filepath.Join("docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, reason := range reasons {
			if !strings.Contains(string(text), "| `"+string(reason)+"` |") {
				t.Errorf("%s does not explain %s", page, reason)
			}
		}
	}
}

// The page of the HTTP surface lists every type of event that a history can show.
func TestDocs_list_every_event(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("internal/history/event.go")
	if err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile(`(?m)^\tType\w+ +(?:Type )?= "([a-z_.]+)"`).FindAllStringSubmatch(string(code), -1)
	if len(types) < 35 {
		t.Fatalf("%d types of events found", len(types))
	}
	for _, typ := range types {
		if !strings.Contains(string(text), "`"+typ[1]+"`") {
			t.Errorf("http.md does not list %s", typ[1])
		}
	}
}
