package db

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// queuedBatches bounds the waiting calls: this many full batches per lane.
	queuedBatches = 8
	// queueTime is how long a call waits for a place in the queue.
	queueTime = 2 * time.Second
)

var (
	errNotRunning = errors.New("the store has stopped")
	errQueueFull  = errors.New("too many messages are waiting")
)

// Answer is what became of one message: a receipt, or the refusal.
type Answer struct {
	Receipt history.Receipt
	Err     error
}

// call is one message on its way through the lanes.
type call struct {
	ctx     context.Context // the caller's: says whether anybody still waits
	message history.Message
	run     history.RunKey
	done    chan Answer // takes one answer without blocking
	came    time.Time
	trail   *Trail      // of the caller; nil where no audit trail is kept
	taken   atomic.Bool // by a lane
}

// Accept judges a message and stores what it changes; it returns after the commit. Calls that arrive while a commit is
// under way are committed together, a lone call goes at once. Repeating a message is safe: it answers with the first
// receipt again. Errors: those of history.Records.Accept; *AuthorityMissingError; *spec.InvalidError for text that the
// database cannot hold; ErrWorkflowNotFound when a start names a spec that is not stored; ErrUnavailable, also when ctx
// ends first or Run has ended (the message may then be stored or not: send it again); *DatabaseError.
func (s *Store) Accept(ctx context.Context, m history.Message) (history.Receipt, error) {
	c := &call{ctx: ctx, message: m, run: m.Target(), done: make(chan Answer, 1), came: s.cfg.Clock()}
	if s.cfg.Audit {
		c.trail = trailOf(ctx)
	}
	if err := s.enqueue(c); err != nil {
		if !errors.Is(err, errNotRunning) {
			s.waits.note(c.came, s.cfg.Clock())
		}
		return history.Receipt{}, unavailable(err)
	}
	cause := errNotRunning
	select {
	case a := <-c.done:
		return s.answered(c, a)
	case <-ctx.Done():
		cause = ctx.Err()
		if !c.taken.Load() {
			s.waits.note(c.came, s.cfg.Clock())
		}
	case <-s.ended:
	}
	select { // it may have been answered at the same moment
	case a := <-c.done:
		return s.answered(c, a)
	default:
		return history.Receipt{}, unavailable(cause)
	}
}

// answered notes how long an accepted message took.
func (s *Store) answered(c *call, a Answer) (history.Receipt, error) {
	if a.Err == nil && a.Receipt.Verdict == history.Accepted {
		s.figures.commits.Observe(s.cfg.Clock().Sub(c.came))
	}
	return a.Receipt, a.Err
}

func (s *Store) enqueue(c *call) error {
	select {
	case <-s.ended:
		return errNotRunning
	case <-c.ctx.Done():
		return c.ctx.Err()
	default:
	}
	select {
	case s.queue <- c:
		return nil
	default:
	}
	patience := time.NewTimer(queueTime)
	defer patience.Stop()
	select {
	case s.queue <- c:
		return nil
	case <-patience.C:
		return errQueueFull
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-s.ended:
		return errNotRunning
	}
}

func (c *call) answer(a Answer) { c.done <- a }

func (c *call) refuse(err error) { c.answer(Answer{Err: err}) }

func (c *call) size() int { return sizeOf(c.message) }

// sizeOf is about what a message adds to a statement.
func sizeOf(m history.Message) int {
	const row = 256
	switch m := m.(type) {
	case *history.StartRun:
		return row + len(m.Input.Bytes())
	case *history.SendSignal:
		return row + len(m.Payload.Bytes())
	case *history.ResumeHook:
		return row + len(m.Payload.Bytes())
	case *history.SettleTask:
		return row + len(m.Output.Bytes())
	case *history.SendUpdate:
		return row + len(m.Payload.Bytes())
	case *history.StartWith:
		return row + len(m.Start.Input.Bytes()) + sizeOf(m.Send)
	}
	return row
}

// refuseWaiting answers whoever still waits when the lanes have ended.
func (s *Store) refuseWaiting() {
	for _, c := range append(s.side.drain(), s.turning.drain()...) {
		c.refuse(unavailable(errNotRunning))
	}
	for {
		select {
		case c := <-s.queue:
			c.refuse(unavailable(errNotRunning))
		default:
			return
		}
	}
}
