package flowgate_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/flowgate-go/flowgate"

// allowed says, for the production code of each package, which packages of this module it may import. A package that is
// not here fails the test: its place in the order is a decision. "p/..." stands for p and what lies below it. A package
// p/internal/... may import what p may, and its siblings.
var allowed = map[string][]string{
	".":                        {},
	"spec":                     {},
	"tokens":                   {},
	"migrations":               {},
	"internal/canon":           {},
	"internal/schema":          {"internal/canon"},
	"internal/tally":           {},
	"internal/history":         {"spec", "internal/canon"},
	"internal/proof":           {"spec", "internal/canon", "internal/history"},
	"internal/pgembed":         {},
	"internal/pgembed/pgtest":  {"internal/pgembed"},
	"internal/pgembed/pgfault": {},
	"internal/pgembed/cmd/...": {"internal/pgembed", "db"},
	"db":                       {"spec", "internal/canon", "internal/history", "internal/tally", "migrations", "db/internal/sqlc"},
	"db/internal/sqlc":         {},
	"engine":                   {"spec", "tokens", "internal/canon", "internal/schema", "internal/history", "internal/tally", "db", "engine/internal/..."},
	"engine/enginetest":        {"spec", "tokens", "internal/canon", "internal/schema", "internal/history", "engine/..."},
	"access":                   {"spec", "tokens", "internal/canon", "db"},
	"flow":                     {"spec", "engine"},
	"mapping":                  {"spec", "internal/canon"},
	"inbox":                    {"spec", "internal/canon", "internal/history", "db", "engine"},
	"ingress":                  {"spec", "tokens", "internal/canon", "mapping", "inbox", "engine"},
	"gateway":                  {"spec", "tokens", "internal/schema", "internal/tally", "access", "engine", "ingress", "inbox", "gateway/internal/..."},
	"metrics":                  {"internal/tally", "engine", "ingress", "gateway"},
	"steps/...":                {"spec", "tokens", "internal/canon", "engine"},
	"app/internal/cli":         {"spec", "client"},
	"app":                      {"spec", "tokens", "migrations", "internal/canon", "internal/pgembed", "db", "access", "engine", "gateway", "ingress", "inbox", "metrics", "quota/redis", "steps/...", "client", "app/internal/..."},
	"client":                   {"spec"},
	"quota/redis":              {"spec"},
	"cmd/flowgate":             {"app", "examples/workflows"},
	"examples/workflows":       {"spec", "engine", "flow"},
	"examples/...":             {"spec", "tokens", "internal/pgembed", "engine", "flow", "gateway", "app", "steps/...", "examples/workflows"},
	"bench":                    {"..."},
	"bench/...":                {"..."},
	"planted":                  {},
	"soak":                     {"..."},
}

// borders says which packages may import what only one part of the system shall know. Tests keep them too, where
// tests is set.
var borders = []struct {
	imports string
	tests   bool
	by      []string
}{
	{"github.com/jackc/pgx", false, []string{"db/...", "engine", "app", "cmd/...", "internal/pgembed/pgtest", "bench/...", "examples/..."}},
	{"github.com/pressly/goose", true, []string{"db"}},
	{"github.com/gofiber/fiber", true, []string{"gateway/..."}},
	{"github.com/valyala/fasthttp", true, []string{"gateway/..."}},
	{"github.com/redis/go-redis", true, []string{"quota/redis"}},
	{"go.opentelemetry.io", true, []string{"engine", "gateway", "app"}},
	{"github.com/prometheus", true, []string{"metrics", "app"}},
	{module + "/db/internal/sqlc", true, []string{"db/..."}},
}

// engineSQL is all that the engine may know of the driver: the host's transaction and the pool of New.
var engineSQL = []string{"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool"}

// pure are the packages whose every rule is a function of its arguments.
var pure = []string{"spec", "tokens", "internal/canon", "internal/schema", "internal/history", "mapping"}

