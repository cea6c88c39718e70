package measure

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

var (
	waitSpec = spec.WorkflowSpec{Name: "bench.wait", Version: "1", Signals: []spec.Signal{{Name: "go"}}}
	hookSpec = spec.WorkflowSpec{Name: "bench.hook", Version: "1", Hooks: []spec.Hook{{Name: "answer"}}}
	takeSpec = spec.WorkflowSpec{Name: "bench.take", Version: "1", Signals: []spec.Signal{{Name: "item"}}}
)

// waitOnce parks on one signal and ends with its payload.
func waitOnce(ctx *engine.Context) (engine.Decision, error) {
	v, ok, err := engine.SignalPayload[json.RawMessage](ctx, "go")
	if err != nil {
		return engine.Decision{}, err
	}
	if !ok {
		return ctx.WaitForSignal("go", "go"), nil
	}
	return ctx.Complete(v), nil
}

// hookOnce parks on one hook and ends with its answer.
func hookOnce(ctx *engine.Context) (engine.Decision, error) {
	v, ok, err := engine.HookPayload[json.RawMessage](ctx, "answer")
	if err != nil {
		return engine.Decision{}, err
	}
	if !ok {
		return ctx.CreateHook("answer"), nil
	}
	return ctx.Complete(v), nil
}

// taker is a workflow that takes signals one after the other, each by a wait and a call of its own, and never ends.
type taker struct {
	called chan struct{} // gets a value when the workflow is called; holds one
}

// take is the workflow. It finds the wait that is open in a few steps, so that what is measured is the engine and not a
// loop over all that was. That it tells when it is called is for whoever measures, and nothing that it decides by.
func (t taker) take(ctx *engine.Context) (engine.Decision, error) {
	select {
	case t.called <- struct{}{}:
	default:
	}
	settled := func(n int) bool {
		id := engine.ID("item", n)
		return ctx.First(id) == id
	}
	from, to := 0, 1 // what is below from has settled
	for settled(to - 1) {
		from, to = to, 2*to
	}
	for from < to-1 {
		if half := (from + to) / 2; settled(half - 1) {
			from = half
		} else {
			to = half
		}
	}
	return ctx.WaitForSignal(engine.ID("item", from), "item"), nil
}
