package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// stepCount is the number of steps of a run of stepsSpec.
const stepCount = 3

var (
	directSpec = spec.WorkflowSpec{Name: "bench.direct", Version: "1"}
	stepsSpec  = spec.WorkflowSpec{Name: "bench.steps", Version: "1"}
	parentSpec = spec.WorkflowSpec{Name: "bench.parent", Version: "1"}
)

// direct ends at once.
func direct(ctx *engine.Context) (engine.Decision, error) { return ctx.Complete(ctx.Input()), nil }

// inSteps does one step after the other, each with the output of the one before.
func inSteps(ctx *engine.Context) (engine.Decision, error) {
	value := ctx.Input()
	for n := range stepCount {
		id := engine.ID("step", n)
		out, ok, err := engine.StepOutput[json.RawMessage](ctx, id)
		if err != nil {
			return engine.Decision{}, err
		}
		if !ok {
			return ctx.RunStep(id, "bench.echo", value, spec.NoRetry()), nil
		}
		value = out
	}
	return ctx.Complete(value), nil
}

// echo is the side effect: none, so that what is measured is the engine.
func echo(_ context.Context, step *engine.Step) (any, error) { return step.Input, nil }

// parent has one child, which ends at once.
func parent(ctx *engine.Context) (engine.Decision, error) {
	out, ok, err := engine.ChildOutput[json.RawMessage](ctx, "child")
	if err != nil {
		return engine.Decision{}, err
	}
	if !ok {
		return ctx.StartChild("child", directSpec.Name, "child-of-"+ctx.RunID(), ctx.Input()), nil
	}
	return ctx.Complete(out), nil
}

// Steps measures runs from their start to their end: of no step, of three steps in sequence, and of one child. What a step
// or a child costs over what it does is the difference to the run of none.
func Steps(ctx context.Context, b *Bench) error {
	for _, clients := range []int{1, many} {
		if err := b.stepsOf(ctx, clients); err != nil {
			return fmt.Errorf("%d clients: %w", clients, err)
		}
	}
	return nil
}

func (b *Bench) stepsOf(ctx context.Context, clients int) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n := b.Sizes.Steps[clients]
	p50 := map[string]float64{}
	for _, kind := range []struct{ name, workflow string }{
		{"direct", directSpec.Name}, {"steps", stepsSpec.Name}, {"child", parentSpec.Name},
	} {
		times, took, err := r.lives(ctx, kind.workflow, kind.name, clients, n)
		if err != nil {
			return err
		}
		p50[kind.name] = load.Millis(load.Quantile(times, 0.5))
		b.Figures.Add(fmt.Sprintf("%s_per_s_c%d", kind.name, clients), load.PerSecond(n, took))
		b.Figures.Add(fmt.Sprintf("%s_ms_p50_c%d", kind.name, clients), p50[kind.name])
	}
	b.Figures.Add(fmt.Sprintf("step_extra_ms_c%d", clients), (p50["steps"]-p50["direct"])/stepCount)
	b.Figures.Add(fmt.Sprintf("child_extra_ms_c%d", clients), p50["child"]-p50["direct"])
	return nil
}

// lives starts runs and waits for the end of each, with as many in flight as there are clients. A fifth more warm up.
func (r *rig) lives(ctx context.Context, workflow, prefix string, clients, n int) ([]time.Duration, time.Duration, error) {
	name, times := names(prefix), make([]time.Duration, n)
	live := func(ctx context.Context, id spec.RunID) (time.Duration, error) {
		begin := time.Now()
		if _, err := r.engine.Start(ctx, engine.StartRequest{Workflow: workflow, RunID: id, Input: []byte("7")}); err != nil {
			return 0, err
		}
		run, err := r.engine.Wait(ctx, id)
		took := time.Since(begin)
		if err == nil && (run.Status != engine.StatusCompleted || string(run.Output) != "7") {
			err = fmt.Errorf("run %s ended as %s with %s: %s", id, run.Status, run.Output, run.Error)
		}
		return took, err
	}
	if _, err := load.Spread(ctx, clients, n/5+1, func(ctx context.Context, i int) error {
		_, err := live(ctx, name(n+i))
		return err
	}); err != nil {
		return nil, 0, err
	}
	took, err := load.Spread(ctx, clients, n, func(ctx context.Context, i int) (err error) {
		times[i], err = live(ctx, name(i))
		return err
	})
	return times, took, err
}
