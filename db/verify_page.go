package db

import (
	"context"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// verifyTime bounds one statement of a verification. The server counts the time it waits for the reader, too.
const verifyTime = 10 * time.Minute

// verifiedPage is some runs, read in one transaction.
type verifiedPage struct {
	Verified
	last int64 // key of the last run's row
}

// read verifies the runs behind the key.
func (v *verifiedPage) read(ctx context.Context, s *Store, q VerifyQuery, after int64) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer release(ctx, conn)
	var runs []*verification
	p := s.verifying()
	sql, params := q.statement(after)
	stream(p, sql, params, func(row sqlc.Run, err error) { runs = append(runs, verificationOf(row, err)) })
	clock := queueValues[time.Time](p, sqlc.Clock, nil) // behind the first look, so that no row is of a later time
	if err := p.send(ctx, conn.Conn()); err != nil {
		return err
	}
	switch {
	case len(runs) > 0:
		v.last = runs[len(runs)-1].id
		return v.compare(ctx, conn.Conn(), runs, (*clock)[0].UTC())
	case q.Run != "":
		return history.ErrRunNotFound
	}
	return nil
}

// verifying begins a page.
func (s *Store) verifying() *pipeline {
	p := &pipeline{}
	p.snapshot()
	p.exec(sqlc.SetTimeouts, sqlc.SetTimeoutsParams{
		LockTimeout: milliseconds(s.cfg.LockTimeout), StatementTimeout: milliseconds(verifyTime),
	})
	p.exec(sqlc.KeepVerifyOrder, nil)
	return p
}

// compare reads what the runs have and compares it, one run after the other.
func (v *verifiedPage) compare(ctx context.Context, conn *pgx.Conn, runs []*verification, now time.Time) error {
	p := &pipeline{}
	queueSchedule(p, runs)
	for _, r := range runs {
		stream(p, sqlc.VerifyEvents, sqlc.VerifyEventsParams{Run: r.id}, r.event)
		stream(p, sqlc.VerifySignals, sqlc.VerifySignalsParams{Run: r.id}, r.signal)
		stream(p, sqlc.VerifyHooks, sqlc.VerifyHooksParams{Run: r.id}, r.hook)
		stream(p, sqlc.VerifyTasks, sqlc.VerifyTasksParams{Run: r.id}, r.task)
		stream(p, sqlc.VerifyUpdates, sqlc.VerifyUpdatesParams{Run: r.id}, r.update).then(func() { v.add(r, now) })
	}
	p.commit()
	return p.send(ctx, conn)
}

// add ends the comparison of one run and lets go of what it took.
func (v *verifiedPage) add(r *verification, now time.Time) {
	if r.unreadable {
		r.projection.Unreadable(history.RowRun, "", unreadableRow)
	} else {
		r.projection.CompareRun(r.run, now, corruptTime)
	}
	found, count := r.projection.Finish()
	for _, d := range found {
		v.Found = append(v.Found, Difference{Run: r.run.Key, Difference: d})
	}
	if r.schedule != nil {
		v.Found = append(v.Found, Difference{Run: r.run.Key, Difference: *r.schedule})
		count++
	}
	v.Runs++
	v.Events += r.events
	v.Differences += count
	r.projection = nil
}

// unreadableRow is said of a row that holds what no version of this program wrote.
const unreadableRow = "the row cannot be read"

// verification is the comparison of one run.
type verification struct {
	id         int64
	run        history.Run
	unreadable bool // the run's row
	events     int64
	schedule   *history.Difference // of the entry in the schedule; nil when it is right
	projection *history.Projection
}

func verificationOf(row sqlc.Run, err error) *verification {
	v := &verification{id: row.ID}
	if err == nil {
		v.run, err = runRecord(row)
	}
	v.unreadable = err != nil
	v.run.Key = history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}
	v.projection = history.NewProjection(v.run.Key)
	return v
}

func (v *verification) event(row sqlc.Event, err error) {
	v.events++
	if err != nil {
		v.projection.Undecodable(row.Seq, unreadableRow)
		return
	}
	e, err := history.Decode(int(row.Generation), row.Seq, row.At.UTC(), history.Encoded{
		Type: row.Type, Data: row.Data, Payload: row.Payload,
	})
	if err != nil {
		v.projection.Undecodable(row.Seq, err.Error())
		return
	}
	v.projection.Apply(e)
}

func (v *verification) signal(row sqlc.Signal, err error) {
	var s history.Signal
	if err == nil {
		s, err = signalRecord(row)
	}
	if err != nil {
		v.projection.Unreadable(history.RowSignal, row.SignalID, unreadableRow)
		return
	}
	v.projection.CompareSignal(s)
}

func (v *verification) hook(row sqlc.Hook, err error) {
	h := history.HookRow{Namespace: spec.Namespace(row.Namespace)}
	if err == nil {
		h.Hook, err = hookRecord(row)
	}
	if err == nil {
		h.Labels, err = labelsOf(row.Labels)
	}
	if err != nil {
		v.projection.Unreadable(history.RowHook, row.HookID, unreadableRow)
		return
	}
	v.projection.CompareHook(h)
}

func (v *verification) update(row sqlc.Update, err error) {
	var u history.Update
	if err == nil {
		u, err = updateRecord(row)
	}
	if err != nil {
		v.projection.Unreadable(history.RowUpdate, row.UpdateID, unreadableRow)
		return
	}
	v.projection.CompareUpdate(u)
}

func (v *verification) task(row sqlc.Task, err error) {
	if err != nil {
		v.projection.UnreadableTask(taskRecord(row).TaskKey, unreadableRow)
		return
	}
	v.projection.CompareTask(taskRecord(row))
}

// streamed is a queued statement whose rows are read as they come.
type streamed struct{ end func() }

// then has fn called behind the last row.
func (s *streamed) then(fn func()) { s.end = fn }

// stream queues a statement whose rows have the fields of the generated struct R. Each is given to see as it comes, so
// that a long answer is never in memory as a whole. A row that the driver cannot read is given with the columns before
// the bad one, and the error.
func stream[R any](p *pipeline, sql string, params any, see func(R, error)) *streamed {
	s := &streamed{end: func() {}}
	p.batch.Queue(sql, arguments(params)...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var r R
			err := pgx.ScanRow(rows.Conn().TypeMap(), rows.FieldDescriptions(), rows.RawValues(),
				columnsOf(reflect.ValueOf(&r).Elem())...)
			see(r, err)
		}
		if rows.Err() == nil {
			s.end()
		}
		return rows.Err()
	})
	return s
}
