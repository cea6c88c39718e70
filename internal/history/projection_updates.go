package history

import (
	"cmp"
	"maps"
	"slices"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// readUpdate reads what an event says of the record of an update. It knows no rule.
func (p *Projection) readUpdate(e Event, digest canon.Digest) {
	switch d := e.Data.(type) {
	case *UpdateReceived:
		p.updates[d.UpdateID] = Update{
			ID: d.UpdateID, Name: d.Name, Digest: digest, Seq: e.Seq, ReceivedAt: e.At, Source: d.Source, Actor: d.Actor,
			State: UpdateIsOpen,
		}
	case *UpdateCompleted:
		p.readAnswer(e, d.UpdateID, UpdateIsCompleted)
	case *UpdateRejected:
		p.readAnswer(e, d.UpdateID, UpdateIsRejected)
	case *UpdateOrphaned:
		p.readAnswer(e, d.UpdateID, UpdateIsOrphaned)
	}
}

func (p *Projection) readAnswer(e Event, id spec.UpdateID, state UpdateState) {
	u, at := p.updates[id], e.At
	u.State, u.ResolvedAt, u.ResolvedSeq = state, &at, e.Seq
	p.updates[id] = u
}

// CompareUpdate compares one row of updates. Each is given once, in any order.
func (p *Projection) CompareUpdate(row Update) {
	if p.broken {
		return
	}
	c := comparison{p, RowUpdate, string(row.ID)}
	want, ok := p.updates[row.ID]
	if !ok {
		c.says("", "no event made this row")
		return
	}
	delete(p.updates, row.ID)
	c.text("name", want.Name, row.Name)
	c.hidden("digest", want.Digest == row.Digest)
	c.number("seq", want.Seq, row.Seq)
	c.time("received_at", &want.ReceivedAt, &row.ReceivedAt)
	c.text("source", want.Source, row.Source)
	c.text("actor", want.Actor, row.Actor)
	c.text("state", string(want.State), string(row.State))
	c.time("resolved_at", want.ResolvedAt, row.ResolvedAt)
	c.number("resolved_seq", want.ResolvedSeq, row.ResolvedSeq)
}

func (p *Projection) missUpdates() {
	missing := slices.SortedFunc(maps.Values(p.updates), func(a, b Update) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, u := range missing {
		comparison{p, RowUpdate, string(u.ID)}.says("", "the row is missing")
	}
}
