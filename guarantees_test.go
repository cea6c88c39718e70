package flowgate_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// A command of docs/guarantees.md, as it stands in a table: packages, and the pattern of the tests.
var promised = regexp.MustCompile("`go test ([^`]*?) -run '?([^'`]*)'?`")

// A promise whose command runs no test is none.
func TestEveryGuaranteeNamesTests(t *testing.T) {
	page, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	commands := promised.FindAllStringSubmatch(string(page), -1)
	if len(commands) < 20 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, c := range commands {
		checkPromise(t, strings.Fields(c[1]), strings.ReplaceAll(c[2], `\|`, "|"), tests)
	}
}

// checkPromise wants tests of every package, and for every alternative of the pattern.
func checkPromise(t *testing.T, folders []string, pattern string, tests map[string][]string) {
	t.Helper()
	var all []string
	for _, folder := range folders {
		names := tests[path.Clean(folder)]
		if !anyMatches(regexp.MustCompile(pattern), names) {
			t.Errorf("no test of %s matches %q", folder, pattern)
		}
		all = append(all, names...)
	}
	for _, alternative := range strings.Split(pattern, "|") {
		if !anyMatches(regexp.MustCompile(alternative), all) {
			t.Errorf("no test of %s matches %q", folders, alternative)
		}
	}
}

// testNames lists the tests of each package by its folder.
func testNames(t *testing.T) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[s.pkg] = append(names[s.pkg], f.Name.Name)
			}
		}
	}
	return names
}

func anyMatches(pattern *regexp.Regexp, names []string) bool {
	for _, name := range names {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}
