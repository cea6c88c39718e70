package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

type (
	call          = *engine.Context
	decision      = engine.Decision
	panicsAsError string
	nilError      struct{ text string }
	endsAsError   string
	panicsAsJSON  string
	failsAsJSON   string
)

func (e panicsAsError) Error() string               { panic(string(e)) }
func (e *nilError) Error() string                   { return e.text }
func (e endsAsError) Error() string                 { runtime.Goexit(); return string(e) }
func (j panicsAsJSON) MarshalJSON() ([]byte, error) { panic(string(j)) }
func (j failsAsJSON) MarshalJSON() ([]byte, error)  { return nil, errors.New(string(j)) }

// mintedToken is a token that workflow code got hold of.
func mintedToken(t testing.TB) string {
	t.Helper()
	return ringWith(t, "k", "x").Mint(tokens.Binding{RunID: t.Name()}, tokens.Nonce{1}).Token.Reveal()
}

// Workflow code that gives away what it knows blocks its run, whose reason holds neither a payload nor a token. It never
// takes the process down.
func TestSecretsAreInNoDiagnosis(t *testing.T) {
	t.Parallel()
	token := mintedToken(t)
	all := strings.Join([]string{inText, inKey, inNumber, hostSecret, token}, " ")
	fail := func(err error) engine.Workflow {
		return func(*engine.Context) (engine.Decision, error) { return engine.Decision{}, err }
	}
	decide := func(fn func(c call) decision) engine.Workflow {
		return func(c *engine.Context) (engine.Decision, error) { return fn(c), nil }
	}
	for name, tc := range map[string]struct {
		fn    engine.Workflow
		cause string
	}{
		"a panic":                            {func(call) (decision, error) { panic(all) }, "panic: "},
		"a panicking error":                  {func(call) (decision, error) { panic(fmt.Errorf("of %w", errors.New(all))) }, "panic: "},
		"a panicking type":                   {func(call) (decision, error) { panic(struct{ secret []byte }{[]byte(all)}) }, "panic: "},
		"a panic in the text of an error":    {fail(panicsAsError(all)), "panic: "},
		"an error that is a nil pointer":     {fail((*nilError)(nil)), "panic: "},
		"a goroutine that ends in a text":    {fail(endsAsError(all)), "panic: "},
		"a panic in the text of a failure":   {decide(func(c call) decision { return c.Fail(panicsAsError(all)) }), "panic: "},
		"a panic in JSON":                    {decide(func(c call) decision { return c.Complete(panicsAsJSON(all)) }), "panic: "},
		"an error in JSON":                   {decide(func(c call) decision { return c.Complete(failsAsJSON(all)) }), "decision: "},
		"a type without JSON":                {decide(func(c call) decision { return c.Complete(map[string]any{all: func() {}}) }), "decision: "},
		"a token as a hook ID":               {decide(func(c call) decision { return c.CreateHook(token) }), "decision: "},
		"a token as a wait ID":               {decide(func(c call) decision { return c.WaitForSignal(token, "go") }), "decision: "},
		"a token in a timer ID":              {decide(func(c call) decision { return c.Sleep("t-"+token, 1) }), "decision: "},
		"a minted token as the host's":       {decide(func(c call) decision { return c.CreateHook("h", engine.Token(token)) }), "decision: "},
		"a host token of bad characters":     {decide(func(c call) decision { return c.CreateHook("h", engine.Token(hostSecret+"/+")) }), "decision: "},
		"a token in metadata":                {decide(func(c call) decision { return hookWith(c, "link", token) }), "decision: "},
		"an error in metadata":               {decide(func(c call) decision { return hookWith(c, "x", failsAsJSON(all)) }), "decision: "},
		"another token for a hook it has":    {anotherToken, "nondeterminism: "},
		"an input that does not fit":         {reads[int], "error: "},
		"an input that does not fit a map":   {reads[map[string]int8], "error: "},
		"an input that does not fit a field": {reads[struct{ N int8 }], "error: "},
		"an error with a token":              {fail(errors.New("refused " + token + ", " + strings.ToLower(token[:3]) + "_")), "error: "},
		"an error that ends in a token":      {fail(errors.New(strings.Repeat("x", 1024-20) + token)), "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := enginetest.New(t, testSpec, tc.fn)
			run.ExpectBlocked()
			run.Start(json.RawMessage(fmt.Sprintf(`{"n":%s,"mark":%q,%q:[]}`, inNumber, inText, inKey)))
			reason := run.BlockedReason()
			if !strings.HasPrefix(reason, tc.cause) {
				t.Errorf("reason %q, want the cause %q", reason, tc.cause)
			}
			if found := hold(reason, inText, inKey, inNumber, hostSecret, strings.TrimPrefix(token, "fhk_")); found != nil {
				t.Errorf("the reason holds the secrets %v: %q", found, reason)
			}
		})
	}
}

func hookWith(c *engine.Context, key string, value any) engine.Decision {
	return c.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithData(key, value)))
}

// anotherToken changes the token of a hook that is there.
func anotherToken(c *engine.Context) (engine.Decision, error) {
	if c.HookState("h") == engine.None {
		return c.Await(c.CreateHook("h", engine.Token(hostSecret+"one")), c.Sleep("t", 0)), nil
	}
	return c.CreateHook("h", engine.Token(hostSecret+"two")), nil
}

func reads[T any](c *engine.Context) (engine.Decision, error) {
	_, err := engine.Input[T](c)
	return c.Complete(nil), err
}

// syncBuffer is written by an engine and read by its test.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// What an author says on purpose is kept for whom may read the run, without the token in it. The log has the author's
// words in development mode only.
func TestSecretsOfAuthorsAreNotLogged(t *testing.T) {
	t.Parallel()
	token := mintedToken(t)
	text := fmt.Sprintf("no account %s for https://flow.example.com/%s", inText, token)
	errs := workflow{
		spec.WorkflowSpec{Name: "errs", Version: "1"},
		func(*engine.Context) (engine.Decision, error) { return engine.Decision{}, errors.New(text) },
	}
	fails := workflow{
		spec.WorkflowSpec{Name: "fails", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) { return c.Fail(errors.New(text)), nil },
	}
	for _, dev := range []bool{false, true} {
		t.Run(fmt.Sprintf("dev %t", dev), func(t *testing.T) {
			t.Parallel()
			var log syncBuffer
			cfg := testConfig(t, pgtest.New(t))
			cfg.Logger, cfg.Dev = zerolog.New(&log), dev
			r := idle(t, cfg, errs, fails).run()
			r.start(errs, "errs", nil)
			r.start(fails, "fails", nil)
			want := fmt.Sprintf("no account %s for https://flow.example.com/%s", inText, tokens.Redacted)
			if got := r.blocked("errs").BlockedReason; got != "error: "+want {
				t.Errorf("reason %q, want %q", got, want)
			}
			if got := r.ended("fails").Error; got != want {
				t.Errorf("error %q, want %q", got, want)
			}
			history := fmt.Sprintf("%s %s", encode(t, r.events("errs")), encode(t, r.events("fails")))
			if !strings.Contains(history, inText) || hold(history, token) != nil {
				t.Error("the history lacks the author's words, or has the token in them")
			}
			r.stop()
			if said := log.String(); !strings.Contains(said, "run blocked") || hold(said, token) != nil || (hold(said, inText) != nil) != dev {
				t.Errorf("logged %s", said)
			}
		})
	}
}
