package engine_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// statements counts what a pool sends. A batch counts as its queries.
type statements struct {
	n    atomic.Int64
	sent chan struct{} // gets a value per statement while somebody listens
}

func (s *statements) count() {
	s.n.Add(1)
	select {
	case s.sent <- struct{}{}:
	default:
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.count()
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { s.count() }

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TestParkedRunsCostNothing is not parallel, because it counts the goroutines of the process.
func TestParkedRunsCostNothing(t *testing.T) {
	runs := 10_000
	if testing.Short() {
		runs = 1000
	}
	trace := &statements{sent: make(chan struct{})}
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = trace
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	cfg := testConfig(t, pool)
	cfg.PollInterval = 200 * time.Millisecond
	r := idle(t, cfg, greet).run()
	r.start(greet, "first", nil)
	r.waiting("first", "w")
	before := runtime.NumGoroutine()

	began := time.Now()
	const lanes = 64
	var group sync.WaitGroup
	for lane := range lanes {
		group.Go(func() {
			for i := lane; i < runs; i += lanes {
				r.start(greet, spec.RunID(engine.ID("run", i)), nil)
			}
		})
	}
	group.Wait()
	perRun := float64(trace.n.Load()) / float64(runs)
	for deadline := time.Now().Add(patience); parked(r) < runs+1; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d runs are parked", parked(r), runs+1)
		}
	}
	t.Logf("%d runs started in %s with %.2f statements per run", runs, time.Since(began), perRun)
	if !testing.Short() && perRun > 5 {
		t.Errorf("starting took %.2f statements per run: they were not batched", perRun)
	}

	// What is left are the polls, a handful of statements each whatever the number of runs, and a heartbeat.
	start := trace.n.Load()
	over := time.NewTimer(10 * cfg.PollInterval)
	defer over.Stop()
	for idle := false; !idle; {
		select {
		case <-trace.sent:
		case <-over.C:
			idle = true
		}
	}
	sent := trace.n.Load() - start
	t.Logf("%d statements in ten poll intervals beside %d parked runs", sent, runs)
	if sent > 13*6 || sent < 5 {
		t.Errorf("%d statements in ten poll intervals beside %d parked runs", sent, runs)
	}
	if after := runtime.NumGoroutine(); after > before+20 {
		t.Errorf("%d goroutines before, %d beside %d parked runs", before, after, runs)
	}
}

// parked counts the runs that took their first turn.
func parked(r *rig) int {
	r.t.Helper()
	n := 0
	for q := (engine.RunQuery{Limit: 200}); ; {
		p, err := r.ListRuns(r.ctx(), q)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range p.Items {
			if s.HistoryLength == 2 {
				n++
			}
		}
		if q.Cursor = p.NextCursor; q.Cursor == "" {
			return n
		}
	}
}
