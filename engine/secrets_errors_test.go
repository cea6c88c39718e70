package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

const strict = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":{"type":"boolean"}}`

// vault opens hooks of several kinds and waits.
var vault = workflow{
	spec.WorkflowSpec{
		Name: "vault", Version: "1", Input: json.RawMessage(`{"type":["null","object"],"additionalProperties":{"type":"boolean"}}`),
		Signals: []spec.Signal{{Name: "strict", Schema: json.RawMessage(strict)}, {Name: "note"}, {Name: "end"}},
		Hooks:   []spec.Hook{{Name: "answer", Schema: json.RawMessage(strict)}, {Name: "proved", Requires: spec.Credential}},
	},
	func(c *engine.Context) (engine.Decision, error) {
		if _, ended, err := engine.SignalPayload[json.RawMessage](c, "read"); ended || err != nil {
			return c.Complete(nil), err
		}
		return c.Await(c.CreateHook("answer"), c.CreateHook("never"), c.CreateHook("proved"), c.CreateHook("host", engine.Token(hostSecret+string(c.RunID()))),
			c.CreateHook("brief", engine.ExpiresIn(0)), c.WaitForSignal("read", "end")), nil
	},
}

// The secrets of these tests: a host's token, what payloads hold in strings, keys and numbers, and a key.
const (
	hostSecret = "HOSTh7vK2qLw9XcB4nRt"
	inText     = "TEXTz3Yp8mQs6VdJ1kFg"
	inKey      = "KEYKw5Ue9rTa2ZxN7bHc"
	inNumber   = "918273645546372819"
	keySecret  = "MINTq4Ws8eDr6TfY1gUh0jIk"
)

// broken is a payload that breaks the schema strict in every place, with a token in it.
func brokenBy(minted string) []byte {
	return fmt.Appendf(nil, `{"n":%q,%q:%s,"x":[%q]}`, inText, inKey, inNumber, minted)
}

// provoked is an error with a name that its test knows it by.
type provoked struct {
	is   func(error) bool
	errs []error
	keys bool // it points to places of a payload by the payload's keys, for its sender
}

// Every error that callers and operators see, provoked with secrets, is shown in every way and holds none of them.
func TestSecretsAreInNoError(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits = engine.Limits{PayloadBytes: 4096, Backlog: 2}
	r := idle(t, cfg, vault, scribe)
	if err := r.Register(oracleSpec, asleep, oracle...); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(askedBy(1).spec, askedBy(1).fn); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.start(workflow{oracleSpec, asleep}, "asked", json.RawMessage(fmt.Sprintf(`{%q:%q}`, inKey, inText)))
	for _, run := range []spec.RunID{"run", "ended", "cancelled", "boom"} {
		r.start(vault, run, nil)
		r.waiting(run, "answer", "never", "proved", "host", "read")
	}
	p := &provocation{rig: r, minted: r.link("run", "answer").Token.Reveal(), gone: r.link("ended", "answer").Token.Reveal()}
	all := map[string]provoked{}
	for _, part := range []map[string]provoked{
		p.ofRuns(), p.ofHooks(), p.ofPayloads(), p.ofKeys(), p.ofTheDatabase(), p.ofHistory(), p.ofTasks(), p.ofQueries(), p.ofUpdates(), p.ofPages(),
	} {
		for name, e := range part {
			all[name] = e
		}
	}
	for name, e := range all {
		for i, err := range e.errs {
			if err == nil || !e.is(err) {
				t.Fatalf("%s, %d: provoked %T instead", name, i, err)
			}
			secrets := []string{strings.TrimPrefix(p.minted, "fhk_"), strings.TrimPrefix(p.gone, "fhk_"), hostSecret, inText, inNumber, keySecret, inKey}
			text := shown(t, err)
			if e.keys {
				secrets = secrets[:len(secrets)-1]
				if found := hold(err.Error(), inKey); found != nil {
					t.Errorf("%s, %d: the text holds a key of a payload: %s", name, i, err)
				}
			}
			if found := hold(text, secrets...); found != nil {
				t.Errorf("%s, %d: it shows the secrets %v", name, i, found)
			}
		}
	}
	for _, name := range exportedErrors(t) {
		if len(all[name].errs) == 0 {
			t.Errorf("%s is not provoked", name)
		}
	}
}

// same and kind recognise a sentinel and a type.
func same(sentinel error) func(error) bool {
	return func(err error) bool { return errors.Is(err, sentinel) }
}

func kind[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// exportedErrors reads the sentinels and error types of the packages below the gateway.
func exportedErrors(t *testing.T) (names []string) {
	t.Helper()
	for _, dir := range []string{"../tokens", "../spec", "../db", "../engine", "../internal/canon", "../internal/schema", "../internal/history"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "verify") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range errorsIn(f) {
				names = append(names, filepath.Base(dir)+"."+name)
			}
		}
	}
	return names
}

func errorsIn(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "Error" && d.Recv != nil {
				if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok && ast.IsExported(star.X.(*ast.Ident).Name) {
					names = append(names, star.X.(*ast.Ident).Name)
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				value, ok := s.(*ast.ValueSpec)
				if !ok || d.Tok != token.VAR || len(value.Values) != 1 {
					continue
				}
				// Another package's error under a second name is that package's.
				if _, made := value.Values[0].(*ast.CallExpr); made && strings.HasPrefix(value.Names[0].Name, "Err") {
					names = append(names, value.Names[0].Name)
				}
			}
		}
	}
	return names
}
