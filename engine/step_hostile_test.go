package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// called does the step that its input names, and ends with what came of it.
func called(retry spec.RetryPolicy, opts ...engine.StepOption) workflow {
	return workflow{spec.WorkflowSpec{Name: "called", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		name, err := engine.Input[string](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		out, done, err := engine.StepOutput[any](ctx, "s")
		if err != nil || done {
			return ctx.Complete(out), err
		}
		return ctx.RunStep("s", name, "input", retry, opts...), nil
	}}
}

// nasty is whatever an author can get wrong in an error or an output.
type nasty struct{ text func() string }

func (n nasty) Error() string                { return n.text() }
func (n nasty) MarshalJSON() ([]byte, error) { return []byte(n.text()), nil }

func fails(err error) engine.StepFunc {
	return func(context.Context, *engine.Step) (any, error) { return nil, err }
}

func gives(out any) engine.StepFunc {
	return func(context.Context, *engine.Step) (any, error) { return out, nil }
}

// Whatever the function of a step does wrong is a failed attempt that says what it was; nothing else ends, waits or is lost.
func TestHostileStepFunctionsFailTheirStepOnly(t *testing.T) {
	t.Parallel()
	const secret = "fhk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
	cases := map[string]struct {
		fn       engine.StepFunc
		code     string
		contains string
	}{
		"goexit":            {func(context.Context, *engine.Step) (any, error) { runtime.Goexit(); return nil, nil }, "panic", "Goexit"},
		"panic":             {func(context.Context, *engine.Step) (any, error) { panic(secret) }, "panic", "type string"},
		"panic of an error": {func(context.Context, *engine.Step) (any, error) { panic(os.ErrClosed) }, "panic", "panicked"},
		"panic of nil":      {func(context.Context, *engine.Step) (any, error) { panic(nil) }, "panic", "panicked"},
		"error panics":      {fails(nasty{func() string { panic("in Error") }}), "panic", "panicked"},
		"error exits":       {fails(nasty{func() string { runtime.Goexit(); return "" }}), "panic", "Goexit"},
		"typed nil":         {fails((*os.PathError)(nil)), "panic", "panicked"},
		"nothing marked":    {fails(engine.NonRetryable(nil)), "panic", "panicked"},
		"long message":      {fails(errors.New(strings.Repeat("é", 5<<20))), "", "éé"},
		"zero bytes":        {fails(errors.New("a\x00b\xff\r\nc")), "", "a b"},
		"token":             {fails(fmt.Errorf("POST https://x/%s: refused", secret)), "", "[redacted]"},
		"code of bytes":     {fails(engine.Coded("a\x00b\xff", errors.New("words"))), "", "words"},
		"code of a token":   {fails(engine.Coded(secret, errors.New("words"))), "", "words"},
		"long code":         {fails(engine.Coded(strings.Repeat("c", 1<<20), errors.New("words"))), "", "words"},
		"channel":           {gives(make(chan int)), "output", "chan int"},
		"not a number":      {gives(math.NaN()), "output", ""},
		"no JSON":           {gives(nasty{func() string { return "{" }}), "output", ""},
		"two values":        {gives(nasty{func() string { return "1 2" }}), "output", ""},
		"JSON panics":       {gives(nasty{func() string { panic("in MarshalJSON") }}), "panic", "panicked"},
		"zero in output":    {gives("a\x00b"), "output", "NUL"},
		"large output":      {gives(strings.Repeat("x", 5<<20)), "output", ""},
		"key twice":         {gives(nasty{func() string { return `{"a":1,"a":2}` }}), "output", ""},
	}
	w := called(spec.NoRetry())
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	for name, c := range cases {
		must(t, r.RegisterStep(name, c.fn))
	}
	r.run()
	for name := range cases {
		r.start(w, runOf(name), name)
	}
	for name, c := range cases {
		s := r.ended(runOf(name))
		if s.Status != engine.StatusFailed || !strings.Contains(s.Error, c.contains) || len(s.Error) > 1200 {
			t.Errorf("%s: %s %.300q %s", name, s.Status, s.Error, s.Output)
		}
	}
	p, err := r.ListDeadLetters(r.ctx(), engine.LetterFilter{Limit: 100})
	must(t, err)
	for _, l := range p.Letters {
		if c := cases[l.Name]; !strings.HasPrefix(l.Code, c.code) || len(l.Code) > spec.MaxNameBytes {
			t.Errorf("%s: code %.100q, want %q", l.Name, l.Code, c.code)
		}
		if strings.Contains(l.Code+l.Message, secret) || len(l.Message) > 1200 {
			t.Errorf("%s: %.200q %.200q", l.Name, l.Code, l.Message)
		}
	}
}

func runOf(name string) spec.RunID { return spec.RunID(strings.ReplaceAll(name, " ", "-")) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An error whose words never end is over with the attempt's time.
func TestErrorThatWrapsItselfIsTimedOut(t *testing.T) {
	t.Parallel()
	w := called(spec.NoRetry(), engine.StartToClose(20*time.Millisecond))
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	done := make(chan struct{})
	must(t, r.RegisterStep("round", fails(endless{done})))
	t.Cleanup(func() { close(done) })
	r.run()
	r.start(w, "a", "round")
	if s := r.ended("a"); s.Status != engine.StatusFailed || !strings.Contains(s.Error, "time is over") {
		t.Errorf("%s %q", s.Status, s.Error)
	}
}

// endless is an error whose text is there when its test is over.
type endless struct{ done <-chan struct{} }

func (e endless) Error() string { <-e.done; return "late" }
