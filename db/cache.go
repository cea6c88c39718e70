package db

import (
	"container/list"
	"sync"

	"github.com/flowgate-go/flowgate/internal/history"
)

// stateCache keeps the states of runs between their turns, so that a turn folds the new events only. What was used last
// is kept longest. A state is in the cache or with one turn, never both: take removes it, and only a committed turn puts
// it back. It is safe for concurrent use.
type stateCache struct {
	maxStates int
	maxBytes  int64

	mu    sync.Mutex
	byRun map[int64]*list.Element // of cachedState, by row
	order *list.List              // used last in front
	bytes int64
}

// cachedState is a state with the size of the events it is the fold of.
type cachedState struct {
	run   int64
	state *history.State
	size  int64
}

func newStateCache(states int, bytes int64) *stateCache {
	return &stateCache{maxStates: states, maxBytes: bytes, byRun: map[int64]*list.Element{}, order: list.New()}
}

// take removes the state of a run and returns it if it is a part of what the record stands for: of the same generation,
// and not ahead of it.
func (c *stateCache) take(run int64, record history.Run) (*history.State, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byRun[run]
	if !ok {
		return nil, 0
	}
	held := c.remove(e)
	if held.state.Generation() != record.Generation || held.state.NextSeq() > record.NextSeq {
		return nil, 0
	}
	return held.state, held.size
}

// put keeps a state. One that is larger than the whole cache is let go.
func (c *stateCache) put(run int64, state *history.State, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byRun[run]; ok {
		c.remove(e)
	}
	if size > c.maxBytes {
		return
	}
	c.byRun[run] = c.order.PushFront(cachedState{run: run, state: state, size: size})
	c.bytes += size
	for c.order.Len() > c.maxStates || c.bytes > c.maxBytes {
		c.remove(c.order.Back())
	}
}

// drop forgets the state of a run.
func (c *stateCache) drop(run int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byRun[run]; ok {
		c.remove(e)
	}
}

func (c *stateCache) remove(e *list.Element) cachedState {
	held := c.order.Remove(e).(cachedState)
	delete(c.byRun, held.run)
	c.bytes -= held.size
	return held
}
