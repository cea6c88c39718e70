package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// TestQuery_leaves_connections_to_others: however many ask for what is slow to read, they do not hold all connections.
func TestQuery_leaves_connections_to_others(t *testing.T) {
	t.Parallel()
	r := tallyOn(idle(t, testConfig(t, pgtest.New(t)))).run()
	r.startTally("run", nil)
	r.atRest("run")

	small := r.pool.Config()
	small.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	asked := tallyOn(idle(t, testConfig(t, pool)))

	tx, err := r.pool.Begin(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(r.ctx()) }()
	if _, err := tx.Exec(r.ctx(), "lock table events in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var answered atomic.Int32
	for range 12 {
		all.Go(func() {
			_, _ = asked.Query(r.ctx(), "run", "view", nil)
			answered.Add(1)
		})
	}
	for pool.Stat().AcquiredConns() < 2 {
		<-time.After(time.Millisecond)
	}
	for range 100 { // long enough for the others to take what they may
		if _, err := asked.Hook(r.ctx(), "run", "gate"); err != nil || answered.Load() > 0 {
			t.Fatalf("a look at a hook beside queries: %v, after %d of them were over", err, answered.Load())
		}
	}
	if err := tx.Rollback(r.ctx()); err != nil {
		t.Error(err)
	}
	all.Wait()
	answerTo[view](asked, "run", "view", nil)
}
