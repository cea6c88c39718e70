package db

import "github.com/flowgate-go/flowgate/db/internal/sqlc"

// write queues the net rows of a ruling, one statement per table. False: there is nothing to write.
func (r *ruling) write(p *pipeline) (bool, error) {
	var events sqlc.AppendEventsParams
	var signals sqlc.InsertSignalsParams
	var hooks sqlc.SettleHooksParams
	var tasks taskChanges
	var updates updateChanges
	var runs runChanges
	for _, rec := range r.changed {
		if err := addEvents(&events, rec.id, rec.Events); err != nil {
			return false, err
		}
		rec.addSignals(&signals)
		for id := range rec.ChangedHooks {
			addSettled(&hooks, rec.id, rec.Hooks[id])
		}
		tasks.accepted(rec)
		updates.accepted(rec)
		if !rec.fresh || len(rec.Events) > 1 { // else the row was inserted as it is now
			runs.add(rec.id, rec.was, rec.Run)
		}
	}
	if len(events.Runs) > 0 {
		p.exec(sqlc.AppendEvents, events)
	}
	if len(signals.Runs) > 0 {
		p.exec(sqlc.InsertSignals, signals)
	}
	if len(hooks.Runs) > 0 {
		p.exec(sqlc.SettleHooks, hooks)
	}
	tasks.queue(p)
	updates.queue(p)
	runs.queue(p)
	return len(r.changed) > 0, nil
}

func (rec *record) addSignals(p *sqlc.InsertSignalsParams) {
	for _, id := range rec.NewSignals {
		s := rec.Signals[id]
		p.Runs = append(p.Runs, rec.id)
		p.SignalIds = append(p.SignalIds, string(s.ID))
		p.Names = append(p.Names, s.Name)
		p.Digests = append(p.Digests, s.Digest[:])
		p.Seqs = append(p.Seqs, s.Seq)
		p.ReceivedAts = append(p.ReceivedAts, s.ReceivedAt)
		p.Sources = append(p.Sources, s.Source)
		p.Actors = append(p.Actors, s.Actor)
	}
}
