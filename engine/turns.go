package engine

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// turns are those of one transaction, and what is left to do after it.
type turns struct {
	d      *dispatcher
	batch  *batch
	again  bool // runs were left out that this process can take at once
	blocks []lateBlock
}

// lateBlock is a run to be blocked in a transaction of its own.
type lateBlock struct {
	key     history.RunKey
	nextSeq int64
	block
}

// decide takes the turn of one run.
func (t *turns) decide(
	run history.Run, st *history.State, now time.Time, rejected map[spec.HookID]history.Rejection,
) (history.Outcome, db.Fate) {
	code, known := t.d.registry.get(Code{Workflow: run.Workflow, Version: run.Version})
	if !known {
		return history.Outcome{}, db.Drop
	}
	began := t.d.clock()
	r := t.batch.turn(turnRequest{code: code, state: st, run: run, now: now, rejected: rejected})
	if !r.dropped || r.block != nil {
		t.d.figures.turns.Observe(t.d.clock().Sub(began))
	}
	switch {
	case r.block != nil:
		t.blocks = append(t.blocks, lateBlock{key: run.Key, nextSeq: run.NextSeq, block: *r.block})
		return r.outcome, db.Drop
	case r.dropped: // it was not called
		t.again = true
		return r.outcome, db.Leave
	}
	t.d.remark(run, r.outcome)
	return r.outcome, db.Commit
}

// block records the runs whose calls were abandoned.
func (t *turns) block(ctx context.Context) error {
	for _, b := range t.blocks {
		if err := t.d.store.Block(ctx, b.key, b.nextSeq, b.cause, b.diagnosis); err != nil {
			return err
		}
	}
	return nil
}
