package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

func signalTo(run spec.RunID, id spec.SignalID, payload string) engine.SignalRequest {
	return engine.SignalRequest{RunID: run, SignalID: id, Name: "hello", Payload: []byte(payload)}
}

func TestTxLivesAndDiesWithTheHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	ctx := r.ctx()
	tx, err := r.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.StartTx(ctx, tx, engine.StartRequest{Workflow: "greet", RunID: "b"}, engine.StartRequest{Workflow: "greet", RunID: "a"})
	if err != nil || len(got) != 2 || got[0].Receipt.Run.RunID != "b" || got[1].Receipt.Run.RunID != "a" {
		t.Fatalf("receipts %+v, %v", got, err)
	}
	if _, err := r.Snapshot(ctx, "a"); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("before the commit: %v", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Snapshot(ctx, "a"); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("after a rollback: %v", err)
	}

	if tx, err = r.pool.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartTx(ctx, tx, engine.StartRequest{Workflow: "greet", RunID: "a"}, engine.StartRequest{Workflow: "greet", RunID: "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SendSignalTx(ctx, tx, signalTo("b", "s", `"x"`), signalTo("a", "s", `"y"`)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.Nudge()
	if out := r.completed("a") + r.completed("b"); out != `"y""x"` {
		t.Errorf("outputs %s", out)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("after a nudge it took %s", took)
	}
	if v := verdict(r.send("a", "s", "hello", "y")); v != engine.VerdictDuplicate {
		t.Errorf("a retry outside the transaction: %s", v)
	}
}

func TestTxTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	ctx := r.ctx()
	r.start(greet, "run", nil)
	cold := r.beside() // has no spec cached
	tx, err := r.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	for i, bad := range []engine.SignalRequest{
		signalTo("run", "2", `17`), signalTo("nope", "2", `"x"`), signalTo("run", "", `"x"`), signalTo("run", "2", `{`),
	} {
		_, err := cold.SendSignalTx(ctx, tx, signalTo("run", "1", `"first"`), bad)
		var refused *engine.TxError
		if !errors.As(err, &refused) || refused.Index != 1 || engine.VerdictOf(err) == engine.VerdictBusy {
			t.Errorf("%d: %v", i, err)
		}
	}
	if got, err := cold.SendSignalTx(ctx, tx); err != nil || len(got) != 0 {
		t.Errorf("no request: %+v, %v", got, err)
	}
	var one int
	if err := tx.QueryRow(ctx, "select 1").Scan(&one); err != nil {
		t.Fatalf("the host's transaction is broken: %v", err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receipt(ctx, "run", "1"); !errors.Is(err, engine.ErrSignalNotFound) {
		t.Errorf("the good request of a refused call was kept: %v", err)
	}
}

func TestTxKnowsItsRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	ctx := r.ctx()
	r.start(greet, "run", nil)
	tx, err := r.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	got, err := r.StartTx(ctx, tx, engine.StartRequest{Workflow: "greet", RunID: "new"}, engine.StartRequest{Workflow: "greet", RunID: "run"})
	if err != nil || got[0].Receipt.Verdict != engine.VerdictAccepted || got[1].Receipt.Verdict != engine.VerdictDuplicate {
		t.Errorf("receipts %+v, %v", got, err)
	}
	_, err = r.StartTx(ctx, tx, engine.StartRequest{Workflow: "greet", RunID: "other"}, engine.StartRequest{Workflow: "nope", RunID: "run"})
	var conflict *engine.RunConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("an unknown workflow for a known run: %v", err)
	}
	_, err = r.StartTx(ctx, tx, engine.StartRequest{Workflow: "nope", RunID: "fresh"})
	if !errors.Is(err, engine.ErrWorkflowNotFound) {
		t.Errorf("an unknown workflow: %v", err)
	}
}
