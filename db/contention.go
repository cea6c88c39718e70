package db

import (
	"sync"
	"time"
)

const (
	// contendedTime is how long a run is claimed, not handed over, after a turn of it was in vain.
	contendedTime = time.Second
	// contendedRuns bounds the runs that are remembered.
	contendedRuns = 1024
)

// contention remembers runs whose turns were decided in vain, because another process changed them meanwhile. Such a turn
// costs the run's state, which has to be folded from all its events again; under the lock none is lost. It is safe for
// concurrent use.
type contention struct {
	mu    sync.Mutex
	until map[int64]time.Time // by this process's clock
}

func newContention() *contention { return &contention{until: map[int64]time.Time{}} }

func (c *contention) add(run int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.until) >= contendedRuns {
		clear(c.until) // too many to be worth it
	}
	c.until[run] = now.Add(contendedTime)
}

func (c *contention) has(run int64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.until[run]
	if ok && !now.Before(until) {
		delete(c.until, run)
		return false
	}
	return ok
}
