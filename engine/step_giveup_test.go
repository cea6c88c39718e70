package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A step that does not end is given up at the end of Run, and given back before it returns: without a strike.
func TestRunGivesBackWhatItGivesUp(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.StepDrain = time.Millisecond
	w := oneStep(spec.NoRetry())
	r := idle(t, cfg, w)
	entered, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	must(t, r.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
		close(entered)
		<-release
		return nil, nil
	}))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.start(w, "a", nil)
	<-entered
	tx, err := r.pool.Begin(r.ctx())
	must(t, err)
	_, err = tx.Exec(r.ctx(), "select from tasks for update")
	must(t, err)
	cancel()
	for waits := false; !waits; <-time.After(time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("Run returned while an attempt of it is ended: %v", err)
		default:
		}
		must(t, r.pool.QueryRow(r.ctx(), `select exists (select from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits))
	}
	must(t, tx.Rollback(r.ctx()))
	must(t, <-ended)
	var free bool
	must(t, r.pool.QueryRow(r.ctx(), `select worker is null and strikes = 0 and failures = 0 and run_after <= now() from tasks`).Scan(&free))
	if !free {
		t.Error("the step was not given back")
	}
}
