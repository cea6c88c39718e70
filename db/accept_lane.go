package db

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// batchBytes bounds the payloads of one accept transaction.
	batchBytes = 8 << 20
	// laneLockTimeout is how long an accept batch waits for another transaction that is inserting one of its runs. Nothing
	// else in a batch waits.
	laneLockTimeout = 100 * time.Millisecond
	// hotBatches is after how many batches in a row that found a run due the lane leaves it to the dispatcher.
	hotBatches = 5
)

// runLane commits calls in batches until ctx ends. The batch under way is finished.
func (s *Store) runLane(ctx context.Context) {
	hot := map[history.RunKey]int{} // due runs of the last batch, and in how many batches in a row they were due
	late := time.NewTimer(0)        // looks after calls that wait for a turn for too long
	defer late.Stop()
	for ctx.Err() == nil { // an ended store takes nothing more, even if it is there
		var first *call
		select {
		case <-ctx.Done():
			return
		case first = <-s.queue:
		case <-s.turning.over:
		case <-late.C:
		}
		calls := s.collect(first, hot)
		rest, due := s.settleKnown(calls)
		hot = heat(hot, append(due, s.settle(rest, skipLocked)...))
		s.letTurn(calls...)
		if !s.turning.idle() {
			late.Reset(holdBackTime)
		}
	}
}

// letTurn ends the storing of the calls' messages: turns that waited for it may be taken.
func (s *Store) letTurn(calls ...*call) {
	waited := false
	for _, c := range calls {
		waited = s.turning.stored(c.run) || waited
	}
	if waited {
		s.cfg.Handed()
	}
}

// collect takes the calls whose runs' turns are over and those that wait already, up to a full batch, without waiting for
// more. Those of a run that has calls in the side lane follow them there, and so do those of a run that has been due for
// too many batches. Those of a run whose turn is to be taken wait for it. first may be nil.
func (s *Store) collect(first *call, hot map[history.RunKey]int) []*call {
	b := &gathering{store: s, hot: hot}
	now := s.cfg.Clock()
	var aside []*call
	s.turning.take(now, func(c *call) bool { // b.add must not be called under its lock
		aside = append(aside, c)
		b.bytes += c.size()
		return len(aside) >= s.cfg.Batch || b.bytes >= batchBytes
	})
	b.bytes = 0
	for _, c := range aside {
		b.add(c)
	}
	for c := first; ; {
		if c != nil {
			c.taken.Store(true)
			s.waits.note(c.came, now)
		}
		if c != nil && s.turning.store(c, now) {
			b.add(c)
		}
		if b.full() {
			return b.calls
		}
		select {
		case c = <-s.queue:
		default:
			return b.calls
		}
	}
}

// gathering is a batch in the making.
type gathering struct {
	store        *Store
	hot          map[history.RunKey]int
	calls        []*call
	taken, bytes int
}

func (b *gathering) full() bool { return b.taken >= b.store.cfg.Batch || b.bytes >= batchBytes }

// add takes a call whose message begins to be stored.
func (b *gathering) add(c *call) {
	b.taken++
	switch s := b.store; {
	case c.ctx.Err() != nil:
		c.refuse(unavailable(c.ctx.Err()))
	case s.side.follow(c):
	case b.hot[c.run] >= hotBatches:
		s.side.open(c, true)
	default:
		b.calls = append(b.calls, c)
		b.bytes += c.size()
		return
	}
	b.store.letTurn(c) // it is not stored here
}

// heat counts on for the runs that were due again. The map holds no more than one batch.
func heat(before map[history.RunKey]int, due []history.RunKey) map[history.RunKey]int {
	after := make(map[history.RunKey]int, len(due))
	for _, key := range due {
		after[key] = before[key] + 1
	}
	return after
}
