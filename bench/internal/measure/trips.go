package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Trips measures single signals, with as many in flight as there are clients: from the call of SendSignal on a parked
// run to its receipt, and to the moment at which Wait returns the completed run.
func Trips(ctx context.Context, b *Bench) error {
	for _, clients := range Crowds {
		if err := b.tripsOf(ctx, clients); err != nil {
			return fmt.Errorf("%d clients: %w", clients, err)
		}
	}
	return nil
}

func (b *Bench) tripsOf(ctx context.Context, clients int) (err error) {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	n, first := b.Sizes.Trips[clients], 4*clients // the first ones warm up
	name := names("trip")
	took, err := r.park(ctx, waitSpec.Name, name, clients, first+n)
	if err != nil {
		return err
	}
	b.Figures.Add(fmt.Sprintf("park_per_s_c%d", clients), load.PerSecond(first+n, took))
	receipts, trips := make([]time.Duration, n), make([]time.Duration, n)
	if _, err := load.Spread(ctx, clients, first, func(ctx context.Context, i int) error {
		_, _, err := r.trip(ctx, name(n+i))
		return err
	}); err != nil {
		return err
	}
	took, err = load.Spread(ctx, clients, n, func(ctx context.Context, i int) (err error) {
		receipts[i], trips[i], err = r.trip(ctx, name(i))
		return err
	})
	if err != nil {
		return err
	}
	b.Figures.Add(fmt.Sprintf("roundtrip_per_s_c%d", clients), load.PerSecond(n, took))
	for _, figure := range []struct {
		name  string
		times []time.Duration
	}{{"receipt", receipts}, {"roundtrip", trips}} {
		for _, q := range []int{50, 95, 99} {
			b.Figures.Add(fmt.Sprintf("%s_ms_p%d_c%d", figure.name, q, clients),
				load.Millis(load.Quantile(figure.times, float64(q)/100)))
		}
	}
	return r.checkCompleted(ctx, waitSpec.Name, first+n)
}

// trip signals one parked run and waits for its end.
func (r *rig) trip(ctx context.Context, id spec.RunID) (receipt, whole time.Duration, err error) {
	begin := time.Now()
	if _, err := r.engine.SendSignal(ctx, goSignal(id)); err != nil {
		return 0, 0, err
	}
	receipt = time.Since(begin)
	run, err := r.engine.Wait(ctx, id)
	whole = time.Since(begin)
	if err == nil && (run.Status != engine.StatusCompleted || !bytes.Equal(run.Output, floor.Payload)) {
		err = fmt.Errorf("run %s ended as %s with %d bytes", id, run.Status, len(run.Output))
	}
	return receipt, whole, err
}
