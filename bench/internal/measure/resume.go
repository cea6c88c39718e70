package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Resume measures what one more signal costs a run that has taken many: from the call of SendSignal to the commit of the
// turn that opens the next wait. Warm is the engine that took the signals before, cold a fresh one with fresh connections
// over the same database.
func Resume(ctx context.Context, b *Bench) (err error) {
	if b.fed == nil {
		if err := FanIn(ctx, b); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, h := b.fed, b.Sizes.Histories
	taken := map[spec.RunID]int{fanRun: h[3]}
	if err := r.sequences(ctx, taken); err != nil {
		return err
	}
	times, err := r.inSequence(ctx, fanRun, taken, b.Sizes.Samples)
	if err != nil {
		return err
	}
	r.addTurn(h[3], times)
	return r.cold(ctx, taken)
}

// sequences sends runs signals one after the other, and takes from it the totals and the cost at the lower histories.
func (r *rig) sequences(ctx context.Context, taken map[spec.RunID]int) error {
	h, samples := r.b.Sizes.Histories, r.b.Sizes.Samples
	at := map[int][]time.Duration{}
	var few, lots []float64
	for s := range r.b.Sizes.Sequences {
		id := sequenceRun(s)
		if err := r.begin(ctx, id); err != nil {
			return err
		}
		times, err := r.inSequence(ctx, id, taken, h[2]+samples)
		if err != nil {
			return err
		}
		for _, n := range h[:3] {
			at[n] = append(at[n], times[n:min(n+samples, len(times))]...)
		}
		few, lots = append(few, sum(times[:h[1]]).Seconds()), append(lots, sum(times[:h[2]]).Seconds())
	}
	for n, times := range at {
		r.addTurn(n, times)
	}
	r.b.Figures.Add("sequential_s."+fmt.Sprint(h[1]), load.Median(few))
	r.b.Figures.Add("sequential_s."+fmt.Sprint(h[2]), load.Median(lots))
	r.b.Figures.Add("sequential_1000_over_100", load.Median(lots)/load.Median(few))
	return nil
}

func sequenceRun(i int) spec.RunID { return spec.RunID(fmt.Sprintf("sequence-%d", i)) }

func sum(ds []time.Duration) (total time.Duration) {
	for _, d := range ds {
		total += d
	}
	return total
}

func (r *rig) addTurn(history int, times []time.Duration) {
	r.b.Figures.Add(fmt.Sprintf("turn_us_by_history.%d", history), load.Micros(load.Quantile(slices.Clone(times), 0.5)))
}

// begin starts a run of the taker.
func (r *rig) begin(ctx context.Context, id spec.RunID) error {
	if _, err := r.engine.Start(ctx, engine.StartRequest{Workflow: takeSpec.Name, RunID: id}); err != nil {
		return err
	}
	return r.parkedAgain(ctx, id)
}

// inSequence sends a run n more signals, each when the one before is taken, and keeps count of them.
func (r *rig) inSequence(ctx context.Context, id spec.RunID, taken map[spec.RunID]int, n int) ([]time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		select {
		case <-r.taker.called: // for the signal before
		default:
		}
		begin := time.Now()
		if _, err := r.engine.SendSignal(ctx, itemSignal(id, taken[id])); err != nil {
			return nil, err
		}
		if err := r.taken(ctx, id); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin)
		taken[id]++
	}
	return times, r.checkTaken(ctx, id, taken[id])
}

// cold gives each run one more signal under engines that have never seen it.
func (r *rig) cold(ctx context.Context, taken map[spec.RunID]int) error {
	h := r.b.Sizes.Histories
	runs := []spec.RunID{"cold-0", "cold-1", sequenceRun(0), fanRun} // by history
	for i, id := range runs[:2] {
		if _, err := r.feed(ctx, id, h[i]); err != nil {
			return err
		}
		taken[id] = h[i]
	}
	times := map[int][]time.Duration{}
	for range r.b.Sizes.Cold {
		if err := r.stop(); err != nil {
			return err
		}
		if err := r.start(ctx, ""); err != nil {
			return err
		}
		for i, id := range runs {
			one, err := r.inSequence(ctx, id, taken, 1)
			if err != nil {
				return err
			}
			times[h[i]] = append(times[h[i]], one...)
		}
	}
	for n, ds := range times {
		r.b.Figures.Add(fmt.Sprintf("cold_ms_by_history.%d", n), load.Millis(load.Quantile(ds, 0.5)))
	}
	return nil
}
