package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// Idle parks runs and looks what the engine costs while nothing happens; with the most runs it then compares a small
// burst beside them with one that has the engine to itself.
func Idle(ctx context.Context, b *Bench) error {
	for i, n := range b.Sizes.Idle {
		last := i == len(b.Sizes.Idle)-1
		if err := b.idleWith(ctx, n, last); err != nil {
			return fmt.Errorf("%d parked: %w", n, err)
		}
	}
	return nil
}

func (b *Bench) idleWith(ctx context.Context, n int, last bool) (err error) {
	r, err := b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	empty := resident()
	if _, err := r.park(ctx, waitSpec.Name, names("idle"), many, n); err != nil {
		return err
	}
	// Otherwise autovacuum would do it some time later, in the middle of the rest.
	if err := r.db.Analyze(ctx); err != nil {
		return err
	}
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	full := resident()
	var used server.CPU
	var cpuErr error
	statements, exact, err := r.db.Statements(ctx, func() error {
		before, err := b.Server.CPU()
		cpuErr = err
		if err := pause(ctx, b.Sizes.IdleFor); err != nil {
			return err
		}
		after, _ := b.Server.CPU() // fails where the first reading did
		used = after.Sub(before)
		return nil
	})
	if err != nil {
		return err
	}
	if !exact {
		b.Figures.Note("without pg_stat_statements: idle statements are transactions, as far as sessions have told")
	}
	figures := map[string]float64{"statements_per_s": statements / b.Sizes.IdleFor.Seconds()}
	if cpuErr == nil {
		minute := time.Minute.Seconds() / b.Sizes.IdleFor.Seconds()
		figures["cpu_s_per_min"] = used.Process.Seconds() * minute
		figures["cpu_s_per_min_postgres"] = used.Postgres.Seconds() * minute
		figures["rss_mb"], figures["rss_mb_added"] = full, full-empty
	}
	for name, value := range figures {
		b.Figures.Add(fmt.Sprintf("idle_by_parked.%d.%s", n, name), value)
	}
	if !last {
		return nil
	}
	b.Figures.Add("idle_queries_per_s", figures["statements_per_s"])
	if cpuErr == nil {
		b.Figures.Add("idle_cpu_share", used.Process.Seconds()/b.Sizes.IdleFor.Seconds())
	}
	return r.beside(ctx, n)
}

// resident is the memory of this process after a collection, in MB; zero where it is not known.
func resident() float64 {
	debug.FreeOSMemory()
	n, err := server.Resident()
	if err != nil {
		return 0
	}
	return float64(n) / 1e6
}

// beside signals small numbers of runs, by turns beside all that are parked here and with an engine that has no others.
func (r *rig) beside(ctx context.Context, parked int) (err error) {
	if r.b.Sizes.Pairs == 0 {
		return nil
	}
	alone, err := r.b.newRig(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.close()) }()
	n := r.b.Sizes.Small
	rates := map[*rig][]float64{}
	for pair := range r.b.Sizes.Pairs + 1 {
		for _, one := range []*rig{alone, r} {
			name := names(fmt.Sprintf("beside-%d", pair))
			if err := r.b.Server.Settle(ctx); err != nil {
				return err
			}
			if _, err := one.park(ctx, waitSpec.Name, name, many, n); err != nil {
				return err
			}
			took, err := one.burst(ctx, name, n)
			if err != nil {
				return err
			}
			if err := one.checkCompleted(ctx, waitSpec.Name, (pair+1)*n); err != nil {
				return err
			}
			if pair > 0 { // the first warms up
				rates[one] = append(rates[one], load.PerSecond(n, took))
			}
		}
	}
	few, lots := load.Median(rates[alone]), load.Median(rates[r])
	r.b.Figures.Add(fmt.Sprintf("burst_with_parked_per_s.%d", n), few)
	r.b.Figures.Add(fmt.Sprintf("burst_with_parked_per_s.%d", parked), lots)
	r.b.Figures.Add(fmt.Sprintf("burst_%d_over_%d_parked", parked, n), lots/few)
	return nil
}
