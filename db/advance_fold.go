package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
)

// eventSize is about what an event takes beside its content.
const eventSize = 160

var (
	errCarriedMissing = errors.New("signals of earlier generations are missing")
	errOutOfStep      = errors.New("the events end elsewhere than the run's record says")
)

// begin reads the time, after all locks are held, and what the states of the runs lack.
func (c *claim) begin(ctx context.Context) error {
	p := &pipeline{}
	clock := queueValues[time.Time](p, sqlc.Clock, nil)
	events := queueEvents(p, c.runs)
	if err := p.send(ctx, c.conn); err != nil {
		return err
	}
	for _, r := range c.runs {
		r.now = later((*clock)[0].UTC(), r.Run.UpdatedAt)
		r.dueFor(c.store.cfg.Clock())
	}
	if err := c.fold(ctx, c.runs, *events); err != nil {
		return err
	}
	return c.foldAgain(ctx)
}

// foldAgain folds from the start what did not follow a state of the cache.
func (c *claim) foldAgain(ctx context.Context) error {
	var again []*claimedRun
	for _, r := range c.runs {
		if !r.dropped && r.state == nil {
			again = append(again, r)
		}
	}
	if len(again) == 0 {
		return nil
	}
	return c.foldCold(ctx, &pipeline{}, again)
}

// foldCold makes fresh states of runs, with what p holds sent first.
func (c *claim) foldCold(ctx context.Context, p *pipeline, runs []*claimedRun) error {
	for _, r := range runs {
		r.state, r.size = nil, 0
	}
	events := queueEvents(p, runs)
	if err := p.send(ctx, c.conn); err != nil {
		return err
	}
	return c.fold(ctx, runs, *events)
}

// queueEvents asks for the events that the states of the runs lack.
func queueEvents(p *pipeline, runs []*claimedRun) *[]sqlc.Event {
	var from sqlc.EventsFromParams
	for _, r := range runs {
		if r.dropped || r.reading() == 0 {
			continue
		}
		seq := r.Run.FirstSeq
		if r.state != nil {
			seq = r.state.NextSeq()
		}
		from.Runs = append(from.Runs, r.ID)
		from.Seqs = append(from.Seqs, seq)
	}
	if len(from.Runs) == 0 {
		return new([]sqlc.Event)
	}
	return queueRows[sqlc.Event](p, sqlc.EventsFrom, from)
}

// fold brings the states of the runs up to date. A run whose events do not fold fails alone; a state of the cache that
// the events do not follow is let go.
func (c *claim) fold(ctx context.Context, runs []*claimedRun, rows []sqlc.Event) error {
	news := eventsByRun(rows)
	carried, err := c.carried(ctx, runs, news)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.dropped {
			continue
		}
		fresh := news.of(r.ID)
		r.size += fresh.size + carried.of(r.ID).size
		if r.state != nil {
			r.follow(fresh)
			continue
		}
		if err := r.foldFresh(carried.of(r.ID), fresh); err != nil {
			r.fail(history.BlockHistory, err)
		}
	}
	return nil
}

// follow applies new events to a state of the cache.
func (r *claimedRun) follow(fresh *readEvents) {
	err := fresh.err
	for _, e := range fresh.events {
		if err == nil {
			err = r.state.Apply(e)
		}
	}
	if err != nil || !r.inStep() {
		r.state, r.size = nil, 0
	}
}

func (r *claimedRun) foldFresh(carried, fresh *readEvents) error {
	err := cmp.Or(fresh.err, carried.err)
	if err == nil {
		r.state, err = history.Fold(r.Run.Key, carried.events, fresh.events)
	}
	if err == nil && !r.inStep() {
		err = errOutOfStep
	}
	return err
}

// inStep says that the fold of the events ends where the run's record says.
func (r *claimedRun) inStep() bool {
	return r.state.Generation() == r.Run.Generation && r.state.NextSeq() == r.Run.NextSeq
}

// carried reads the unread signals and the open updates of earlier generations that fresh folds begin with, if there are any.
func (c *claim) carried(ctx context.Context, runs []*claimedRun, news eventGroups) (eventGroups, error) {
	var between sqlc.EventsBetweenParams
	want := map[int64]int{}
	for _, r := range runs {
		if r.dropped || r.state != nil {
			continue
		}
		for _, span := range carriedSpans(news.of(r.ID)) {
			between.Runs = append(between.Runs, r.ID)
			between.Firsts = append(between.Firsts, span.From)
			between.Lasts = append(between.Lasts, span.To)
			want[r.ID] += int(span.To - span.From + 1)
		}
	}
	if len(between.Runs) == 0 {
		return nil, nil
	}
	p := &pipeline{}
	rows := queueRows[sqlc.Event](p, sqlc.EventsBetween, between)
	if err := p.send(ctx, c.conn); err != nil {
		return nil, err
	}
	found := eventsByRun(*rows)
	for run, n := range want {
		if got := found.of(run); got.err == nil && len(got.events) != n {
			found[run] = &readEvents{err: errCarriedMissing}
		}
	}
	return found, nil
}

func carriedSpans(n *readEvents) []history.SeqRange {
	if len(n.events) == 0 {
		return nil
	}
	if first, ok := n.events[0].Data.(*history.RunContinued); ok {
		return first.Carried()
	}
	return nil
}

// readEvents are events of one run as read, in order of seq.
type readEvents struct {
	events []history.Event
	size   int64
	err    error
}

// eventGroups are events by the row of their run.
type eventGroups map[int64]*readEvents

func (g eventGroups) of(run int64) *readEvents {
	if n := g[run]; n != nil {
		return n
	}
	return &readEvents{}
}

func eventsByRun(rows []sqlc.Event) eventGroups {
	byRun := eventGroups{}
	for _, row := range rows {
		n := byRun[row.Run]
		if n == nil {
			n = &readEvents{}
			byRun[row.Run] = n
		}
		e, err := eventOf(row)
		if err != nil {
			n.err = err
			continue
		}
		n.events = append(n.events, e)
		n.size += eventSize + int64(len(row.Data)+len(row.Payload))
	}
	for _, n := range byRun {
		slices.SortFunc(n.events, func(a, b history.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return byRun
}

// eventOf reads an event row.
func eventOf(row sqlc.Event) (history.Event, error) {
	e, err := history.Decode(int(row.Generation), row.Seq, row.At.UTC(), history.Encoded{
		Type: row.Type, Data: row.Data, Payload: row.Payload,
	})
	if err != nil {
		return history.Event{}, fmt.Errorf("event %d: %w", row.Seq, err)
	}
	return e, nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
