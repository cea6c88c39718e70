package db

import (
	"fmt"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func updateRecord(row sqlc.Update) (history.Update, error) {
	digest, err := canon.FromBytes(row.Digest)
	if err != nil {
		return history.Update{}, fmt.Errorf("update of run row %d: %w", row.Run, err)
	}
	return history.Update{
		ID: spec.UpdateID(row.UpdateID), Name: row.Name, Digest: digest, Seq: row.Seq, ReceivedAt: row.ReceivedAt.UTC(),
		Source: row.Source, Actor: row.Actor, State: history.UpdateState(row.State), ResolvedAt: utc(row.ResolvedAt),
		ResolvedSeq: orZero(row.ResolvedSeq),
	}, nil
}

// updateChanges are the rows of updates that a transaction writes, under the locks of their runs.
type updateChanges struct {
	add sqlc.InsertUpdatesParams
	end sqlc.EndUpdatesParams
}

// accepted adds what was decided about messages to a run.
func (c *updateChanges) accepted(rec *record) {
	for _, id := range rec.NewUpdates {
		u, p := rec.Updates[id], &c.add
		p.Runs = append(p.Runs, rec.id)
		p.UpdateIds = append(p.UpdateIds, string(u.ID))
		p.Names = append(p.Names, u.Name)
		p.Digests = append(p.Digests, u.Digest[:])
		p.Seqs = append(p.Seqs, u.Seq)
		p.ReceivedAts = append(p.ReceivedAts, u.ReceivedAt)
		p.Sources = append(p.Sources, u.Source)
		p.Actors = append(p.Actors, u.Actor)
		p.States = append(p.States, string(u.State))
		p.ResolvedAts = append(p.ResolvedAts, orZero(u.ResolvedAt))
		p.ResolvedSeqs = append(p.ResolvedSeqs, u.ResolvedSeq)
	}
	for _, id := range rec.EndedUpdates {
		c.ended(rec.id, rec.Updates[id])
	}
}

// advanced adds what a turn decided.
func (c *updateChanges) advanced(run int64, o history.Outcome) {
	for _, u := range o.EndedUpdates {
		c.ended(run, u)
	}
}

func (c *updateChanges) ended(run int64, u history.Update) {
	p := &c.end
	p.Runs = append(p.Runs, run)
	p.UpdateIds = append(p.UpdateIds, string(u.ID))
	p.States = append(p.States, string(u.State))
	p.ResolvedAts = append(p.ResolvedAts, orZero(u.ResolvedAt))
	p.ResolvedSeqs = append(p.ResolvedSeqs, u.ResolvedSeq)
}

func (c *updateChanges) queue(p *pipeline) {
	if len(c.add.Runs) > 0 {
		p.exec(sqlc.InsertUpdates, c.add)
	}
	if len(c.end.Runs) > 0 {
		p.exec(sqlc.EndUpdates, c.end)
	}
}

// tellUpdates says, after their commit, which updates of a run have ended.
func (s *Store) tellUpdates(run history.RunKey, ended []spec.UpdateID) {
	if len(ended) > 0 {
		s.cfg.Answered(run, ended)
		s.notify.ended()
	}
}

// endedUpdates are those that were open before the batch, or came with it.
func (rec *record) endedUpdates() []spec.UpdateID {
	ended := rec.EndedUpdates
	for _, id := range rec.NewUpdates {
		if rec.Updates[id].State != history.UpdateIsOpen {
			ended = append(ended, id)
		}
	}
	return ended
}

func updateIDs(updates []history.Update) []spec.UpdateID {
	ids := make([]spec.UpdateID, len(updates))
	for i, u := range updates {
		ids[i] = u.ID
	}
	return ids
}
