package measure

import (
	"context"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/spec"
)

// Burst parks runs and then signals all of them at once: the rate counts from the first call to the last completion. It
// also tells what such a run costs.
func Burst(ctx context.Context, b *Bench) error {
	for range b.Sizes.Bursts {
		if err := b.burstOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) burstOnce(ctx context.Context) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n, name := b.Sizes.Burst, names("burst")
	took, err := r.park(ctx, waitSpec.Name, name, many, n)
	if err != nil {
		return err
	}
	b.Figures.Add("park_per_s", load.PerSecond(n, took))
	cost, err := r.costOf(ctx, "", func() error {
		took, err = r.burst(ctx, name, n)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.checkCompleted(ctx, waitSpec.Name, n); err != nil {
		return err
	}
	b.Figures.Add("burst_runs_per_s", load.PerSecond(n, took))
	return cost(ctx, n)
}

// burst signals runs that wait and returns how long it took until the last one was completed.
func (r *rig) burst(ctx context.Context, name func(int) spec.RunID, n int) (time.Duration, error) {
	begin := time.Now()
	_, err := load.Spread(ctx, many, n, func(ctx context.Context, i int) error {
		_, err := r.engine.SendSignal(ctx, goSignal(name(i)))
		return err
	})
	if err != nil {
		return 0, err
	}
	err = r.rest(ctx)
	return time.Since(begin), err
}