// impure imports and names of package time bring a clock, chance or the outside world in. "net/..." covers net as well;
// what is harmless of it only takes text apart.
var (
	impureImports = []string{"context", "math/rand/...", "crypto/rand", "os/...", "net/...", "database/sql/..."}
	harmless      = []string{"net/url", "net/netip"}
	impureTime    = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}
)

// Limits of production code that people wrote.
const (
	maxFileLines = 350
	maxFuncLines = 70
)

// source is one parsed Go file.
type source struct {
	path, pkg string // slash-separated, from the module's root
	test      bool
	generated bool
	lines     int
	set       *token.FileSet
	file      *ast.File
}

func parse(name string, text any) (source, error) {
	s := source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return s, err
	}
	s.generated = ast.IsGenerated(s.file)
	s.lines = s.set.File(s.file.FileStart).LineCount()
	return s, nil
}

// sources parses every Go file of this module.
func sources(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name, d.Name())
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		s, err := parse(filepath.ToSlash(name), nil)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// enter skips what the go command skips too: hidden folders, test data, other modules.
func enter(dir, name string) error {
	if dir == "." {
		return nil
	}
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// imports maps each imported path to the name it has in the file.
func (s source) imports() map[string]string {
	named := map[string]string{}
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		named[p] = path.Base(p)
		if spec.Name != nil {
			named[p] = spec.Name.Name
		}
	}
	return named
}

// covers reports whether one of the patterns names a path.
func covers(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		root, tree := strings.CutSuffix(pattern, "...")
		if !tree {
			return p == pattern
		}
		return p == strings.TrimSuffix(root, "/") || strings.HasPrefix(p, root)
	})
}

// rule is what a package may import of this module.
func rule(pkg string) (may []string, ok bool) {
	if may, ok = allowed[pkg]; ok {
		return may, true
	}
	if parent, _, below := strings.Cut(pkg, "/internal/"); below {
		may, ok = allowed[parent]
		return may, ok
	}
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if may, ok = allowed[dir+"/..."]; ok {
			return may, true
		}
	}
	return nil, false
}

// breaches are the imports of a file that break the order of the packages.
func breaches(s source) (found []string) {
	may, listed := rule(s.pkg)
	if !listed {
		found = append(found, fmt.Sprintf("%s: package %s is not in the import map", s.path, s.pkg))
	}
	for p := range s.imports() {
		inside, ours := strings.CutPrefix(p, module+"/")
		if ours && listed && !s.test && !covers(may, inside) {
			found = append(found, fmt.Sprintf("%s: package %s must not import %s", s.path, s.pkg, inside))
		}
		for _, b := range borders {
			if !s.test || b.tests {
				if covers([]string{b.imports + "/..."}, p) && !covers(b.by, s.pkg) {
					found = append(found, fmt.Sprintf("%s: package %s must not import %s", s.path, s.pkg, p))
				}
			}
		}
		if s.pkg == "engine" && !s.test && strings.HasPrefix(p, "github.com/jackc/") && !slices.Contains(engineSQL, p) {
			found = append(found, fmt.Sprintf("%s: the engine must not import %s", s.path, p))
		}
	}
	return found
}

// impurities are the places where a file of a pure package depends on more than its arguments.
func impurities(s source) (found []string) {
	imports := s.imports()
	for p := range imports {
		if covers(impureImports, p) && !slices.Contains(harmless, p) {
			found = append(found, fmt.Sprintf("%s: imports %s", s.path, p))
		}
	}
	clock, timed := imports["time"]
	if clock == "." {
		found = append(found, s.path+": imports the names of package time")
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, fmt.Sprintf("%s: starts a goroutine", s.set.Position(n.Pos())))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timed && x.Name == clock && slices.Contains(impureTime, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: uses time.%s", s.set.Position(n.Pos()), n.Sel.Name))
			}
		}
		return true
	})
	return found
}

