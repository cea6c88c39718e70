package throttle

import (
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// Memory remembers a bounded number of keys, each with a value. What is forgotten to make room is what has been used least;
// nothing may depend on a key being there. It is safe for concurrent use.
type Memory[K comparable, V any] struct {
	keys    *otter.Cache[K, V]
	evicted atomic.Int64
}

// NewMemory makes a memory of at most limit keys.
func NewMemory[K comparable, V any](limit int) *Memory[K, V] {
	m := &Memory[K, V]{}
	m.keys = otter.Must(&otter.Options[K, V]{
		MaximumSize: limit, Executor: inline,
		OnAtomicDeletion: func(e otter.DeletionEvent[K, V]) {
			if e.WasEvicted() {
				m.evicted.Add(1)
			}
		},
	})
	return m
}

// Get returns what is known of a key.
func (m *Memory[K, V]) Get(key K) (V, bool) { return m.keys.GetIfPresent(key) }

// Set remembers a key.
func (m *Memory[K, V]) Set(key K, value V) { m.keys.Set(key, value) }

// Forget forgets a key.
func (m *Memory[K, V]) Forget(key K) { m.keys.Invalidate(key) }

// Len is how many keys are remembered.
func (m *Memory[K, V]) Len() int { return m.keys.EstimatedSize() }

// Overflows is how often a key was forgotten to make room.
func (m *Memory[K, V]) Overflows() int64 { return m.evicted.Load() }
