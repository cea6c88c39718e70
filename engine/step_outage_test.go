package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A step is done while the database is away for longer than its lease: the outcome is stored all the same, because nobody
// can have begun the step anew. Its queue has one place, so that this process cannot either.
func TestOutcomeOutlivesItsLease(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	pool, err := pgxpool.New(t.Context(), server.URL())
	must(t, err)
	t.Cleanup(pool.Close)
	cfg := testConfig(t, pool)
	cfg.StepLease, cfg.StepQueues = time.Second, map[string]int{"default": 1}
	w := oneStep(spec.NoRetry())
	r := idle(t, cfg, w)
	begun, lost := make(chan struct{}, 2), make(chan struct{}, 2)
	must(t, r.RegisterStep("work", func(ctx context.Context, _ *engine.Step) (any, error) {
		begun <- struct{}{}
		<-ctx.Done() // it can do no more than end what it does
		lost <- struct{}{}
		return context.Cause(ctx).Error(), nil
	}))
	r.run()
	r.start(w, "a", nil)
	within(t, begun)
	server.Kill()
	within(t, lost)
	pgtest.Restart(t, server)
	r.until("a", "read", func(s engine.Snapshot) bool { return s.RunID == "a" })
	if out := r.completed("a"); out != `"lease of the attempt ended"` {
		t.Errorf("the run completed with %s", out)
	}
	if len(begun) != 0 {
		t.Error("the step was begun anew")
	}
}

// What becomes due where there is no room for it is told to the others at once.
func TestFullQueueTellsOthers(t *testing.T) {
	t.Parallel()
	cfg := pollsNever(t, pgtest.New(t))
	cfg.StepQueues, cfg.StepLease = map[string]int{"default": 1}, 10*patience // others do not look for its end either
	w := oneStep(spec.NoRetry())
	entered, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	full := idle(t, cfg, w)
	must(t, full.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
		close(entered)
		<-release
		return "here", nil
	}))
	full.run()
	full.start(w, "first", nil)
	within(t, entered)
	pool, names := namedStatements(t, full.pool.Config())
	other := idle(t, pollsNever(t, pool))
	must(t, other.RegisterStep("work", func(context.Context, *engine.Step) (any, error) { return "there", nil }))
	other.run()
	other.eventually("it listens and has looked", func() bool {
		return names.count("NextTask") > 0 && full.asks(`SELECT count(*) > 1 FROM pg_stat_activity
			WHERE datname = current_database() AND query = 'listen flowgate_ended'`)
	})
	full.start(w, "second", nil)
	if out := full.completed("second"); out != `"there"` {
		t.Errorf("the second step was done %s", out)
	}
}
