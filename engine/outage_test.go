package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// Law 10: a database that is down is our fault, and it is over when it is back.
func TestC51_DatabaseOutageIsBusyAndPasses(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	r := idle(t, testConfig(t, pool), greet).run()
	r.start(greet, "run", nil)
	r.waiting("run", "w")
	server.Kill()

	for what, call := range map[string]func() error{
		"signal":   func() error { _, err := r.send("run", "s", "hello", "x"); return err },
		"callback": func() error { _, err := r.callback("host-token-nobody-has-0123", 1); return err },
		"start": func() error {
			_, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "greet", RunID: "new"})
			return err
		},
		"snapshot": func() error { _, err := r.Snapshot(r.ctx(), "run"); return err },
		"query":    func() error { _, err := r.Query(r.ctx(), "run", "any", nil); return err },
		"ping":     func() error { return r.Ping(r.ctx()) },
	} {
		began := time.Now()
		err := call()
		if !errors.Is(err, engine.ErrUnavailable) || engine.VerdictOf(err) != engine.VerdictBusy {
			t.Errorf("%s: %v", what, err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("%s took %s to say so", what, took)
		}
	}

	pgtest.Restart(t, server)
	r.until("run", "read", func(s engine.Snapshot) bool { return s.RunID == "run" })
	for {
		receipt, err := r.send("run", "s", "hello", "x")
		if err == nil {
			if receipt.Verdict != engine.VerdictAccepted && receipt.Verdict != engine.VerdictDuplicate {
				t.Errorf("receipt %+v", receipt)
			}
			break
		}
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if s := r.until("run", "completed", func(s engine.Snapshot) bool { return s.Status == engine.StatusCompleted }); string(s.Output) != `"x"` {
		t.Errorf("output %s", s.Output)
	}
	r.start(greet, spec.RunID("later"), nil)
	r.waiting("later", "w")
}
