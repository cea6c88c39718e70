package history

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// HookRow is a hook's record with the columns that repeat something so that an index has it.
type HookRow struct {
	Hook
	Namespace spec.Namespace // of the run
	Labels    spec.Labels    // of the metadata
}

// CompareRun compares the run's row, which is of the same instant as the events. now is a time of the database's clock
// that is not before that instant. rest is how long a run may sleep although a turn of it is due: after a turn that could
// not be stored.
func (p *Projection) CompareRun(row Run, now time.Time, rest time.Duration) {
	if p.run.NextSeq == 0 {
		p.breakOnce()
	}
	if p.broken {
		return
	}
	want, c := p.run, comparison{p, RowRun, ""}
	c.text("workflow", want.Workflow, row.Workflow)
	c.text("version", want.Version, row.Version)
	c.hidden("spec_digest", want.SpecDigest == row.SpecDigest)
	c.hidden("input_digest", want.InputDigest == row.InputDigest)
	c.hidden("labels", maps.Equal(want.Labels, row.Labels))
	c.text("status", string(want.Status), string(row.Status))
	c.number("generation", int64(want.Generation), int64(row.Generation))
	c.number("first_seq", want.FirstSeq, row.FirstSeq)
	c.number("next_seq", want.NextSeq, row.NextSeq)
	c.number("backlog", int64(want.Backlog), int64(row.Backlog))
	c.time("cancel_requested_at", want.CancelRequestedAt, row.CancelRequestedAt)
	c.number("cancel_seq", want.CancelSeq, row.CancelSeq)
	c.text("block_cause", string(want.BlockCause), string(row.BlockCause))
	c.time("started_at", &want.StartedAt, &row.StartedAt)
	c.time("updated_at", &want.UpdatedAt, &row.UpdatedAt)
	c.time("closed_at", want.ClosedAt, row.ClosedAt)
	c.hidden("parent", want.Parent.equal(row.Parent))
	p.compareWake(c, row.WakeAt, later(now, want.UpdatedAt), rest)
}

func (p *Projection) breakOnce() {
	if !p.broken {
		p.breakOff(1, "is missing: the run has no event")
	}
}

// compareWake compares the schedule with what is open. While something is to be done the run must be about to be claimed,
// by which time does not matter: a turn that was cut, a message and a deadline each set another one. A run with nothing to
// do sleeps until exactly the next deadline. A blocked run is tried again some time.
func (p *Projection) compareWake(c comparison, wake *time.Time, now time.Time, rest time.Duration) {
	next := p.nextDeadline()
	switch {
	case p.run.Status.Ended():
		c.time("wake_at", nil, wake)
	case p.run.Status == Blocked:
		if wake == nil {
			c.says("wake_at", "is missing: a blocked run is tried again")
		}
	case !p.hasWork() && (next == nil || next.After(now)):
		c.time("wake_at", next, wake)
	case wake == nil:
		c.says("wake_at", "is missing: a turn is due")
	case wake.After(now.Add(rest)):
		c.says("wake_at", "is far ahead: a turn is due")
	}
}

// nextDeadline is the earliest deadline of anything open. It looks for itself, because the schedule comes from the state's
// own answer.
func (p *Projection) nextDeadline() *time.Time {
	var next *time.Time
	look := func(deadline *time.Time) {
		if deadline != nil && (next == nil || deadline.Before(*next)) {
			next = deadline
		}
	}
	for _, w := range p.state.queue {
		look(w.deadline)
	}
	for _, t := range p.state.ticking {
		look(&t.due)
	}
	for _, h := range p.state.active {
		look(h.record.ExpiresAt)
	}
	for _, t := range p.state.working {
		look(t.closeAt)
	}
	return next
}

// hasWork says that a turn of a running run would do something whatever the time: call workflow code for the first time
// in the generation, show it a message, or give one to a wait.
func (p *Projection) hasWork() bool {
	w, _ := p.state.pairable()
	return !p.state.opened || len(p.state.pending) > 0 || w != nil
}

