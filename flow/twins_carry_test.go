package flow_test

import (
	"errors"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
)

// carryTwins have places in the order of settling between which nobody was called.
func carryTwins() []twin {
	return []twin{
		{
			name: "two taken tokens", signals: []string{"go"}, hooks: []string{"one", "x"},
			decisions: func(c *engine.Context) (decision, error) {
				open := func(id string) decision { return c.CreateHook(id, engine.Token(sharedToken)) }
				if c.HookState("two") == engine.None {
					return c.Await(open("one"), open("two"), open("three")), nil
				}
				if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
					return c.Await(open("one"), c.CreateHook("x"), c.WaitForSignal("begin", "go")), nil
				}
				return c.Complete([]any{c.HookState("two"), c.HookState("three")}), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]any, error) {
				flow.CreateHook(w, "one", engine.Token(sharedToken))
				two, three := flow.CreateHook(w, "two", engine.Token(sharedToken)), flow.CreateHook(w, "three", engine.Token(sharedToken))
				if _, err := two.Await(); err == nil {
					return nil, errors.New("two was answered")
				}
				flow.CreateHook(w, "x")
				if err := flow.All(w, three); err != nil {
					return nil, err
				}
				_, err := flow.WaitForSignal[raw](w, "begin", "go")
				return []any{two.State(), three.State()}, err
			}),
		},
		{
			name: "carried and found late", signals: []string{"go"}, hooks: []string{"h"}, input: 0,
			decisions: func(c *engine.Context) (decision, error) {
				n, _ := engine.Input[int](c)
				if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
					begin := c.WaitForSignal("begin", "go")
					if n == 0 {
						return c.Await(c.CreateHook("h"), begin), nil
					}
					return begin, nil
				}
				switch {
				case n == 0:
					return c.ContinueAsNew(1), nil
				case c.HookState("h") == engine.Answered:
					return c.Complete("found"), nil
				}
				return c.CreateHook("h"), nil
			},
			flow: flow.Func(func(w *flow.Workflow, n int) (string, error) {
				if n == 0 {
					flow.CreateHook(w, "h")
				}
				if _, err := flow.WaitForSignal[raw](w, "begin", "go"); err != nil {
					return "", err
				}
				if n == 0 {
					return "", flow.ContinueAsNew(w, 1)
				}
				_, err := flow.CreateHook(w, "h").Await()
				return "found", err
			}),
		},
		{
			name: "carried answers", signals: []string{"go"}, hooks: []string{"a", "b", "x"}, input: 0,
			decisions: func(c *engine.Context) (decision, error) {
				a, b := c.CreateHook("a"), c.CreateHook("b")
				if n, _ := engine.Input[int](c); n == 0 {
					if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
						return c.Await(a, b, c.WaitForSignal("begin", "go")), nil
					}
					return c.ContinueAsNew(1), nil
				}
				switch {
				case c.HookState("a") != engine.Answered:
					return c.Await(a, b), nil
				case c.HookState("b") != engine.Answered:
					return c.Await(b, c.CreateHook("x")), nil
				}
				return c.Complete("both"), nil
			},
			flow: flow.Func(func(w *flow.Workflow, n int) (string, error) {
				a, b := flow.CreateHook(w, "a"), flow.CreateHook(w, "b")
				if n == 0 {
					if _, err := flow.WaitForSignal[raw](w, "begin", "go"); err != nil {
						return "", err
					}
					return "", flow.ContinueAsNew(w, 1)
				}
				if _, err := a.Await(); err != nil {
					return "", err
				}
				flow.CreateHook(w, "x")
				_, err := b.Await()
				return "both", err
			}),
		},
	}
}
