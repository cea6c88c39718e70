package flow_test

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// eachWay runs a test with the function going on in place, and replayed from its beginning at every call.
func eachWay(t *testing.T, test func(t *testing.T, opts ...enginetest.Option)) {
	t.Helper()
	t.Parallel()
	t.Run("in_place", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("from_the_top", func(t *testing.T) { t.Parallel(); test(t, enginetest.FromTop()) })
}

// TestInputsAreOfTheMomentOfTheCall: what a function hands over is what it holds then, whatever it makes of the value later.
func TestInputsAreOfTheMomentOfTheCall(t *testing.T) {
	eachWay(t, func(t *testing.T, opts ...enginetest.Option) {
		run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
			state := map[string]int{}
			for i := range 3 {
				state["round"] = i
				flow.SignalRun(w, engine.ID("call", i), "other", engine.OutgoingSignal{Name: "go", Payload: state})
				child := flow.StartChild[raw](w, engine.ID("child", i), "other", "other", state)
				step := flow.StartStep[raw](w, engine.ID("step", i), "work", state, retry)
				state["begun"]++
				if err := flow.All(w, child, step); err != nil {
					return nil, err
				}
			}
			return state, nil
		}), opts...)
		run.Start(nil)
		for i, want := range []string{`{"round":0}`, `{"begun":1,"round":1}`, `{"begun":2,"round":2}`} {
			id := spec.StepID(engine.ID("step", i))
			if _, in := run.StepInput(id); string(in) != want {
				t.Errorf("input %s, want %s", in, want)
			}
			run.CompleteStep(id, nil)
			run.CompleteChild(spec.ChildID(engine.ID("child", i)), nil)
		}
		output(t, run, `{"begun":3,"round":2}`)
	})
}

// TestConditionIsNotAskedAtAWithdrawal: what the function withdrew has a place in the order of settling, at which
// nobody called it. It goes on from none.
func TestConditionIsNotAskedAtAWithdrawal(t *testing.T) {
	eachWay(t, func(t *testing.T, opts ...enginetest.Option) {
		run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
			gone := flow.CreateHook(w, "gone")
			if err := await(w, "a", "go"); err != nil {
				return nil, err
			}
			gone.Dispose()
			limit := flow.StartTimer(w, "limit", time.Hour)
			if err := flow.AwaitCondition(w, func() bool { return w.Settled() > 1 }); err != nil {
				return nil, err
			}
			fired := limit.Settled()
			return fired, flow.Sleep(w, "pause", time.Second)
		}), opts...)
		run.Start(nil)
		run.Signal("go", nil)
		run.Advance(2 * time.Hour)
		output(t, run, "true")
	})
}

// TestSignalsThatAreThere: what was accepted at the very instant at which a function looks for it is there.
func TestSignalsThatAreThere(t *testing.T) {
	for name, look := range map[string]func(w *flow.Workflow) ([]int, error){
		"collect": func(w *flow.Workflow) ([]int, error) { return flow.CollectSignals[int](w, "item", 5, 0) },
		"some":    func(w *flow.Workflow) ([]int, error) { return flow.CollectSignals[int](w, "item", 2, 0) },
		"drain":   func(w *flow.Workflow) ([]int, error) { return flow.Drain[int](w, "d", "item") },
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, opts ...enginetest.Option) {
				run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) { return look(w) }), opts...)
				run.Hold()
				run.Start(nil)
				run.Signal("item", 1)
				run.Signal("item", 2)
				run.Release()
				output(t, run, "[1,2]")
			})
		})
	}
}
