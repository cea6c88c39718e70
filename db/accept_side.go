package db

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// hotPause is how long a run that the accept lane kept locked is left to the dispatcher.
const hotPause = 5 * time.Millisecond

var errSideFull = errors.New("too many messages are waiting for locked runs")

// sideLane holds the calls to runs that another transaction has locked: one queue per run, so that the calls of a run
// keep their order and one locked run holds up nobody else.
type sideLane struct {
	limit int
	ready chan history.RunKey // runs with waiting calls that no side transaction serves; each at most once

	mu     sync.Mutex
	runs   map[history.RunKey]*detour // those with waiting calls or a side transaction
	queued int                        // waiting calls, at most limit
}

// detour is the queue of one run.
type detour struct {
	calls []*call
	pause bool // leave the run unlocked for a moment first
}

func newSideLane(limit int) *sideLane {
	return &sideLane{limit: limit, ready: make(chan history.RunKey, limit), runs: map[history.RunKey]*detour{}}
}

// follow takes a call if its run has others here.
func (l *sideLane) follow(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.runs[c.run]
	if ok {
		l.add(d, c)
	}
	return ok
}

// open takes a call whether or not its run has others here.
func (l *sideLane) open(c *call, pause bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.runs[c.run]
	if !ok {
		d = &detour{pause: pause}
	}
	if l.add(d, c) && !ok {
		l.runs[c.run] = d
		l.ready <- c.run // has room: no more runs than calls
	}
}

func (l *sideLane) add(d *detour, c *call) bool {
	if l.queued >= l.limit {
		c.refuse(unavailable(errSideFull))
		return false
	}
	d.calls = append(d.calls, c)
	l.queued++
	return true
}

// take returns the first calls of a run, at most n.
func (l *sideLane) take(run history.RunKey, n int) (calls []*call, pause bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.runs[run]
	n = min(n, len(d.calls))
	calls, d.calls = d.calls[:n:n], d.calls[n:]
	l.queued -= n
	pause, d.pause = d.pause, false
	return calls, pause
}

// leave ends the side transaction of a run: its next calls go to the back of the line, or the run leaves the side lane.
func (l *sideLane) leave(run history.RunKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs[run].calls) == 0 {
		delete(l.runs, run)
		return
	}
	l.ready <- run
}

// drain empties the side lane for good.
func (l *sideLane) drain() (calls []*call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.runs {
		calls = append(calls, d.calls...)
		d.calls = nil
	}
	l.queued = 0
	return calls
}

// runSideLane serves one locked run after the other until ctx ends: one transaction per run, which waits for its lock.
func (s *Store) runSideLane(ctx context.Context) {
	for ctx.Err() == nil { // an ended store takes nothing more, even if it is there
		select {
		case <-ctx.Done():
		case run := <-s.side.ready:
			calls, pause := s.side.take(run, s.cfg.Batch)
			if pause {
				rest(ctx, hotPause)
			}
			s.settle(waiting(calls), waitForLock)
			s.side.leave(run)
		}
	}
}

// waiting drops the calls whose callers have left: they were told to send again.
func waiting(calls []*call) (still []*call) {
	for _, c := range calls {
		if err := c.ctx.Err(); err != nil {
			c.refuse(unavailable(err))
			continue
		}
		still = append(still, c)
	}
	return still
}

// rest waits for d, or for the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
