package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// hostileText does things to a terminal: clears it, sets its title, turns the direction of writing, begins a C1 sequence.
const hostileText = "\x1b[2J\x1b]0;pwned\a\u202e\u009b31m\u2028\r\nfake  line\u200b"

// counterSpec is a workflow that ends as the signal "end" says.
var counterSpec = spec.WorkflowSpec{
	Name: "test.counter", Version: "1", Description: "Ends as it is told.",
	Signals: []spec.Signal{{Name: "end"}, {Name: "note"}}, Hooks: []spec.Hook{{Name: "ask"}},
}

func counter(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[struct {
		Step bool `json:"step"`
	}](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	how, ended, err := engine.SignalPayload[string](ctx, "end")
	switch {
	case err != nil:
		return engine.Decision{}, err
	case how == "fail":
		return ctx.Fail(errors.New("no luck" + hostileText)), nil
	case how == "block":
		return engine.Decision{}, errors.New("blocked by the test")
	case ended:
		return ctx.Complete(how), nil
	}
	open := []engine.Decision{
		ctx.CreateHook("ask", engine.Metadata(spec.HumanApproval("A trip"+hostileText).WithLabel("team", "a"))), ctx.WaitForSignal("end", "end"),
	}
	if in.Step {
		open = append(open, ctx.RunStep("s", "work", nil, spec.NoRetry().WithHold()))
	}
	return ctx.Await(open...), nil
}

// terminal runs commands against a gateway.
type terminal struct {
	t     *testing.T
	env   map[string]string
	stdin string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	i, err := app.Start(t.Context(), app.Local{
		DatabaseURL: pgtest.URL(t), Dir: t.TempDir(),
		Registrations: []app.Registration{{
			Spec: counterSpec, Workflow: counter, Steps: []app.Step{{
				Name: "work", Do: func(context.Context, *engine.Step) (any, error) { return nil, errors.New("down" + hostileText) },
			}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return &terminal{t: t, env: map[string]string{"FLOWGATE_URL": i.URL()}}
}

// try runs a command. Whatever it prints does nothing to a terminal.
func (c *terminal) try(args ...string) (string, error) {
	c.t.Helper()
	var out, log bytes.Buffer
	err := app.Program{Stdin: strings.NewReader(c.stdin)}.Run(
		c.t.Context(), args, func(name string) string { return c.env[name] }, &out, &log,
	)
	said := out.String()
	if err != nil {
		said += err.Error()
	}
	for _, r := range said {
		if r != '\n' && (r < ' ' || r >= 0x7f && r <= 0x9f || strings.ContainsRune("\u202e\u2028\u200b", r)) {
			c.t.Errorf("%v prints %q", args, said)
		}
	}
	return out.String(), err
}

// run runs a command that must go well, and prints these texts in this order.
func (c *terminal) run(want string, args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	rest := out
	for _, part := range strings.Split(want, "…") {
		_, after, found := strings.Cut(rest, part)
		if !found {
			c.t.Errorf("%v prints\n%s\nwithout %q", args, out, part)
			return out
		}
		rest = after
	}
	return out
}

// fails runs a command that must end with a code and say something.
func (c *terminal) fails(code int, says string, args ...string) {
	c.t.Helper()
	out, err := c.try(args...)
	if app.ExitCode(err) != code || err == nil || !strings.Contains(err.Error(), says) {
		c.t.Errorf("%v: exit code %d, error %v, want %d and %q; printed %s", args, app.ExitCode(err), err, code, says, out)
	}
}

// object runs a command that prints JSON.
func (c *terminal) object(args ...string) map[string]any {
	c.t.Helper()
	var body map[string]any
	if out := c.run("", append(args, "--json")...); json.Unmarshal([]byte(out), &body) != nil || strings.Count(out, "\n") != 1 {
		c.t.Fatalf("%v prints %s", args, out)
	}
	return body
}

// await runs a command until it prints something.
func (c *terminal) await(want string, args ...string) {
	c.t.Helper()
	eventually(c.t, want, func() bool {
		out, err := c.try(args...)
		return err == nil && strings.Contains(out, want)
	})
}
