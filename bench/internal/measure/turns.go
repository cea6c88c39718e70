package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

var marchSpec = spec.WorkflowSpec{Name: "bench.march", Version: "1", Signals: []spec.Signal{{Name: "item"}}}

// march does as many steps in sequence as its input says, and then takes signals. It goes over all that was from the top
// in every call, as authors write it. That it tells when its steps are done is for whoever measures.
func (t taker) march(ctx *engine.Context) (engine.Decision, error) {
	steps, err := engine.Input[int](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	for n := range steps {
		id := engine.ID("step", n)
		if _, ok, err := engine.StepOutput[int](ctx, id); err != nil || !ok {
			return ctx.RunStep(id, echoName, n, spec.NoRetry()), err
		}
	}
	select {
	case t.called <- struct{}{}:
	default:
	}
	for n := 0; ; n++ {
		id := engine.ID("item", n)
		if _, ok, err := engine.SignalPayload[json.RawMessage](ctx, id); err != nil || !ok {
			return ctx.WaitForSignal(id, "item"), err
		}
	}
}

// signalsPart is the part of a history that signals may add to it while the turn after it is measured: one in so many.
const signalsPart = 30

// marcher is a run of so many events: its start, two for each step, and the wait for its next signal.
type marcher struct {
	id     spec.RunID
	events int
}

func (m marcher) steps() int { return (m.events - 2) / 2 }

// Turns measures what a turn costs after histories of settled steps: from the call of SendSignal to the commit of the turn
// that opens the next wait. Warm is the engine that did the steps, cold a fresh one, which folds the history first. It also
// tells what one of the steps took, all turns before the next one included.
func Turns(ctx context.Context, b *Bench) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	taken := map[spec.RunID]int{}
	for _, events := range b.Sizes.Events {
		if err := r.turnsAfter(ctx, events, taken); err != nil {
			return fmt.Errorf("%d events: %w", events, err)
		}
	}
	return r.coldTurns(ctx, taken)
}

// turnsAfter makes runs of a length and sends them signals: few to each of many short ones, so that they stay short.
func (r *rig) turnsAfter(ctx context.Context, events int, taken map[spec.RunID]int) error {
	samples := r.b.Sizes.Samples
	each := min(max(events/signalsPart, 1), samples)
	var steps int
	var marched time.Duration
	var times []time.Duration
	for i := range (samples + each - 1) / each {
		m := marcher{marchRun(events, i), events}
		took, err := r.marched(ctx, m)
		if err != nil {
			return err
		}
		steps, marched = steps+m.steps(), marched+took
		some, err := r.inSequence(ctx, m.id, taken, each)
		if err != nil {
			return err
		}
		times = append(times, some...)
	}
	r.b.Figures.Add(settled("step_us", events), load.Micros(marched)/float64(steps))
	r.b.Figures.Add(settled("turn_us", events), load.Micros(load.Quantile(times, 0.5)))
	return nil
}

func marchRun(events, i int) spec.RunID { return spec.RunID(fmt.Sprintf("march-%d-%d", events, i)) }

func settled(what string, events int) string {
	return fmt.Sprintf("settled_%s_by_events.%d", what, events)
}

// marched starts a run and waits until its steps are done and it waits for a signal. It checks the length of the history.
func (r *rig) marched(ctx context.Context, m marcher) (time.Duration, error) {
	select {
	case <-r.taker.called: // by the run before
	default:
	}
	begin := time.Now()
	if _, err := r.engine.Start(ctx, engine.StartRequest{
		Workflow: marchSpec.Name, RunID: m.id, Input: strconv.AppendInt(nil, int64(m.steps()), 10),
	}); err != nil {
		return 0, err
	}
	select {
	case <-r.taker.called:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if err := r.parkedAgain(ctx, m.id); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	var events int
	err := r.look.QueryRow(ctx, `SELECT count(*) FROM events e JOIN runs r ON r.id = e.run WHERE r.namespace = $1 AND r.run_id = $2`,
		spec.DefaultNamespace, m.id).Scan(&events)
	if err == nil && events != m.events {
		err = fmt.Errorf("run %s has %d events, not %d", m.id, events, m.events)
	}
	return took, err
}

// coldTurns gives one run of each length one more signal under engines that have never seen it.
func (r *rig) coldTurns(ctx context.Context, taken map[spec.RunID]int) error {
	times := map[int][]time.Duration{}
	for range r.b.Sizes.Cold {
		if err := r.stop(); err != nil {
			return err
		}
		if err := r.start(ctx, ""); err != nil {
			return err
		}
		for _, events := range slices.Backward(r.b.Sizes.Events) { // what a process does only once is not the shortest one's
			one, err := r.inSequence(ctx, marchRun(events, 0), taken, 1)
			if err != nil {
				return err
			}
			times[events] = append(times[events], one...)
		}
	}
	for events, ds := range times {
		r.b.Figures.Add(settled("cold_ms", events), load.Millis(load.Quantile(ds, 0.5)))
	}
	return nil
}
