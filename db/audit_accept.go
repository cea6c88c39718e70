package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

// auditRuling queues what a ruling accepted for the audit trail, if one is kept: one statement. trails has one entry for
// each message.
func (s *Store) auditRuling(p *pipeline, r *ruling, messages []history.Message, trails func(i int) *Trail) {
	if !s.cfg.Audit {
		return
	}
	changed := make(map[history.RunKey]*record, len(r.changed))
	for _, rec := range r.changed {
		changed[rec.Run.Key] = rec
	}
	var rows auditRows
	for i, m := range messages {
		rec, a := changed[m.Target()], r.answers[i]
		if rec == nil || a.Err != nil || a.Receipt.Verdict != history.Accepted || r.skipped[m.Target()] {
			continue
		}
		if _, retry := m.(*history.RetryRun); retry && rec.Run.Status != history.Blocked {
			continue // it changed nothing
		}
		rows.accepted(rec.id, m, a.Receipt, trails(i))
	}
	rows.queue(p)
}

// auditForeseen queues what was foreseen for the audit trail, if one is kept. What turns out to be left out of the
// transaction is left out of the trail by the same statement.
func (s *Store) auditForeseen(p *pipeline, all []*foreseen) {
	if !s.cfg.Audit {
		return
	}
	rows := auditRows{}
	rows.params.Foreseen = true
	for _, f := range all {
		trails := trailsOf(f.calls)
		for i, c := range f.calls {
			if a := f.answers[i]; a.Err == nil && a.Receipt.Verdict == history.Accepted {
				rows.accepted(f.known.ID, c.message, a.Receipt, trails(i))
			}
		}
	}
	rows.queue(p)
}

// trailsOf are the trails of calls.
func trailsOf(calls []*call) func(int) *Trail {
	return func(i int) *Trail {
		if calls[i].trail == nil {
			return noTrail
		}
		return calls[i].trail
	}
}

// changeAudited is changeRows of what is for the audit trail, if one is kept: the entry is written in the same transaction
// if a row was changed.
func changeAudited[R any](
	ctx context.Context, s *Store, sql string, params any, read pgx.RowToFunc[R], entry func([]R) AuditEntry,
) ([]R, error) {
	if !s.cfg.Audit {
		return changeRows(ctx, s, sql, params, read)
	}
	var rows *[]R
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		rows = queue(p, sql, params, read)
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		p = &pipeline{}
		if len(*rows) > 0 {
			s.auditDeed(ctx, p, entry(*rows))
		}
		p.commit()
		return p.send(ctx, conn)
	})
	if err != nil {
		return nil, translate(err)
	}
	return *rows, nil
}

// auditDeed queues an entry about what was done by whoever ctx is of.
func (s *Store) auditDeed(ctx context.Context, p *pipeline, e AuditEntry) {
	if !s.cfg.Audit {
		return
	}
	e.Trail, e.Verdict = TrailOf(ctx), history.Accepted
	var rows auditRows
	rows.add(e)
	rows.queue(p)
}

// Audit writes an entry about something that was done beside the messages, if a trail is kept, at the time now, with the
// trail of ctx. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) Audit(ctx context.Context, e AuditEntry) error {
	if !s.cfg.Audit {
		return nil
	}
	return s.change(ctx, func(p *pipeline) { s.auditDeed(ctx, p, e) })
}