// oversized are the file and its functions where they are longer than a reader keeps in mind.
func oversized(s source) (found []string) {
	if s.lines > maxFileLines {
		found = append(found, fmt.Sprintf("%s: %d lines, the limit is %d", s.path, s.lines, maxFileLines))
	}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := s.set.Position(f.Pos()), s.set.Position(f.End())
		if n := to.Line - from.Line + 1; n > maxFuncLines {
			found = append(found, fmt.Sprintf("%s: %s has %d lines, the limit is %d", from, f.Name.Name, n, maxFuncLines))
		}
	}
	return found
}

func TestImportsFollowTheMap(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, b := range breaches(s) {
			t.Error(b)
		}
	}
}

func TestPurePackagesArePure(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.pkg) {
			continue
		}
		for _, i := range impurities(s) {
			t.Error(i)
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		for _, o := range oversized(s) {
			t.Error(o)
		}
	}
}

// The checks are tests too: each must find what it is for.
func TestChecksFindWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	imports := func(p string) string { return "package x\nimport _ \"" + p + "\"\n" }
	long := "package x\nfunc f() {\n" + strings.Repeat("\n", maxFuncLines) + "}\n"
	for _, tt := range []struct {
		name, file, text string
		check            func(source) []string
		want             int
	}{
		{"an unlisted package", "bus/nats/x.go", "package x", breaches, 1},
		{"an arrow up", "db/x.go", imports(module + "/engine"), breaches, 1},
		{"an arrow up from a test", "db/x_test.go", imports(module + "/engine"), breaches, 0},
		{"an arrow down", "engine/x.go", imports(module + "/db"), breaches, 0},
		{"an inner package of the engine", "engine/internal/wake/x.go", imports(module + "/gateway"), breaches, 1},
		{"its use by the engine", "engine/x.go", imports(module + "/engine/internal/wake"), breaches, 0},
		{"an example", "examples/approval/x.go", imports(module + "/db"), breaches, 1},
		{"a built-in step that composes", "steps/httppost/x.go", imports(module + "/app"), breaches, 1},
		{"an engine that knows a step", "engine/x.go", imports(module + "/steps/httppost"), breaches, 1},
		{"generated queries", "engine/x_test.go", imports(module + "/db/internal/sqlc"), breaches, 1},
		{"Fiber in the engine", "engine/x.go", imports("github.com/gofiber/fiber/v2/middleware/cors"), breaches, 1},
		{"Fiber in a test of app", "app/x_test.go", imports("github.com/gofiber/fiber/v2"), breaches, 1},
		{"pgx in the gateway", "gateway/x.go", imports("github.com/jackc/pgx/v5"), breaches, 1},
		{"pgx in a test of the gateway", "gateway/x_test.go", imports("github.com/jackc/pgx/v5"), breaches, 0},
		{"pgx in the engine", "engine/x.go", imports("github.com/jackc/pgx/v5/pgxpool"), breaches, 0},
		{"SQLSTATEs in the engine", "engine/x.go", imports("github.com/jackc/pgx/v5/pgconn"), breaches, 1},
		{"a context", "spec/x.go", imports("context"), impurities, 1},
		{"chance", "spec/x.go", imports("math/rand/v2"), impurities, 1},
		{"a file", "spec/x.go", imports("os"), impurities, 1},
		{"a socket", "spec/x.go", imports("net/http"), impurities, 1},
		{"a URL", "spec/x.go", imports("net/url"), impurities, 0},
		{"a clock", "spec/x.go", "package x\nimport c \"time\"\nvar now = c.Now\n", impurities, 1},
		{"a hidden clock", "spec/x.go", "package x\nimport . \"time\"\nvar now = Now\n", impurities, 1},
		{"a duration", "spec/x.go", "package x\nimport \"time\"\nvar d = time.Second\n", impurities, 0},
		{"a goroutine", "spec/x.go", "package x\nfunc f() { go f() }\n", impurities, 1},
		{"a long function", "spec/x.go", long, oversized, 1},
		{"a long file", "spec/x.go", "package x\n" + strings.Repeat("\n", maxFileLines), oversized, 1},
	} {
		s, err := parse(tt.file, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if found := tt.check(s); len(found) != tt.want {
			t.Errorf("%s: found %q, want %d", tt.name, found, tt.want)
		}
	}
}
