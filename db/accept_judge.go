package db

import (
	"context"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// errStartMissed says that a run was neither inserted nor found: it was deleted at that moment.
var errStartMissed = errors.New("run vanished while it was started")

// record is one run's records under its lock.
type record struct {
	history.Records
	id    int64
	now   time.Time // acceptance time: never before the run's last event
	fresh bool      // this transaction inserted the row, as it stands after a run.started alone
	due   bool      // a turn was due before this batch
	was   schedule  // as the row stands
	bare  bool      // the record lacks the labels that the run has
}

// ruling is what a transaction decided. It is worth nothing until the transaction committed.
type ruling struct {
	answers []Answer // one per message
	skipped map[history.RunKey]bool
	changed []*record // in key order
	due     []history.RunKey
}

// judge sends p with the reads behind it and decides the messages in memory, in order of arrival, each seeing the effects
// of those before it.
func (s *Store) judge(ctx context.Context, on connection, p *pipeline, messages []history.Message, mode lockMode) (*ruling, error) {
	q := s.inquire(messages)
	read, err := q.queue(p, mode)
	if err != nil {
		return nil, err
	}
	if err := p.send(ctx, on); err != nil {
		return nil, err
	}
	records, err := read.records(q.starts)
	if err != nil {
		return nil, err
	}
	r := &ruling{answers: make([]Answer, len(messages))}
	if mode == skipLocked {
		if r.skipped, err = skipped(ctx, on, q.keys, records); err != nil {
			return nil, err
		}
	}
	for i, m := range messages {
		if key := m.Target(); !r.skipped[key] {
			r.answers[i].Receipt, r.answers[i].Err = s.verdict(records[key], m, q.barring)
		}
	}
	for _, key := range q.keys {
		rec := records[key]
		if rec == nil {
			continue
		}
		if rec.Changed() {
			r.changed = append(r.changed, rec)
		}
		if rec.due {
			r.due = append(r.due, key)
		}
	}
	return r, nil
}

// skipped are the runs that exist and were not locked.
func skipped(ctx context.Context, on connection, keys []history.RunKey, records map[history.RunKey]*record) (map[history.RunKey]bool, error) {
	var missing []history.RunKey
	for _, key := range keys {
		if records[key] == nil {
			missing = append(missing, key)
		}
	}
	if missing == nil {
		return nil, nil
	}
	return findRuns(ctx, on, missing)
}

// verdict judges one message. rec is nil when the run does not exist.
func (s *Store) verdict(rec *record, m history.Message, bars map[*history.StartWith]barring) (history.Receipt, error) {
	switch m := m.(type) {
	case *history.StartWith:
		return s.startWith(rec, m, bars[m])
	case *history.StartRun:
		if rec == nil {
			return history.Receipt{}, unavailable(errStartMissed)
		}
		return rec.Accept(m, nil, s.cfg.Limits, rec.at())
	case *history.RetryRun, *history.SettleTask, *history.HoldTask, *history.ReplayTask, *history.DiscardTask: // no spec judges them
		if rec != nil && !rec.Fresh {
			return rec.Accept(m, nil, s.cfg.Limits, rec.now)
		}
	}
	if rec == nil || rec.Fresh { // it came before the message that starts the run
		return history.Receipt{}, history.ErrRunNotFound
	}
	return s.byItsSpec(rec, m)
}

// startWith judges a message that starts the run it is for. The row of a run that is fresh to it was inserted for it,
// unless it is barred: then that was for a message behind it.
func (s *Store) startWith(rec *record, m *history.StartWith, bar barring) (history.Receipt, error) {
	switch {
	case rec != nil && !rec.Fresh:
		return s.byItsSpec(rec, m)
	case bar.err != nil:
		return history.Receipt{}, bar.err
	case rec == nil:
		return history.Receipt{}, unavailable(errStartMissed)
	}
	return rec.Accept(m, bar.auth, s.cfg.Limits, rec.at())
}

func (s *Store) byItsSpec(rec *record, m history.Message) (history.Receipt, error) {
	auth, ok := s.cfg.Authority(rec.Run.SpecDigest)
	if !ok {
		return history.Receipt{}, &AuthorityMissingError{Digest: rec.Run.SpecDigest}
	}
	return rec.Accept(m, auth, s.cfg.Limits, rec.now)
}

// at is the acceptance time of a start: a row that was just inserted has it already.
func (rec *record) at() time.Time {
	if rec.Fresh {
		return rec.Run.StartedAt
	}
	return rec.now
}

// records puts the rows together, by run.
func (r *replies) records(starts []*history.StartRun) (map[history.RunKey]*record, error) {
	byKey, byID := map[history.RunKey]*record{}, map[int64]*record{}
	clock := (*r.clock)[0].UTC()
	first := map[history.RunKey]*history.StartRun{}
	for _, m := range starts {
		first[m.Run] = m
	}
	for _, row := range *r.inserted {
		run := freshRun(first[history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}], row.StartedAt.UTC())
		byID[row.ID] = newRecord(row.ID, run, clock)
		byID[row.ID].Fresh, byID[row.ID].fresh = true, true
		byID[row.ID].was = schedule{wakeAt: &run.StartedAt}
		byKey[run.Key] = byID[row.ID]
	}
	for _, row := range *r.locked {
		if byID[row.ID] != nil {
			continue // its own insert
		}
		run, err := runRecord(row)
		if err != nil {
			return nil, err
		}
		byID[row.ID] = newRecord(row.ID, run, clock)
		byID[row.ID].due = run.WakeAt != nil && !run.WakeAt.After(clock)
		byKey[run.Key] = byID[row.ID]
	}
	return byKey, r.details(byID)
}

