package measure

import (
	"context"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
	"github.com/flowgate-go/flowgate/spec"
)

// statsLag is how long a session may keep its counters to itself.
const statsLag = 11 * time.Second

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
	cost, err := r.costOf(ctx, func() error {
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

// costOf does work and returns a function that adds what it cost per run. Counting is not part of the work: it follows
// later, for counting rows without pg_waldump ends the engine.
func (r *rig) costOf(ctx context.Context, work func() error) (func(ctx context.Context, runs int) error, error) {
	s := r.b.Server
	var rows server.Rows
	if !s.HasWaldump() {
		if err := pause(ctx, statsLag); err != nil {
			return nil, err
		}
		var err error
		if rows, err = r.db.Rows(ctx); err != nil {
			return nil, err
		}
	}
	from, err := s.Position(ctx)
	if err != nil {
		return nil, err
	}
	before, cpuErr := s.CPU()
	if err := work(); err != nil {
		return nil, err
	}
	after, _ := s.CPU() // fails where the first reading did
	to, err := s.Position(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, runs int) error {
		if cpuErr == nil {
			r.addCPU(after.Sub(before), runs)
		} else {
			r.b.Figures.Note("%v", cpuErr)
		}
		size, err := s.BytesBetween(ctx, from, to)
		if err != nil {
			return err
		}
		r.b.Figures.Add("wal_bytes_per_run", size/float64(runs))
		if s.HasWaldump() {
			return r.addWritten(ctx, from, to, runs)
		}
		return r.addRows(ctx, rows, runs)
	}, nil
}

func (r *rig) addCPU(used server.CPU, runs int) {
	for name, spent := range map[string]time.Duration{
		"cpu_ms_per_run": used.Total(), "cpu_ms_per_run_process": used.Process, "cpu_ms_per_run_postgres": used.Postgres,
	} {
		r.b.Figures.Add(name, load.Millis(spent)/float64(runs))
	}
}

// addWritten counts records of the write-ahead log.
func (r *rig) addWritten(ctx context.Context, from, to server.LSN, runs int) error {
	w, err := r.b.Server.Written(ctx, from, to)
	if err != nil {
		return err
	}
	for name, n := range map[string]float64{
		"commits_per_run": w.Commits, "rows_inserted_per_run": w.Inserted, "rows_updated_per_run": w.Updated,
		"rows_deleted_per_run": w.Deleted, "index_inserts_per_run": w.IndexInserts, "row_locks_per_run": w.RowLocks,
		"wal_page_image_bytes_per_run": w.FullPageBytes,
	} {
		r.b.Figures.Add(name, n/float64(runs))
	}
	if w.Updated > 0 {
		r.b.Figures.Add("hot_share", w.HotUpdated/w.Updated)
	}
	return nil
}

// addRows is what can be known without pg_waldump. The counters are complete once the engine's sessions ended.
func (r *rig) addRows(ctx context.Context, before server.Rows, runs int) error {
	r.b.Figures.Note("without pg_waldump: commits include those of reading transactions; index inserts and row locks are left out")
	if err := r.stop(); err != nil {
		return err
	}
	after, err := r.db.Rows(ctx)
	if err != nil {
		return err
	}
	d := after.Sub(before)
	for name, n := range map[string]float64{
		"commits_per_run": d.Commits, "rows_inserted_per_run": d.Inserted, "rows_updated_per_run": d.Updated,
		"rows_deleted_per_run": d.Deleted,
	} {
		r.b.Figures.Add(name, n/float64(runs))
	}
	if d.Updated > 0 {
		r.b.Figures.Add("hot_share", d.HotUpdated/d.Updated)
	}
	return nil
}
