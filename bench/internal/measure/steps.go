package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
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
			return ctx.RunStep(id, echoName, value, spec.NoRetry()), nil
		}
		value = out
	}
	return ctx.Complete(value), nil
}

// echoName is the step that echo does.
const echoName = "bench.echo"

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

// life is a kind of run that is measured from its start to its end.
type life struct{ name, workflow string }

// The kinds. What three steps cost is told as well, and comes last: counting it may end the engine.
var (
	bare       = life{"direct", directSpec.Name}
	withChild  = life{"child", parentSpec.Name}
	threeSteps = life{"three_steps", stepsSpec.Name}
)

// Steps measures runs from their start to their end: of no step, of one child, and of three steps in sequence. What a step
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
	n, warm := b.Sizes.Steps[clients], b.Sizes.Steps[clients]/5+1
	p50 := map[life]float64{}
	for _, kind := range []life{bare, withChild} {
		if _, _, err := r.lives(ctx, kind, "first", clients, warm); err != nil {
			return err
		}
		if p50[kind], err = r.addLives(ctx, kind, clients, n); err != nil {
			return err
		}
	}
	if _, _, err := r.lives(ctx, threeSteps, "first", clients, warm); err != nil {
		return err
	}
	work := func() error {
		p50[threeSteps], err = r.addLives(ctx, threeSteps, clients, n)
		return err
	}
	tell := func(context.Context, int) error { return nil }
	if clients == many {
		tell, err = r.costOf(ctx, threeSteps.name+"_", work)
	} else {
		err = work()
	}
	if err != nil {
		return err
	}
	b.Figures.Add(fmt.Sprintf("step_extra_ms_c%d", clients), (p50[threeSteps]-p50[bare])/stepCount)
	b.Figures.Add(fmt.Sprintf("child_extra_ms_c%d", clients), p50[withChild]-p50[bare])
	return errors.Join(r.checkLives(ctx, n+warm), tell(ctx, n))
}

// addLives measures runs of a kind, and returns the median time of one in milliseconds.
func (r *rig) addLives(ctx context.Context, kind life, clients, n int) (p50 float64, err error) {
	times, took, err := r.lives(ctx, kind, "then", clients, n)
	if err != nil {
		return 0, err
	}
	r.b.Figures.Add(fmt.Sprintf("%s_per_s_c%d", kind.name, clients), load.PerSecond(n, took))
	for _, q := range []int{50, 95, 99} {
		r.b.Figures.Add(fmt.Sprintf("%s_ms_p%d_c%d", kind.name, q, clients), load.Millis(load.Quantile(times, float64(q)/100)))
	}
	return load.Millis(load.Quantile(times, 0.5)), nil
}

// lives starts runs and waits for the end of each, with as many in flight as there are clients.
func (r *rig) lives(ctx context.Context, kind life, prefix string, clients, n int) ([]time.Duration, time.Duration, error) {
	name, times := names(kind.name+"-"+prefix), make([]time.Duration, n)
	took, err := load.Spread(ctx, clients, n, func(ctx context.Context, i int) (err error) {
		times[i], err = r.lifetime(ctx, kind, name(i))
		return err
	})
	return times, took, err
}

// lifetime is how long one run takes. It must end with its input as its output.
func (r *rig) lifetime(ctx context.Context, kind life, id spec.RunID) (time.Duration, error) {
	begin := time.Now()
	if _, err := r.engine.Start(ctx, engine.StartRequest{Workflow: kind.workflow, RunID: id, Input: floor.Payload}); err != nil {
		return 0, err
	}
	run, err := r.engine.Wait(ctx, id)
	took := time.Since(begin)
	if err == nil && (run.Status != engine.StatusCompleted || !bytes.Equal(run.Output, floor.Payload)) {
		err = fmt.Errorf("run %s ended as %s with %d bytes: %s", id, run.Status, len(run.Output), run.Error)
	}
	return took, err
}

// checkLives wants n runs of each kind, a child of each parent, and every step and child to have come back once.
func (r *rig) checkLives(ctx context.Context, n int) error {
	for workflow, want := range map[string]int{directSpec.Name: 2 * n, parentSpec.Name: n, stepsSpec.Name: n} {
		if err := r.checkCompleted(ctx, workflow, want); err != nil {
			return err
		}
	}
	var steps, children int
	err := r.look.QueryRow(ctx, `SELECT count(*) FILTER (WHERE type = 'step.completed'),
		count(*) FILTER (WHERE type = 'child.completed') FROM events`).Scan(&steps, &children)
	if err == nil && (steps != stepCount*n || children != n) {
		err = fmt.Errorf("%d runs of each kind have %d steps and %d children in their histories", n, steps, children)
	}
	return err
}
