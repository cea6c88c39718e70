package planted

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func load(t *testing.T) ([]Fault, string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no planted faults")
	}
	return all, root
}

// A fault whose lines are gone plants nothing.
func TestEveryFaultFitsTheProgram(t *testing.T) {
	t.Parallel()
	all, root := load(t)
	for _, f := range all {
		if _, err := f.Apply(root); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestAFaultThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	whole := "Says.\nfile: a.go\nrun: go test ./a\n<<<<\nx\n====\ny\n>>>>\n"
	if _, err := parse(whole); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Says.\n", "run: go test ./a\n", ">>>>\n", "<<<<\nx\n====\ny\n>>>>\n"} {
		if _, err := parse(strings.Replace(whole, part, "", 1)); err == nil {
			t.Errorf("accepted without %q", part)
		}
	}
	for _, lines := range []string{"package nowhere\n", "package planted\n// no\n"} {
		f := Fault{Replaces: []Replacement{{File: "planted/fault.go", Is: lines, Becomes: ""}}}
		if _, err := f.Apply(".."); err == nil {
			t.Errorf("%q was found once", lines)
		}
	}
}

var update = flag.Bool("update", false, "write the list of faults into docs/guarantees.md")

// The list in the documentation is what lies in this folder.
func TestTheListIsCurrent(t *testing.T) {
	t.Parallel()
	all, root := load(t)
	page := filepath.Join(root, "docs", "guarantees.md")
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- planted faults -->\n", "<!-- end of planted faults -->"
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the list", page)
	}
	want := before + begin + list(all) + end + after
	switch {
	case want == string(raw):
	case *update:
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the list in %s is not current: go test ./planted -update", page)
	}
}

// list is a table of the faults.
func list(all []Fault) string {
	var b strings.Builder
	b.WriteString("\n| fault | what is broken | caught by |\n|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Name, cell(f.Says), cell(caughtBy(f.Run)))
	}
	b.WriteString("\n")
	return b.String()
}

// caughtBy is the packages and the pattern of a command, as a reader finds the test by.
func caughtBy(run string) string {
	var where []string
	pattern := ""
	words := strings.Fields(run)
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "./"):
			where = append(where, strings.TrimPrefix(word, "./"))
		case word == "-run" && i+1 < len(words):
			pattern = strings.NewReplacer("'", "", "^", "", "$", "", "_", " ").Replace(words[i+1])
		}
	}
	return strings.Join(where, ", ") + ": " + pattern
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