// details adds what is known of signals and hooks. Rows of runs that were not locked are not to be relied on.
func (r *replies) details(byID map[int64]*record) error {
	for _, row := range *r.signals {
		if rec := byID[row.Run]; rec != nil {
			known, err := signalRecord(row)
			if err != nil {
				return err
			}
			rec.Signals[known.ID] = known
		}
	}
	for _, rows := range [][]sqlc.Hook{*r.hooks, *r.active} {
		for _, row := range rows {
			if rec := byID[row.Run]; rec != nil {
				known, err := hookAnswer(row)
				if err != nil {
					return err
				}
				rec.Hooks[known.ID] = known
			}
		}
	}
	for _, rows := range [][]sqlc.Task{*r.tasks, *r.open} {
		for _, row := range rows {
			if rec := byID[row.Run]; rec != nil {
				known := taskRecord(row)
				rec.Tasks[known.TaskKey] = known
			}
		}
	}
	return r.updateDetails(byID)
}

// updateDetails adds what is known of updates.
func (r *replies) updateDetails(byID map[int64]*record) error {
	for _, rows := range [][]sqlc.Update{*r.updates, *r.openUpdates} {
		for _, row := range rows {
			if rec := byID[row.Run]; rec != nil {
				known, err := updateRecord(row)
				if err != nil {
					return err
				}
				if rec.Updates == nil {
					rec.Updates = map[spec.UpdateID]history.Update{}
				}
				rec.Updates[known.ID] = known
			}
		}
	}
	for _, row := range *r.counts {
		if rec := byID[row.Run]; rec != nil {
			rec.OpenUpdates = int(row.Updates)
		}
	}
	return nil
}

func newRecord(id int64, run history.Run, clock time.Time) *record {
	now := clock
	if run.UpdatedAt.After(now) {
		now = run.UpdatedAt
	}
	return &record{id: id, now: now, was: scheduleOf(run), Records: history.Records{
		Run: run, Known: true, Signals: map[spec.SignalID]history.Signal{}, Hooks: map[spec.HookID]history.Hook{},
		Tasks: map[history.TaskKey]history.Task{},
	}}
}

// freshRun is the record of a run that has no event yet.
func freshRun(m *history.StartRun, at time.Time) history.Run {
	return history.Run{
		Key: m.Run, Workflow: m.Workflow, Version: m.Version, SpecDigest: m.SpecDigest, InputDigest: m.Input.Digest(),
		Labels: m.Labels, Parent: m.Parent, Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 1, StartedAt: at, UpdatedAt: at,
	}
}
