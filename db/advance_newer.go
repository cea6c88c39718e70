package db

import (
	"sync"
	"time"
)

const (
	// newerRest is how long this process leaves a run alone that it cannot read.
	newerRest = 30 * time.Second
	// maxNewer bounds the runs that it leaves alone, because every claim names them.
	maxNewer = 1000
)

// newerRuns are runs whose history a newer program wrote, as happens while one version replaces another. This process
// leaves them to those that can read them: it neither misreads nor blocks them, and they stay due. It is safe for
// concurrent use.
type newerRuns struct {
	mu    sync.Mutex
	until map[int64]time.Time // by row, when to look again, by this process's clock
}

func newNewerRuns() *newerRuns { return &newerRuns{until: map[int64]time.Time{}} }

// add leaves a run alone from now on. It reports false when that are too many.
func (n *newerRuns) add(run int64, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.until) >= maxNewer {
		return false
	}
	n.until[run] = now.Add(newerRest)
	return true
}

// has says that a run is left to others.
func (n *newerRuns) has(run int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.until[run]
	return ok
}

// at lists the runs to leave alone now, and forgets the others.
func (n *newerRuns) at(now time.Time) []int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	runs := make([]int64, 0, len(n.until))
	for run, until := range n.until {
		if now.Before(until) {
			runs = append(runs, run)
		} else {
			delete(n.until, run)
		}
	}
	return runs
}
