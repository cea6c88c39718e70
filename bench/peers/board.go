package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// board is where the engine under test reports what became of each run, from inside: nobody asks the engine for it, so
// no polling of this program is in a figure.
type board struct {
	mu   sync.Mutex
	runs map[string]*fate
}

// fate is what has become of one run.
type fate struct {
	parked chan struct{} // closed when the run waits for its signal
	ended  chan struct{} // closed when the run has ended; at and err are set before
	at     time.Time
	err    error
}

func newBoard() *board { return &board{runs: map[string]*fate{}} }

// of is the fate of a run, made at the first question or report.
func (b *board) of(run string) *fate {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.runs[run]
	if f == nil {
		f = &fate{parked: make(chan struct{}), ended: make(chan struct{})}
		b.runs[run] = f
	}
	return f
}

// parked reports that a run has come to its wait. An engine may report it again, as when it replays the run.
func (b *board) parked(run string) {
	f := b.of(run)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !closed(f.parked) {
		close(f.parked)
	}
}

// ended reports that the end of a run is committed; err is nil for a run that has completed with its signal. A second
// end of one run makes it a failed one.
func (b *board) ended(run string, err error) {
	at := time.Now()
	f := b.of(run)
	b.mu.Lock()
	defer b.mu.Unlock()
	if closed(f.ended) {
		f.err = fmt.Errorf("run %s ended twice", run)
		return
	}
	f.at, f.err = at, err
	close(f.ended)
}

// awaitParked waits until a run has come to its wait, or has ended.
func (b *board) awaitParked(ctx context.Context, run string) error {
	f := b.of(run)
	select {
	case <-f.parked:
		return nil
	case <-f.ended:
		return fmt.Errorf("run %s ended before it waited", run)
	case <-ctx.Done():
		return fmt.Errorf("run %s has not come to its wait: %w", run, context.Cause(ctx))
	}
}

// awaitEnd waits for the end of a run and returns when that was. The error is the run's.
func (b *board) awaitEnd(ctx context.Context, run string) (time.Time, error) {
	f := b.of(run)
	select {
	case <-f.ended:
		b.mu.Lock()
		defer b.mu.Unlock()
		return f.at, f.err
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("run %s has not ended: %w", run, context.Cause(ctx))
	}
}

// check returns the error of a run that failed or ended twice, or nil when there is none.
func (b *board) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.runs {
		if f.err != nil {
			return f.err
		}
	}
	return nil
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
