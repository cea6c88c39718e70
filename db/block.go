package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// Block stops a run whose code could not be called or did not return, in a transaction of its own. nextSeq is that of the
// record the decision was based on: a run that moved on since, or ended, is left as it is and nil is returned. Repeating
// it moves the back-off. Errors: history.ErrRunNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) Block(ctx context.Context, run history.RunKey, nextSeq int64, cause history.BlockCause, diagnosis string) error {
	blocked := false
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		rows := queueRows[sqlc.Run](p, sqlc.LockRunsWaiting, sqlc.LockRunsWaitingParams{
			Namespaces: []string{string(run.Namespace)}, RunIds: []string{string(run.RunID)},
		})
		clock := queueValues[time.Time](p, sqlc.Clock, nil)
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		if len(*rows) == 0 {
			return history.ErrRunNotFound
		}
		row := (*rows)[0]
		record, err := runRecord(row)
		if err != nil || record.NextSeq != nextSeq || record.Status.Ended() {
			return err
		}
		s.states.drop(row.ID)
		now := later((*clock)[0].UTC(), record.UpdatedAt)
		blocked = true
		return writeBlocked(ctx, conn, storedRun{ID: row.ID, Run: record},
			history.BlockedOutcome(record, cause, diagnosis, now, s.cfg.Limits))
	})
	if blocked && err == nil {
		s.figures.turns.Add(turnBlocked)
	}
	return translate(err)
}

func writeBlocked(ctx context.Context, conn *pgx.Conn, before storedRun, out history.Outcome) error {
	var (
		events sqlc.AppendEventsParams
		runs   runChanges
	)
	if err := addEvents(&events, before.ID, out.Events); err != nil {
		return err
	}
	runs.add(before.ID, scheduleOf(before.Run), out.Run)
	p := &pipeline{}
	if len(events.Runs) > 0 {
		p.exec(sqlc.AppendEvents, events)
	}
	runs.queue(p)
	p.commit()
	return p.send(ctx, conn)
}

// WakeBlocked makes the blocked runs of these codes due now, whatever their back-off: for a process that brings code that
// may be mended. It waits for runs that are locked, one after the other, and all in all about Config.LockTimeout; those
// that somebody holds for longer, and what is left then, keep their back-off. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) WakeBlocked(ctx context.Context, codes []Code) error {
	if len(codes) == 0 {
		return nil
	}
	workflows, versions := codeArrays(codes)
	page := sqlc.WakeBlockedParams{Workflows: workflows, Versions: versions, Page: wakePage}
	for {
		var woken *[]int64
		var left *[]sqlc.StillBlockedRow
		err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
			p := &pipeline{}
			p.begin(s.cfg.LockTimeout)
			woken = queueValues[int64](p, sqlc.WakeBlocked, page)
			left = queueRows[sqlc.StillBlockedRow](p, sqlc.StillBlocked, sqlc.StillBlockedParams(page))
			p.commit()
			return p.send(ctx, conn)
		})
		switch {
		case err != nil:
			return translate(err)
		case len(*woken) < wakePage:
			return s.wakeLocked(ctx, *left)
		case ctx.Err() != nil:
			return unavailable(ctx.Err())
		}
	}
}

// wakeLocked makes those due that were locked: by a message, or by a turn of a process with the old code. It takes about
// the lock timeout for all of them, because turns wait meanwhile; the rest has its back-off.
func (s *Store) wakeLocked(ctx context.Context, runs []sqlc.StillBlockedRow) error {
	until := time.Now().Add(s.cfg.LockTimeout)
	for _, run := range runs {
		err := s.changeRun(ctx, sqlc.LockRunParams(run), sqlc.WakeBlockedRun, sqlc.WakeBlockedRunParams(run))
		if err != nil && !lockTimedOut(err) {
			return err
		}
		if ctx.Err() != nil {
			return unavailable(ctx.Err())
		}
		if time.Now().After(until) {
			return nil
		}
	}
	return nil
}

// wakePage bounds the runs that WakeBlocked changes in one transaction.
const wakePage = 1000

// postpone lets a due run rest. It writes no event.
func (s *Store) postpone(ctx context.Context, run history.RunKey, delay time.Duration) error {
	row := sqlc.LockRunParams{Namespace: string(run.Namespace), RunID: string(run.RunID)}
	return s.changeRun(ctx, row, sqlc.PostponeRun, sqlc.PostponeRunParams{
		Namespace: row.Namespace, RunID: row.RunID, Delay: delay.Seconds(),
	})
}

// changeRun runs one statement about one run, once it has the run's lock.
func (s *Store) changeRun(ctx context.Context, run sqlc.LockRunParams, sql string, params any) error {
	return s.change(ctx, func(p *pipeline) {
		p.exec(sqlc.LockRun, run)
		p.exec(sql, params)
	})
}

// change runs statements without answers in a transaction of their own.
func (s *Store) change(ctx context.Context, fill func(*pipeline)) error {
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		fill(p)
		p.commit()
		return p.send(ctx, conn)
	})
	return translate(err)
}
