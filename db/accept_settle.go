package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

// settle decides calls in one transaction and answers them after its end. What one call spoils is split and tried again
// from fresh reads, so that a spoilt call fails alone; no answer of a failed attempt is ever given. Calls whose run
// another transaction has locked go to the side lane. It returns the runs that a turn was due for already.
func (s *Store) settle(calls []*call, mode lockMode) (due []history.RunKey) {
	if len(calls) == 0 {
		return nil
	}
	r, err := s.commitOnce(calls, mode)
	switch half := len(calls) / 2; {
	case err == nil:
		s.publish(calls, r)
		return r.due
	case mode == skipLocked && lockTimedOut(err):
		return s.settle(s.divertStarts(calls), mode)
	case len(calls) > 1 && separable(err):
		due = s.settle(calls[:half], mode)
		others := calls[half:]
		if mode == skipLocked { // calls of their runs may have gone to the side lane meanwhile
			others = slices.DeleteFunc(slices.Clone(others), s.side.follow)
		}
		if len(others) == 0 {
			return due
		}
		return append(due, s.settle(others, mode)...)
	}
	for _, c := range calls {
		c.refuse(translate(err))
	}
	return nil
}

// commitOnce decides calls in a transaction. When the connection is lost it decides once more on another one: nobody
// knows then whether the first commit took effect, and the second reads what it left. What became due or ended by the
// first one is old news to the second, so everybody is told to look.
func (s *Store) commitOnce(calls []*call, mode lockMode) (*ruling, error) {
	r, err := s.commit(calls, mode)
	var lost *connectionError
	if errors.As(err, &lost) && (lost.committing || !errors.Is(err, context.DeadlineExceeded)) {
		if lost.committing {
			defer s.lookEverywhere()
		}
		return s.commit(calls, mode)
	}
	return r, err
}

// lookEverywhere has every process, this one included, look for what became due and what ended.
func (s *Store) lookEverywhere() {
	s.Nudge()
	s.notify.everybody()
}

func (s *Store) commit(calls []*call, mode lockMode) (*ruling, error) {
	messages := make([]history.Message, len(calls))
	for i, c := range calls {
		messages[i] = c.message
	}
	wait := laneLockTimeout
	if mode == waitForLock {
		wait = s.cfg.LockTimeout
	}
	var r *ruling
	err := s.transact(context.Background(), transactionTime+wait, func(ctx context.Context, conn *pgx.Conn) (err error) {
		p := &pipeline{}
		p.begin(wait)
		if r, err = s.judge(ctx, conn, p, messages, mode); err != nil {
			return err
		}
		p = &pipeline{}
		if writes, err := r.write(p); err != nil || !writes {
			return err
		}
		s.auditRuling(p, r, messages, trailsOf(calls))
		p.commit()
		return p.send(ctx, conn)
	})
	return r, err
}

// publish gives the answers of a transaction that ended and the hints that follow from it.
func (s *Store) publish(calls []*call, r *ruling) {
	s.announce(r.changed)
	var skipped []*call
	for i, c := range calls {
		if r.skipped[c.run] {
			skipped = append(skipped, c)
			continue
		}
		c.answer(r.answers[i])
	}
	for _, c := range skipped {
		s.side.open(c, false)
	}
}

func (s *Store) announce(changed []*record) {
	for _, rec := range changed {
		run := rec.Run
		s.keep(storedRun{ID: rec.id, Run: run, bare: rec.bare}, rec.now)
		for _, id := range rec.NewSignals {
			s.sent.add(run.Key, id)
		}
		s.tellDue(run.Key, rec.dueTasks(), rec.ClosedTasks)
		s.tellUpdates(run.Key, rec.endedUpdates())
		if run.Status.Ended() && len(rec.Events) > 0 { // else only a task that outlived it is done
			s.cfg.Ended(run.Key, nil)
			s.notify.ended()
		}
		if run.WakeAt != nil && !run.WakeAt.After(rec.now) {
			s.becameDue(rec)
		}
	}
}

// dueTasks are the tasks that may be begun because of what was accepted.
func (rec *record) dueTasks() []history.Task {
	due := rec.NewTasks
	for key := range rec.ChangedTasks {
		due = append(due, rec.Tasks[key])
	}
	return due
}

// keep remembers the record of a run, unless another process changes it next: one that is due, of code that nobody here
// takes.
func (s *Store) keep(r storedRun, now time.Time) {
	due := r.Run.WakeAt != nil && !r.Run.WakeAt.After(now)
	if due && !s.cfg.Takes(Code{Workflow: r.Run.Workflow, Version: r.Run.Version}) {
		s.records.drop(r.Run)
		return
	}
	s.records.put(r)
}

// becameDue hands a run over to whoever advances runs in this process. When nobody here takes it, all processes are told
// to look for due runs.
func (s *Store) becameDue(rec *record) {
	ref := RunRef{Key: rec.Run.Key, Code: Code{Workflow: rec.Run.Workflow, Version: rec.Run.Version}}
	if s.handsOver(rec, ref.Code) {
		s.turning.hand(rec.Run.Key, s.cfg.Clock()) // first: once it is in line, its turn may begin and be over
		if s.handed.add(handedRecord(rec, s.cfg.Clock())) {
			s.cfg.Handed()
			return
		}
		s.turning.unhand(rec.Run.Key)
	}
	s.cfg.Ready(ref)
	s.notify.ready()
}

// handsOver says that a turn of the run may be decided before its row is locked, by somebody in this process.
func (s *Store) handsOver(rec *record, code Code) bool {
	return len(rec.Events) > 0 && rec.Run.Status == history.Running && s.cfg.Takes(code) &&
		!s.vain.has(rec.id, s.cfg.Clock()) && !s.newer.has(rec.id)
}

// divertStarts moves starts, with all calls of their runs, to the side lane and returns the others: only inserting a run
// that another transaction is inserting can have kept the batch waiting.
func (s *Store) divertStarts(calls []*call) (others []*call) {
	started := map[history.RunKey]bool{}
	for _, c := range calls {
		switch c.message.(type) {
		case *history.StartRun, *history.StartWith:
			started[c.run] = true
		}
	}
	if len(started) == 0 {
		for _, c := range calls {
			s.side.open(c, false)
		}
		return nil
	}
	for _, c := range calls {
		if started[c.run] {
			s.side.open(c, false)
		}
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return started[c.run] })
}
