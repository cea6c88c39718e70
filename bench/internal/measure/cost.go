package measure

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// statsLag is how long a session may keep its counters to itself.
const statsLag = 11 * time.Second

// costOf does work and returns a function that adds what it cost per run, under names that begin with a prefix. Counting is
// not part of the work: it follows later, for counting rows without pg_waldump ends the engine.
func (r *rig) costOf(
	ctx context.Context, prefix string, work func() error,
) (func(ctx context.Context, runs int) error, error) {
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
		c := bill{r, prefix, float64(runs)}
		if cpuErr == nil {
			c.addCPU(after.Sub(before))
		} else {
			r.b.Figures.Note("%v", cpuErr)
		}
		size, err := s.BytesBetween(ctx, from, to)
		if err != nil {
			return err
		}
		c.add("wal_bytes_per_run", size)
		if s.HasWaldump() {
			return c.addWritten(ctx, from, to)
		}
		return c.addRows(ctx, rows)
	}, nil
}

// bill is what so many runs of a rig cost.
type bill struct {
	*rig
	prefix string
	runs   float64
}

// add tells what one run cost of what all of them did.
func (c bill) add(name string, all float64) { c.b.Figures.Add(c.prefix+name, all/c.runs) }

func (c bill) addCPU(used server.CPU) {
	for name, spent := range map[string]time.Duration{
		"cpu_ms_per_run": used.Total(), "cpu_ms_per_run_process": used.Process, "cpu_ms_per_run_postgres": used.Postgres,
	} {
		c.add(name, load.Millis(spent))
	}
}

// addWritten counts records of the write-ahead log.
func (c bill) addWritten(ctx context.Context, from, to server.LSN) error {
	w, err := c.b.Server.Written(ctx, from, to)
	if err != nil {
		return err
	}
	for name, n := range map[string]float64{
		"commits_per_run": w.Commits, "rows_inserted_per_run": w.Inserted, "rows_updated_per_run": w.Updated,
		"rows_deleted_per_run": w.Deleted, "index_inserts_per_run": w.IndexInserts, "row_locks_per_run": w.RowLocks,
		"wal_page_image_bytes_per_run": w.FullPageBytes,
	} {
		c.add(name, n)
	}
	if w.Updated > 0 {
		c.b.Figures.Add(c.prefix+"hot_share", w.HotUpdated/w.Updated)
	}
	return nil
}

// addRows is what can be known without pg_waldump. The counters are complete once the engine's sessions ended.
func (c bill) addRows(ctx context.Context, before server.Rows) error {
	c.b.Figures.Note("without pg_waldump: commits include those of reading transactions; index inserts and row locks are left out")
	if err := c.stop(); err != nil {
		return err
	}
	after, err := c.db.Rows(ctx)
	if err != nil {
		return err
	}
	d := after.Sub(before)
	for name, n := range map[string]float64{
		"commits_per_run": d.Commits, "rows_inserted_per_run": d.Inserted, "rows_updated_per_run": d.Updated,
		"rows_deleted_per_run": d.Deleted,
	} {
		c.add(name, n)
	}
	if d.Updated > 0 {
		c.b.Figures.Add(c.prefix+"hot_share", d.HotUpdated/d.Updated)
	}
	return nil
}
