package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// foresight is how far ahead nothing of a run may end by time, for its turn to be decided before its row is locked: until
	// then the outcome is the same at whatever moment it is stored. A commit that comes later is refused.
	foresight = 10 * time.Second
	// promptly is how soon the outcome of a turn has to be stored that opens something which ends by time: the time that is
	// left begins when the run became due, not when its row is locked.
	promptly = 250 * time.Millisecond
)

// Handed says what AdvanceHanded did. It holds nothing that was not committed.
type Handed struct {
	Taken     int        // runs that were waiting
	Committed int        // of those, runs whose outcome is stored
	More      bool       // others wait
	Left      bool       // runs are due that only a claim moves on: call Advance
	NextDue   *time.Time // when a run that was advanced is due next; nil when none is
}

// AdvanceHanded advances runs that commits of this process made due, without claiming them: it decides the turns on what
// those commits left, and stores the outcomes of the runs that nobody changed or locked since. The others stay due and are
// Advance's. Every message that a turn sees is committed before, and a turn is stored only on the events it was decided on.
// Errors: ErrUnavailable and *DatabaseError; the runs whose outcomes are not known to be stored are Advance's then. What
// one of the runs may have brought in is no error: Advance finds out which.
func (s *Store) AdvanceHanded(ctx context.Context, a Advance) (Handed, error) {
	now := s.cfg.Clock()
	taken := s.handed.take(max(a.Limit, 1), func(key history.RunKey) bool { return s.turning.try(key, now) })
	done := Handed{Taken: len(taken), More: len(taken) > 0 && !s.handed.empty()}
	if len(taken) == 0 {
		return done, nil
	}
	h := &handedTurns{claim: claim{store: s, Advance: a}, until: make(map[*claimedRun]time.Time, len(taken))}
	for _, t := range taken {
		h.turning = append(h.turning, t.Run.Key)
	}
	defer h.over()
	err := h.advance(ctx, taken)
	done.Committed, done.NextDue, done.Left = h.committed, h.nextDue, h.left || h.committed < len(taken)
	if worthAlone(err) { // a claim finds out which run brought it in
		err = nil
	}
	return done, translate(err)
}

// UnderWay says that this process is taking a turn of the run, or is about to. What comes of it is told by Config.Ended soon
// after; it is a hint and no promise.
func (s *Store) UnderWay(run history.RunKey) bool { return s.turning.underWay(run) }

// handedTurns are the turns of runs that are not locked yet. A run that cannot be advanced so is dropped, and nothing else
// is done about it: it is due, and the claim that finds it has the last word.
type handedTurns struct {
	claim
	until     map[*claimedRun]time.Time // the outcome is worth nothing after this
	committed int
	left      bool // what was committed is due again
}

func (h *handedTurns) advance(ctx context.Context, taken []*handedRun) error {
	var cold []*claimedRun
	for _, t := range taken {
		r := &claimedRun{storedRun: t.storedRun, now: t.Run.UpdatedAt, dueSince: t.came}
		h.runs = append(h.runs, r)
		h.until[r] = r.now.Add(foresight)
		r.state, r.size = h.store.states.take(r.ID, r.Run)
		if !r.followHanded(t) {
			r.state, r.size = nil, 0
			cold = append(cold, r)
		}
	}
	if err := h.read(ctx, cold); err != nil {
		h.drop(h.runs)
		return err
	}
	for _, r := range h.runs {
		h.foresee(r)
	}
	return h.commit(ctx)
}

// followHanded brings a state of the cache, or that of a run that was just started, up to date with the events that were
// handed over. False: others are missing.
func (r *claimedRun) followHanded(t *handedRun) bool {
	if r.state == nil {
		if t.Run.Generation > 1 || t.events[0].Seq != t.Run.FirstSeq {
			return false
		}
		var err error
		r.state, err = history.Fold(t.Run.Key, nil, t.events)
		r.size = t.size
		return err == nil && r.inStep()
	}
	if t.events[0].Seq > r.state.NextSeq() {
		return false
	}
	for _, e := range t.events {
		if e.Seq < r.state.NextSeq() {
			continue
		}
		if r.state.Apply(e) != nil {
			return false
		}
	}
	r.size += t.size
	return r.inStep()
}

// read folds the states of runs from their events, in a transaction that only reads: what a run's record counts is
// committed and never changes.
func (h *handedTurns) read(ctx context.Context, cold []*claimedRun) error {
	if len(cold) == 0 {
		return nil
	}
	c := &claim{store: h.store, runs: cold}
	c.leave()
	return h.store.transact(ctx, transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		c.conn = conn
		p := &pipeline{}
		p.snapshot()
		p.settings(h.store.cfg.LockTimeout)
		return c.foldCold(ctx, p, c.runs)
	})
}

// foresee decides the turn of a run of which nothing ends by time before the outcome is stored.
func (h *handedTurns) foresee(r *claimedRun) {
	switch {
	case r.dropped:
	case r.state == nil:
		r.dropped = true
	case r.state.EndsBy(h.until[r]):
		r.dropped = true
		h.store.states.put(r.ID, r.state, r.size)
	default:
		h.decide(r)
		if !r.dropped && r.outcome.OpensDeadline() {
			h.until[r] = r.now.Add(promptly)
		}
	}
}
