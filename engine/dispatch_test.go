package engine_test

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A timer fires in time though the turns that opened it took long: its due time is told by the database's clock.
func TestTimerIsPunctualAfterSlowTurns(t *testing.T) {
	t.Parallel()
	slow := workflow{spec.WorkflowSpec{Name: "slow", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		<-time.After(500 * time.Millisecond)
		return c.Complete(nil), nil
	}}
	nap := workflow{spec.WorkflowSpec{Name: "nap", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		if !c.TimerFired("nap") {
			return c.Sleep("nap", 3*time.Second), nil
		}
		return c.Complete(nil), nil
	}}
	cfg := testConfig(t, pgtest.New(t))
	cfg.CallBudget, cfg.BatchBudget, cfg.PollInterval = 5*time.Second, 5*time.Second, time.Minute
	r := idle(t, cfg, slow, nap)
	tx, err := r.pool.Begin(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartTx(r.ctx(), tx,
		engine.StartRequest{Workflow: "slow", RunID: "a"}, engine.StartRequest{Workflow: "slow", RunID: "b"},
		engine.StartRequest{Workflow: "nap", RunID: "c"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(r.ctx()); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.completed("c")
	events := r.events("c")
	due, fired := events[1].At.Add(3*time.Second), events[2].At
	if late := fired.Sub(due); late < 0 || late > 450*time.Millisecond {
		t.Errorf("the timer fired %s late", late)
	}
}

// A process says which code it has before it moves any run on.
func TestHeartbeatComesBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	seen := make(chan int, 1)
	look := workflow{spec.WorkflowSpec{Name: "look", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		var n int
		if err := pool.QueryRow(t.Context(), `select count(*) from workers where workflow = 'look'`).Scan(&n); err != nil {
			return engine.Decision{}, err
		}
		seen <- n
		return c.Complete(nil), nil
	}}
	r := idle(t, testConfig(t, pool), look)
	tx, err := pool.Begin(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartTx(r.ctx(), tx, engine.StartRequest{Workflow: "look", RunID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(r.ctx()); err != nil {
		t.Fatal(err)
	}
	// A heartbeat that has to wait is waited for.
	block, err := pool.Begin(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := block.Exec(r.ctx(), `lock table workers in share row exclusive mode`); err != nil {
		t.Fatal(err)
	}
	r.run()
	go func() {
		defer func() { _ = block.Rollback(r.ctx()) }()
		for waits := false; !waits; {
			if err := pool.QueryRow(r.ctx(), `select exists (select from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	if n := <-seen; n != 1 {
		t.Errorf("%d heartbeats before the first turn", n)
	}
	r.completed("a")
}
