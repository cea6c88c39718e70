package db

import (
	"context"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// write stores the outcomes and commits, in one round trip. Statements without rows are left out; with no outcome at all
// the transaction is rolled back by whoever opened it.
func (c *claim) write(ctx context.Context) error {
	var (
		events  sqlc.AppendEventsParams
		signals sqlc.ConsumeSignalsParams
		hooks   sqlc.SettleHooksParams
		tasks   taskChanges
		updates updateChanges
		runs    runChanges
	)
	for _, r := range c.runs {
		if r.dropped {
			continue
		}
		r.size += appendEvents(&events, r.events)
		for _, consumed := range r.outcome.Consumed {
			addConsumed(&signals, r.ID, consumed)
		}
		for _, h := range r.outcome.ClosedHooks {
			addSettled(&hooks, r.ID, h)
		}
		tasks.advanced(c.store, r)
		updates.advanced(r.ID, r.outcome)
		runs.add(r.ID, scheduleOf(r.Run), r.outcome.Run)
	}
	if runs.none() {
		return nil
	}
	p := &pipeline{}
	if len(events.Runs) > 0 {
		p.exec(sqlc.AppendEvents, events)
	}
	if len(signals.Runs) > 0 {
		p.exec(sqlc.ConsumeSignals, signals)
	}
	if len(hooks.Runs) > 0 {
		p.exec(sqlc.SettleHooks, hooks)
	}
	tasks.queue(p)
	updates.queue(p)
	runs.queue(p)
	p.commit()
	return p.send(ctx, c.conn)
}

// appendEvents adds the events of one run to those of all, and returns their size.
func appendEvents(all *sqlc.AppendEventsParams, one sqlc.AppendEventsParams) (size int64) {
	all.Runs = append(all.Runs, one.Runs...)
	all.Seqs = append(all.Seqs, one.Seqs...)
	all.Generations = append(all.Generations, one.Generations...)
	all.Types = append(all.Types, one.Types...)
	all.Ats = append(all.Ats, one.Ats...)
	all.Datas = append(all.Datas, one.Datas...)
	all.Payloads = append(all.Payloads, one.Payloads...)
	for i := range one.Runs {
		size += eventSize + int64(len(one.Datas[i])+len(one.Payloads[i]))
	}
	return size
}

func addConsumed(p *sqlc.ConsumeSignalsParams, run int64, consumed history.Consumed) {
	p.Runs = append(p.Runs, run)
	p.SignalIds = append(p.SignalIds, string(consumed.Signal))
	p.WaitIds = append(p.WaitIds, string(consumed.By.WaitID))
	p.Generations = append(p.Generations, int32(consumed.By.Generation))
}