// CompareSignal compares one row of signals. Each is given once, in any order.
func (p *Projection) CompareSignal(row Signal) {
	if p.broken {
		return
	}
	c := comparison{p, RowSignal, string(row.ID)}
	want, ok := p.signals[row.ID]
	if !ok {
		c.says("", "no event made this row")
		return
	}
	delete(p.signals, row.ID)
	c.text("name", want.Name, row.Name)
	c.hidden("digest", want.Digest == row.Digest)
	c.number("seq", want.Seq, row.Seq)
	c.time("received_at", &want.ReceivedAt, &row.ReceivedAt)
	c.text("source", want.Source, row.Source)
	c.text("actor", want.Actor, row.Actor)
	by, stored := orNone(want.ConsumedBy), orNone(row.ConsumedBy)
	c.text("consumed_by", string(by.WaitID), string(stored.WaitID))
	c.number("consumed_generation", int64(by.Generation), int64(stored.Generation))
}

func orNone(c *Consumption) Consumption {
	if c == nil {
		return Consumption{}
	}
	return *c
}

// CompareHook compares one row of hooks. Each is given once, in any order.
func (p *Projection) CompareHook(row HookRow) {
	if p.broken {
		return
	}
	c := comparison{p, RowHook, string(row.ID)}
	want, ok := p.hooks[row.ID]
	if !ok {
		c.says("", "no event made this row")
		return
	}
	delete(p.hooks, row.ID)
	c.text("namespace", string(p.key.Namespace), string(row.Namespace))
	c.hidden("labels", maps.Equal(want.Metadata.Labels, row.Labels))
	c.hook(want, row.Hook)
}

// hook compares a hook's record.
func (c comparison) hook(want, row Hook) {
	c.text("name", want.Name, row.Name)
	c.hidden("metadata", equalMetadata(want.Metadata, row.Metadata))
	c.hidden("token_digest", want.Grant.Digest == row.Grant.Digest)
	c.text("digest_key", want.Grant.DigestKey, row.Grant.DigestKey)
	c.text("mint_key", want.Grant.MintKey, row.Grant.MintKey)
	c.hidden("nonce", bytes.Equal(want.Grant.Nonce, row.Grant.Nonce))
	c.text("state", string(want.State), string(row.State))
	c.hidden("payload_digest", want.PayloadDigest == row.PayloadDigest)
	c.time("created_at", &want.CreatedAt, &row.CreatedAt)
	c.time("expires_at", want.ExpiresAt, row.ExpiresAt)
	c.time("resolved_at", want.ResolvedAt, row.ResolvedAt)
	c.number("resolved_seq", want.ResolvedSeq, row.ResolvedSeq)
	c.text("source", want.Source, row.Source)
	c.text("actor", want.Actor, row.Actor)
}

// equalHook says that two records are of the same hook in the same state.
func equalHook(a, b Hook) bool {
	p := &Projection{}
	comparison{p, RowHook, ""}.hook(a, b)
	return a.ID == b.ID && p.count == 0
}

func equalMetadata(a, b spec.HookMetadata) bool {
	same := maps.Equal(a.Labels, b.Labels) && len(a.Data) == len(b.Data)
	return same && (len(a.Data) == 0 || reflect.DeepEqual(a.Data, b.Data)) &&
		a.Kind == b.Kind && a.Subject == b.Subject && a.Requester == b.Requester &&
		reflect.DeepEqual(a.Route, b.Route) && reflect.DeepEqual(a.Rule, b.Rule)
}

// Unreadable notes a row that is not one of this version of the program; the text must not repeat its content. For CompareX
// it is as if the row were there.
func (p *Projection) Unreadable(row RowKind, id, text string) {
	p.note(Difference{Row: row, ID: id, Text: text})
	switch row {
	case RowSignal:
		delete(p.signals, spec.SignalID(id))
	case RowHook:
		delete(p.hooks, spec.HookID(id))
	case RowUpdate:
		delete(p.updates, spec.UpdateID(id))
	case RowRun, RowEvent, RowDue, RowTask: // nothing says that it is missing
	}
}

// Finish says what rows are missing and ends the comparison. It returns the differences found, in order, of which only the
// first 100 are listed, and their number.
func (p *Projection) Finish() ([]Difference, int) {
	if p.broken {
		return p.found, p.count
	}
	signals := slices.SortedFunc(maps.Values(p.signals), func(a, b Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, s := range signals {
		comparison{p, RowSignal, string(s.ID)}.says("", "the row is missing")
	}
	for _, id := range slices.Sorted(maps.Keys(p.hooks)) {
		comparison{p, RowHook, string(id)}.says("", "the row is missing")
	}
	p.missTasks()
	p.missUpdates()
	return p.found, p.count
}
