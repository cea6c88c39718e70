package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

// foreseen is what the calls to one run come to if the run is as this process knows it.
type foreseen struct {
	*record
	known   storedRun // without an ID: a run of which nothing is known, to be started
	calls   []*call
	answers []Answer // one per call; without the time of what is accepted now
	hook    string   // the hook that is answered
	task    *history.SettleTask
	at      time.Time // of acceptance; zero where nothing is stored
}

// settleKnown decides the calls to runs whose rows it need not read: signals, answers and outcomes for runs that this process
// knows, and starts of runs that it knows nothing of. It commits what it foresaw in one round trip. It returns the calls
// that it left: those of other messages and of other runs, and those of runs that turned out to be locked, changed, there
// already, or sent the same message before. due are the runs that a turn was due for already.
func (s *Store) settleKnown(calls []*call) (rest []*call, due []history.RunKey) {
	all, rest := s.foresee(calls)
	if len(all) == 0 {
		return calls, nil
	}
	if err := s.commitKnown(all); err != nil {
		s.giveUpKnown(all, err)
		return calls, nil
	}
	var held []*record
	for _, f := range all {
		if f.at.IsZero() {
			s.records.drop(f.known.Run)
			rest = append(rest, f.calls...)
			continue
		}
		if wake := f.known.Run.WakeAt; wake != nil && !wake.After(f.at) {
			due = append(due, f.Run.Key)
		}
		f.settle()
		held = append(held, f.record)
	}
	s.announce(held)
	for _, f := range all {
		if !f.at.IsZero() {
			f.answer()
		}
	}
	return rest, due
}

// giveUpKnown leaves the calls to be decided from fresh reads. When the connection was lost, nobody knows whether the
// commit took effect; if it did, those reads find repeated messages and say nothing of what became due.
func (s *Store) giveUpKnown(all []*foreseen, err error) {
	for _, f := range all {
		s.records.drop(f.known.Run)
	}
	if _, lost := errors.AsType[*connectionError](err); lost {
		s.lookEverywhere()
	}
}

// commitKnown commits what was foreseen and notes the time of each run, zero for one that was left out.
func (s *Store) commitKnown(all []*foreseen) error {
	var (
		starts  knownStarts
		singles knownSingles
		signals knownSignals
		answers knownAnswers
		settled knownOutcomes
	)
	for _, f := range all {
		var err error
		switch {
		case f.known.ID == 0:
			err = starts.add(f)
		case f.hook != "":
			err = answers.add(f)
		case f.task != nil:
			err = settled.add(f)
		case len(f.Events) == 1:
			err = singles.add(f)
		default:
			err = signals.add(f)
		}
		if err != nil {
			return err
		}
	}
	return s.transact(context.Background(), transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(laneLockTimeout)
		starts.queue(p) // first: nothing else of it waits for anybody
		singles.queue(p)
		signals.queue(p)
		answers.queue(p)
		settled.queue(p)
		s.auditForeseen(p, all)
		p.commit()
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		starts.note()
		singles.note()
		signals.note()
		answers.note()
		settled.note()
		return nil
	})
}

// settle puts the acceptance time where the record was decided without one.
func (f *foreseen) settle() {
	at := f.at
	f.now = at
	for i := range f.Events {
		f.Events[i].At = at
	}
	f.Run.UpdatedAt = at
	if wake := f.known.Run.WakeAt; wake == nil || at.Before(*wake) {
		f.Run.WakeAt = &at
	} else {
		f.Run.WakeAt = wake
	}
	if f.known.ID == 0 {
		f.Run.StartedAt = at
	}
	for i := range f.answers {
		if f.answers[i].Err == nil {
			f.answers[i].Receipt.ReceivedAt = at
		}
	}
}

func (f *foreseen) answer() {
	for i, c := range f.calls {
		c.answer(f.answers[i])
	}
}
