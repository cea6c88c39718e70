package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/spec"
)

// Every statement of a call in the host's transaction fails in turn, of one that is taken and of one that is refused.
// The host reads that we are the reason, and whatever it does then, nothing of the call is stored.
func TestFaultAtEveryStatementOfATxCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	var b pgfault.Breaker
	broken := brokenPool(t, r.pool, &b)
	type way struct {
		kind  pgfault.Kind
		state string
	}
	n := 0
	for _, w := range []way{{pgfault.LoseBefore, ""}, {pgfault.LoseAfter, ""}, {pgfault.Refuse, "57014"}, {pgfault.Refuse, "23514"}} {
		for clean, second := range map[engine.Verdict]spec.RunID{engine.VerdictAccepted: "run", engine.VerdictUnknown: "nobody"} {
			statements := 0
			for hit := true; hit; statements++ {
				n++
				id := spec.SignalID(fmt.Sprint("s", n))
				tx := begin(t, broken)
				f := b.At(statements+1, w.kind, w.state)
				_, err := r.SendSignalTx(r.ctx(), tx, signalTo("run", id, `"x"`), signalTo(second, id+"'", `"y"`))
				b.Clear()
				hit = f.Happened()
				want := engine.VerdictBusy
				if !hit {
					want = clean
				}
				if got := engine.VerdictOf(err); got != want {
					t.Errorf("%v %s at %q: %v, want %s", w.kind, w.state, f.SQL(), err, want)
				}
				if err != nil {
					_ = tx.Commit(r.ctx())
					if _, err := r.Receipt(r.ctx(), "run", id); !errors.Is(err, engine.ErrSignalNotFound) {
						t.Errorf("%v %s at %q: part of the call is stored: %v", w.kind, w.state, f.SQL(), err)
					}
				}
				_ = tx.Rollback(r.ctx())
			}
			if statements < 13 {
				t.Errorf("%v %s: it failed at %d statements only", w.kind, w.state, statements-1)
			}
		}
	}
}

func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// afterBatch calls fn after each batch of statements that a connection has sent.
type afterBatch func()

func (f afterBatch) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (f afterBatch) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (f afterBatch) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     { f() }
func (f afterBatch) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (f afterBatch) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// The context ends between the acceptance of a call and its refusal. The host commits all the same: what it was told
// was refused is not stored.
func TestARefusedTxCallIsUndoneAfterItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	left := 2 // the batch that judges and the one that writes
	ctx, leave := context.WithCancel(r.ctx())
	cfg := r.pool.Config()
	cfg.ConnConfig.Tracer = afterBatch(func() {
		if left--; left == 0 {
			leave()
		}
	})
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	tx := begin(t, pool)
	_, err = r.SendSignalTx(ctx, tx, signalTo("run", "s", `"x"`), signalTo("nobody", "s", `"y"`))
	var refused *engine.TxError
	if !errors.As(err, &refused) || refused.Index != 1 || ctx.Err() == nil {
		t.Errorf("%v, context %v", err, ctx.Err())
	}
	if err := tx.Commit(r.ctx()); err != nil {
		t.Errorf("the host cannot go on: %v", err)
	}
	if _, err := r.Receipt(r.ctx(), "run", "s"); !errors.Is(err, engine.ErrSignalNotFound) {
		t.Errorf("part of a refused call is stored: %v", err)
	}
}
