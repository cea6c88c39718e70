package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// AcceptTx judges messages in the host's own transaction: what they change becomes true with the host's commit and is
// void with its rollback, and so are the answers, one per message in their order. The run rows stay locked until then.
//
// It works under a savepoint, waits at most Config.LockTimeout for each lock, and leaves the transaction's settings as
// they were. Runs are locked in key order whatever the order of the messages, so that two calls cannot deadlock; two
// calls in one transaction can, hence all messages of a transaction go in one call. After the commit Nudge saves the
// wait for the next poll.
//
// An error voids the whole call and nothing but it: the transaction goes on from before. Errors: *AuthorityMissingError
// when a run's spec is not loaded, those of Accept, and ctx's end, which closes the host's connection as the driver does
// for any statement.
func (s *Store) AcceptTx(ctx context.Context, tx pgx.Tx, messages []history.Message) ([]Answer, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	if err := control(ctx, tx, "savepoint "+savepoint); err != nil {
		s.figures.failed(err)
		return nil, translate(err)
	}
	answers, err := s.acceptIn(ctx, tx, messages)
	if err == nil {
		return answers, nil
	}
	s.figures.failed(err)
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	failed := control(undo, tx, "rollback to savepoint "+savepoint)
	if failed == nil {
		failed = control(undo, tx, "release savepoint "+savepoint)
	}
	if failed != nil {
		return nil, unavailable(errors.Join(err, failed))
	}
	return nil, translate(err)
}

// savepoint is what an error goes back to. One of this name that the host has is hidden until this one is released.
const savepoint = "flowgate_accept"

// control sends a statement about the transaction itself, without preparing it, which a failed transaction refuses.
func control(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return sent(err, tx, false)
}

func (s *Store) acceptIn(ctx context.Context, tx pgx.Tx, messages []history.Message) ([]Answer, error) {
	p := &pipeline{}
	host := queueRows[sqlc.HostSettingsRow](p, sqlc.HostSettings, nil)
	p.exec(sqlc.SetHostSettings, sqlc.SetHostSettingsParams{
		LockTimeout: milliseconds(s.cfg.LockTimeout), HashJoin: "off", MergeJoin: "off", SeqScan: "off", Jit: "off",
		PlanCacheMode: "force_generic_plan", Due: "kept",
	})
	r, err := s.judge(ctx, tx, p, messages, waitForLock)
	if err != nil {
		return nil, err
	}
	for _, a := range r.answers {
		if missing, ok := errors.AsType[*AuthorityMissingError](a.Err); ok {
			return nil, missing
		}
	}
	p = &pipeline{}
	if _, err := r.write(p); err != nil {
		return nil, err
	}
	s.auditRuling(p, r, messages, func(int) *Trail { return trailOf(ctx) })
	p.exec(sqlc.SetHostSettings, sqlc.SetHostSettingsParams((*host)[0]))
	p.exec("release savepoint "+savepoint, nil)
	return r.answers, p.send(ctx, tx)
}

// Nudge tells this and the other processes to look for due runs now. It is for after the commit of a host's transaction
// that held AcceptTx; without it they look at their next poll.
func (s *Store) Nudge() {
	s.floors.resetAll() // the transaction may have been a long one
	s.cfg.Ready(RunRef{})
	s.notify.ready()
}
