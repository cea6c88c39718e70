package db

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// commit stores the outcomes: those that need no other statement than the one for all in one round trip.
func (h *handedTurns) commit(ctx context.Context) error {
	var plain, other []*claimedRun
	for _, r := range h.runs {
		switch {
		case r.dropped:
		case r.outcome.Blocked || !writesOnly(r.outcome):
			other = append(other, r)
		default:
			plain = append(plain, r)
		}
	}
	err := h.storePlain(ctx, plain)
	if h.publish(plain); err != nil {
		return err
	}
	err = h.storeOther(ctx, other)
	h.publish(other)
	return err
}

// writesOnly says that an outcome has no row to write but that of the run, and those of events, signals and new tasks.
func writesOnly(o history.Outcome) bool {
	return len(o.NewHooks)+len(o.ClosedHooks)+len(o.ClosedTasks)+len(o.EndedUpdates) == 0
}

// publish follows outcomes that were stored, and lets the calls go that waited for these turns.
func (h *handedTurns) publish(runs []*claimedRun) {
	for _, r := range runs {
		if r.dropped {
			continue
		}
		h.committed++
		h.store.publishTurn(r)
		if wake := r.outcome.Run.WakeAt; wake != nil && !wake.After(r.now) {
			h.left = true
		} else {
			h.nextDue = earlier(h.nextDue, wake)
		}
		h.ends(r.Run.Key)
	}
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
	var params sqlc.AdvanceKnownParams
	for i, r := range runs {
		addKnown(&params, int32(i+1), r)
		h.store.addKnownTasks(&params, int32(i+1), r)
		params.ValidUntils = append(params.ValidUntils, h.until[r])
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
		if r.dropped = !kept[i]; r.dropped && err == nil {
			h.store.vain.add(r.ID, h.store.cfg.Clock())
			h.store.letGo(runs[i:i+1], nil)
		}
	}
	if err != nil {
		h.store.letGo(runs, err)
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

// addKnownTasks adds the tasks that the outcome asks for.
func (s *Store) addKnownTasks(p *sqlc.AdvanceKnownParams, place int32, r *claimedRun) {
	var tasks taskChanges
	tasks.advanced(s, r)
	p.Lease = s.cfg.TaskLease.Seconds()
	for i := range tasks.add.Runs {
		p.TaskPlaces = append(p.TaskPlaces, place)
		p.TaskGenerations = append(p.TaskGenerations, tasks.add.Generations[i])
		p.TaskKinds = append(p.TaskKinds, tasks.add.Kinds[i])
		p.TaskIds = append(p.TaskIds, tasks.add.TaskIds[i])
		p.TaskNames = append(p.TaskNames, tasks.add.Names[i])
		p.TaskSeqs = append(p.TaskSeqs, tasks.add.Seqs[i])
		p.TaskTargets = append(p.TaskTargets, tasks.add.Targets[i])
		p.TaskPolicies = append(p.TaskPolicies, tasks.add.Policies[i])
		p.TaskCloseAts = append(p.TaskCloseAts, tasks.add.CloseAts[i])
		p.TaskWorkers = append(p.TaskWorkers, tasks.add.Workers[i])
	}
}

// storeOther writes outcomes as a claim does, after locking the runs that are still as known.
func (h *handedTurns) storeOther(ctx context.Context, runs []*claimedRun) error {
	if len(runs) == 0 {
		return nil
	}
	var params sqlc.LockKnownParams
	for _, r := range runs {
		params.Ids = append(params.Ids, r.ID)
		params.KnownSeqs = append(params.KnownSeqs, r.Run.NextSeq)
		params.KnownWakes = append(params.KnownWakes, *r.Run.WakeAt)
		params.ValidUntils = append(params.ValidUntils, h.until[r])
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
		h.store.letGo(runs, err)
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
