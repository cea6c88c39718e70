package db

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// foresight is how far ahead nothing of a run may end by time, for its turn to be decided before its row is locked: until
// then the outcome is the same at whatever moment it is stored. A commit that comes later is refused.
const foresight = 10 * time.Second

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
	h := &handedTurns{claim: claim{store: s, Advance: a}}
	for _, t := range taken {
		h.turning = append(h.turning, t.Run.Key)
	}
	defer h.over()
	err := h.advance(ctx, taken)
	for _, r := range h.runs {
		if r.dropped {
			done.Left = true
			continue
		}
		done.Committed++
		s.publishTurn(r)
		if wake := r.outcome.Run.WakeAt; wake != nil && !wake.After(r.now) {
			done.Left = true
		} else {
			done.NextDue = earlier(done.NextDue, wake)
		}
	}
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
	until time.Time // the outcomes are worth nothing after this
}

func (h *handedTurns) advance(ctx context.Context, taken []*handedRun) error {
	var cold []*claimedRun
	for _, t := range taken {
		r := &claimedRun{storedRun: t.storedRun, now: t.Run.UpdatedAt}
		h.runs = append(h.runs, r)
		if h.until.Before(r.now.Add(foresight)) {
			h.until = r.now.Add(foresight)
		}
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
	case r.state.EndsBy(h.until):
		r.dropped = true
		h.store.states.put(r.ID, r.state, r.size)
	default:
		h.decide(r)
	}
}

// commit stores the outcomes: those that change nothing but the run, its events and its signals in one round trip.
func (h *handedTurns) commit(ctx context.Context) error {
	var plain, other []*claimedRun
	for _, r := range h.runs {
		switch {
		case r.dropped:
		case r.outcome.Blocked || len(r.outcome.NewHooks)+len(r.outcome.ClosedHooks) > 0:
			other = append(other, r)
		default:
			plain = append(plain, r)
		}
	}
	if err := h.storePlain(ctx, plain); err != nil {
		h.drop(other)
		return err
	}
	return h.storeOther(ctx, other)
}

func (h *handedTurns) drop(runs []*claimedRun) {
	for _, r := range runs {
		r.dropped = true
	}
}

// storePlain writes outcomes by the one statement that locks, compares and writes.
func (h *handedTurns) storePlain(ctx context.Context, runs []*claimedRun) error {
	if len(runs) == 0 {
		return nil
	}
	params := sqlc.AdvanceKnownParams{ValidUntil: h.until}
	for i, r := range runs {
		addKnown(&params, int32(i+1), r)
	}
	var held *[]int32
	err := h.store.transact(ctx, transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(h.store.cfg.LockTimeout)
		held = queueValues[int32](p, sqlc.AdvanceKnown, params)
		p.commit()
		return p.send(ctx, conn)
	})
	kept := make([]bool, len(runs))
	if err == nil {
		for _, place := range *held {
			kept[place-1] = true
		}
	}
	for i, r := range runs {
		if r.dropped = !kept[i]; r.dropped {
			h.store.vain.add(r.ID, h.store.cfg.Clock())
		}
	}
	return err
}

// addKnown adds the outcome of the run at a place of the batch.
func addKnown(p *sqlc.AdvanceKnownParams, place int32, r *claimedRun) {
	out := r.outcome.Run
	p.Ids = append(p.Ids, r.ID)
	p.KnownSeqs = append(p.KnownSeqs, r.Run.NextSeq)
	p.KnownWakes = append(p.KnownWakes, *r.Run.WakeAt)
	p.Statuses = append(p.Statuses, string(out.Status))
	p.Generations = append(p.Generations, int32(out.Generation))
	p.FirstSeqs = append(p.FirstSeqs, out.FirstSeq)
	p.NextSeqs = append(p.NextSeqs, out.NextSeq)
	p.Backlogs = append(p.Backlogs, int32(out.Backlog))
	p.WakeAts = append(p.WakeAts, orZero(out.WakeAt))
	p.UpdatedAts = append(p.UpdatedAts, out.UpdatedAt)
	p.ClosedAts = append(p.ClosedAts, orZero(out.ClosedAt))
	for i, seq := range r.events.Seqs {
		p.EventPlaces = append(p.EventPlaces, place)
		p.EventSeqs = append(p.EventSeqs, seq)
		p.EventGenerations = append(p.EventGenerations, r.events.Generations[i])
		p.EventTypes = append(p.EventTypes, r.events.Types[i])
		p.EventAts = append(p.EventAts, r.events.Ats[i])
		p.EventDatas = append(p.EventDatas, r.events.Datas[i])
		p.EventPayloads = append(p.EventPayloads, r.events.Payloads[i])
		r.size += eventSize + int64(len(r.events.Datas[i])+len(r.events.Payloads[i]))
	}
	for _, consumed := range r.outcome.Consumed {
		p.ConsumedPlaces = append(p.ConsumedPlaces, place)
		p.ConsumedSignals = append(p.ConsumedSignals, string(consumed.Signal))
		p.ConsumedWaits = append(p.ConsumedWaits, string(consumed.By.WaitID))
		p.ConsumedGenerations = append(p.ConsumedGenerations, int32(consumed.By.Generation))
	}
}

// storeOther writes outcomes as a claim does, after locking the runs that are still as known.
func (h *handedTurns) storeOther(ctx context.Context, runs []*claimedRun) error {
	if len(runs) == 0 {
		return nil
	}
	params := sqlc.LockKnownParams{ValidUntil: h.until}
	for _, r := range runs {
		params.Ids = append(params.Ids, r.ID)
		params.KnownSeqs = append(params.KnownSeqs, r.Run.NextSeq)
		params.KnownWakes = append(params.KnownWakes, *r.Run.WakeAt)
	}
	c := &claim{store: h.store, Advance: h.Advance, runs: slices.Clone(runs)} // it lets go of some
	err := h.store.transact(ctx, transactionTime+h.store.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		c.conn = conn
		p := &pipeline{}
		p.begin(h.store.cfg.LockTimeout)
		held := queueValues[int64](p, sqlc.LockKnown, params)
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		c.keep(*held)
		if err := c.placeHooks(ctx); err != nil {
			return err
		}
		return c.write(ctx)
	})
	if err != nil {
		h.drop(runs)
	}
	return err
}

// keep drops the runs that are not among the locked ones.
func (c *claim) keep(locked []int64) {
	held := make(map[int64]bool, len(locked))
	for _, id := range locked {
		held[id] = true
	}
	for _, r := range c.runs {
		if !r.dropped && !held[r.ID] {
			r.dropped = true
			c.store.vain.add(r.ID, c.store.cfg.Clock())
		}
	}
}
