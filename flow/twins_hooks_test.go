package flow_test

import (
	"errors"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
)

const sharedToken = "a-token-of-the-host-0123456789"

func hookTwins() []twin {
	return []twin{
		{
			name: "approval", hooks: []string{"approval", "other"},
			decisions: func(c *engine.Context) (decision, error) {
				switch c.HookState("approval") {
				case engine.Answered:
					v, _, _ := engine.HookPayload[int](c, "approval")
					return c.Complete(v), nil
				case engine.Expired, engine.Disposed:
					return c.Fail(errors.New(`hook "approval" is ` + string(c.HookState("approval")))), nil
				}
				return c.CreateHook("approval", engine.ExpiresIn(9*time.Second)), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (int, error) {
				return flow.AwaitHook[int](flow.CreateHook(w, "approval", engine.ExpiresIn(9*time.Second)))
			}),
		},
		{
			name: "quorum", hooks: []string{"a", "b", "c", "d"},
			decisions: func(c *engine.Context) (decision, error) {
				var ask, rest []decision
				yes, no := []string{}, 0
				for _, id := range []string{"a", "b", "c", "d"} {
					switch c.HookState(id) {
					case engine.None, engine.Open:
						ask, rest = append(ask, c.CreateHook(id, engine.ExpiresIn(15*time.Second))), append(rest, c.DisposeHook(id))
					case engine.Answered:
						if v, _, _ := engine.HookPayload[int](c, id); v > 0 {
							yes = append(yes, id)
						} else {
							no++
						}
					default:
						no++
					}
				}
				if len(yes) == 2 || no == 3 {
					return c.All(append(rest, c.Complete(yes))...), nil
				}
				return c.Await(ask...), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]string, error) {
				var asked []*flow.Hook
				for _, id := range []string{"a", "b", "c", "d"} {
					asked = append(asked, flow.CreateHook(w, id, engine.ExpiresIn(15*time.Second)))
				}
				yes := []string{}
				for len(yes) < 2 && len(yes)+len(asked) >= 2 {
					hook, err := flow.Next(w, &asked)
					if err != nil {
						return nil, err
					}
					if vote, err := flow.AwaitHook[int](hook); err == nil && vote > 0 {
						yes = append(yes, hook.ID())
					}
				}
				flow.Dispose(asked...)
				slices.Sort(yes)
				return yes, nil
			}),
		},
		{
			name: "meanwhile", hooks: []string{"a", "b", "c"}, signals: []string{"go"},
			decisions: func(c *engine.Context) (decision, error) {
				all := []string{"a", "b", "c"}
				open := c.Await(c.CreateHook("a"), c.CreateHook("b"), c.CreateHook("c", engine.ExpiresIn(8*time.Second)))
				if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
					return c.Await(open, c.WaitForSignal("begin", "go")), nil
				}
				order := []string{}
				for len(all) > 0 {
					first := c.First(all...)
					if first == "" {
						return open, nil
					}
					order, all = append(order, first), slices.DeleteFunc(all, func(id string) bool { return id == first })
				}
				return c.Complete(order), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]string, error) {
				all := []*flow.Hook{
					flow.CreateHook(w, "a"), flow.CreateHook(w, "b"), flow.CreateHook(w, "c", engine.ExpiresIn(8*time.Second)),
				}
				if _, err := flow.WaitForSignal[raw](w, "begin", "go"); err != nil {
					return nil, err
				}
				order := []string{}
				for len(all) > 0 {
					first, err := flow.Next(w, &all)
					if err != nil {
						return nil, err
					}
					first.State()
					order = append(order, first.ID())
				}
				return order, nil
			}),
		},
		{
			name: "reminders", hooks: []string{"approval"}, signals: []string{"noise"},
			decisions: func(c *engine.Context) (decision, error) {
				hook, deadline := c.CreateHook("approval"), c.Timer("deadline", 12*time.Second)
				for n := 0; ; n++ {
					tick := engine.ID("tick", n)
					switch c.First("approval", "deadline", tick) {
					case "":
						return c.Await(hook, deadline, c.Timer(tick, 5*time.Second)), nil
					case "approval":
						return c.Complete(n), nil
					case "deadline":
						return c.All(c.DisposeHook("approval"), c.Complete("late")), nil
					}
				}
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (any, error) {
				approval := flow.CreateHook(w, "approval")
				deadline := flow.StartTimer(w, "deadline", 12*time.Second)
				for n := 0; ; n++ {
					switch first, err := flow.Race(w, approval, deadline, flow.NewTimer(w, engine.ID("tick", n), 5*time.Second)); {
					case err != nil:
						return nil, err
					case first == approval:
						_, err := approval.Await()
						return n, err
					case first == deadline:
						approval.Dispose()
						return "late", nil
					}
				}
			}),
		},
		{
			name: "taken token", hooks: []string{"first", "second"}, signals: []string{"go"},
			decisions: func(c *engine.Context) (decision, error) {
				open := c.Await(c.CreateHook("first", engine.Token(sharedToken)), c.CreateHook("second", engine.Token(sharedToken)))
				_, rejected := c.HookRejected("second")
				if !rejected {
					return open, nil
				}
				if _, ok, _ := engine.SignalPayload[raw](c, "give up"); !ok {
					if c.HookState("first") == engine.Answered {
						return c.Complete("answered"), nil
					}
					return c.Await(open, c.WaitForSignal("give up", "go")), nil
				}
				if !c.TimerFired("later") {
					return c.Await(c.DisposeHook("first"), c.Sleep("later", time.Second)), nil
				}
				return c.Complete("gave up"), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (string, error) {
				one := flow.CreateHook(w, "first", engine.Token(sharedToken))
				two := flow.CreateHook(w, "second", engine.Token(sharedToken))
				var closed *flow.HookClosedError
				if _, err := two.Await(); !errors.As(err, &closed) || closed.Rejection.Reason != engine.RejectTaken {
					return "", err
				}
				switch first, err := flow.Race(w, one, flow.Signal[raw](w, "give up", "go")); {
				case err != nil:
					return "", err
				case first == one:
					_, err := one.Await()
					return "answered", err
				}
				one.Dispose()
				return "gave up", flow.Sleep(w, "later", time.Second)
			}),
		},
	}
}
