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
	for ctx.Err() == nil {          // an ended store takes nothing more, even if it is there
		select {
		case <-ctx.Done():
		case first := <-s.queue:
			calls := s.collect(first, hot)
			hot = heat(hot, s.settle(calls, skipLocked))
		}
	}
}

// collect takes the calls that wait already, up to a full batch, without waiting for more. Those of a run that has calls
// in the side lane follow them there, and so do those of a run that has been due for too many batches.
func (s *Store) collect(first *call, hot map[history.RunKey]int) []*call {
	var calls []*call
	bytes := 0
	for c, taken := first, 1; ; taken++ {
		switch {
		case c.ctx.Err() != nil:
			c.refuse(unavailable(c.ctx.Err()))
		case s.side.follow(c):
		case hot[c.run] >= hotBatches:
			s.side.open(c, true)
		default:
			calls = append(calls, c)
			bytes += c.size()
		}
		if taken >= s.cfg.Batch || bytes >= batchBytes {
			return calls
		}
		select {
		case c = <-s.queue:
		default:
			return calls
		}
	}
}

// heat counts on for the runs that were due again. The map holds no more than one batch.
func heat(before map[history.RunKey]int, due []history.RunKey) map[history.RunKey]int {
	after := make(map[history.RunKey]int, len(due))
	for _, key := range due {
		after[key] = before[key] + 1
	}
	return after
}
