package flow_test

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
)

type (
	decision = engine.Decision
	raw      = json.RawMessage
)

func twins() []twin {
	return slices.Concat(signalTwins(), hookTwins(), carryTwins(), taskTwins(), endTwins())
}

func signalTwins() []twin {
	return []twin{
		{
			name: "invoice", signals: []string{"approved"},
			decisions: func(c *engine.Context) (decision, error) {
				if v, ok, _ := engine.SignalPayload[int](c, "approval"); ok {
					return c.Complete(v), nil
				}
				return c.WaitForSignal("approval", "approved"), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (int, error) {
				return flow.WaitForSignal[int](w, "approval", "approved")
			}),
		},
		{
			name: "rounds", signals: []string{"go"},
			decisions: func(c *engine.Context) (decision, error) {
				results := []any{}
				for i := range 4 {
					id := engine.ID("go", i)
					v, ok, _ := engine.SignalPayload[int](c, id)
					switch {
					case ok:
						results = append(results, v)
					case c.WaitTimedOut(id):
						results = append(results, "timeout")
					default:
						return c.WaitForSignal(id, "go", engine.Timeout(5*time.Second)), nil
					}
				}
				return c.Complete(results), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]any, error) {
				results := []any{}
				for i := range 4 {
					v, ok, err := flow.WaitForSignalTimeout[int](w, engine.ID("go", i), "go", 5*time.Second)
					switch {
					case err != nil:
						return nil, err
					case ok:
						results = append(results, v)
					default:
						results = append(results, "timeout")
					}
				}
				return results, nil
			}),
		},
		{
			name: "any of", signals: []string{"paid", "void"},
			decisions: func(c *engine.Context) (decision, error) {
				switch c.First("pay", "voided", "limit") {
				case "pay":
					return c.Complete("paid"), nil
				case "voided":
					return c.Complete("void"), nil
				case "limit":
					return c.Complete("late"), nil
				}
				return c.Await(c.WaitForSignal("pay", "paid"), c.Timer("limit", 6*time.Second), c.WaitForSignal("voided", "void")), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (string, error) {
				pay := flow.Signal[raw](w, "pay", "paid")
				limit := flow.StartTimer(w, "limit", 6*time.Second)
				void := flow.Signal[raw](w, "voided", "void")
				switch first, err := flow.Race(w, void, pay, limit); {
				case err != nil:
					return "", err
				case first == pay:
					return "paid", nil
				case first == void:
					return "void", nil
				}
				return "late", nil
			}),
		},
		{
			name: "collect until", signals: []string{"item"},
			decisions: func(c *engine.Context) (decision, error) {
				got := []int{}
				for i := range 4 {
					id := engine.ID("item", i)
					switch c.First("collect-item-0", id) {
					case id:
						v, _, _ := engine.SignalPayload[int](c, id)
						got = append(got, v)
						continue
					case "":
						return c.Await(c.Timer("collect-item-0", 9*time.Second), c.WaitForSignal(id, "item")), nil
					}
					break
				}
				if !c.TimerFired("rest") {
					return c.Sleep("rest", time.Second), nil
				}
				return c.Complete(got), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]int, error) {
				got, err := flow.CollectSignals[int](w, "item", 4, 9*time.Second)
				if err != nil {
					return nil, err
				}
				return got, flow.Sleep(w, "rest", time.Second)
			}),
		},
		{
			name: "drain", signals: []string{"item", "go"},
			decisions: func(c *engine.Context) (decision, error) {
				if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
					return c.WaitForSignal("begin", "go"), nil
				}
				got := []int{}
				for i := 0; ; i++ {
					id := engine.ID("drain", i)
					if c.WaitTimedOut(id) {
						return c.Complete(got), nil
					}
					v, ok, _ := engine.SignalPayload[int](c, id)
					if !ok {
						return c.WaitForSignal(id, "item", engine.Timeout(0)), nil
					}
					got = append(got, v)
				}
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]int, error) {
				if _, err := flow.WaitForSignal[raw](w, "begin", "go"); err != nil {
					return nil, err
				}
				return flow.Drain[int](w, "drain", "item")
			}),
		},
		{
			name: "handler", signals: []string{"add", "stop"},
			decisions: func(c *engine.Context) (decision, error) {
				sum := 0
				for n := 0; ; n++ {
					id := engine.ID("on-add", n)
					v, ok, _ := engine.SignalPayload[int](c, id)
					sum += v
					switch {
					case sum >= 5 || !ok && c.TimerFired("limit"):
						return c.Complete([]any{sum, sum >= 5}), nil
					case !ok:
						return c.Await(c.WaitForSignal(id, "add"), c.Timer("limit", 20*time.Second)), nil
					}
				}
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) ([]any, error) {
				sum := 0
				flow.OnSignal(w, "add", func(n int) { sum += n })
				met, err := flow.AwaitConditionTimeout(w, "limit", 20*time.Second, func() bool { return sum >= 5 })
				return []any{sum, met}, err
			}),
		},
	}
}

func endTwins() []twin {
	return []twin{
		{
			name: "generations", signals: []string{"item"}, hooks: []string{"stop"}, input: 0,
			decisions: func(c *engine.Context) (decision, error) {
				sum, _ := engine.Input[int](c)
				stop := c.CreateHook("stop")
				for n := range 3 {
					id := engine.ID("item", n)
					switch c.First("stop", id) {
					case "stop":
						return c.Complete(sum), nil
					case "":
						return c.Await(stop, c.WaitForSignal(id, "item")), nil
					}
					v, _, _ := engine.SignalPayload[int](c, id)
					sum += v
				}
				return c.ContinueAsNew(sum), nil
			},
			flow: flow.Func(func(w *flow.Workflow, sum int) (int, error) {
				stop := flow.CreateHook(w, "stop")
				for n := range 3 {
					item := flow.Signal[int](w, engine.ID("item", n), "item")
					switch first, err := flow.Race(w, stop, item); {
					case err != nil:
						return 0, err
					case first == stop:
						_, err := stop.Await()
						return sum, err
					}
					v, err := item.Await()
					if err != nil {
						return 0, err
					}
					sum += v
				}
				return 0, flow.ContinueAsNew(w, sum)
			}),
		},
		{
			name: "clean-up", signals: []string{"paid", "released"}, hooks: []string{"ask"}, cancel: true,
			decisions: func(c *engine.Context) (decision, error) {
				if _, ok, _ := engine.SignalPayload[raw](c, "pay"); ok {
					if !c.TimerFired("settle") && !c.CancelRequested() {
						return c.Sleep("settle", 3*time.Second), nil
					}
					if c.TimerFired("settle") {
						return c.Complete("paid"), nil
					}
				} else if !c.CancelRequested() {
					return c.WaitForSignal("pay", "paid"), nil
				}
				if _, ok, _ := engine.SignalPayload[raw](c, "undo"); !ok && !c.WaitTimedOut("undo") {
					return c.WaitForSignal("undo", "released", engine.Timeout(4*time.Second)), nil
				}
				return c.Cancelled(), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (string, error) {
				flow.Compensate(w, func() error {
					_, _, err := flow.WaitForSignalTimeout[raw](w, "undo", "released", 4*time.Second)
					return err
				})
				if _, err := flow.WaitForSignal[raw](w, "pay", "paid"); err != nil {
					return "", err
				}
				return "paid", flow.Sleep(w, "settle", 3*time.Second)
			}),
		},
	}
}
