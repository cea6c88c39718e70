package engine

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// maxWaiters bounds the callers that wait for the end of a run in one process.
	maxWaiters = 10_000
	// waitPoll is how often the database is asked, in one statement for all waiters, which of them ended.
	waitPoll = 500 * time.Millisecond
)

// waiters wakes callers that wait for the end of something, a run or an update, with its end as this process committed it,
// or with a hint to look for themselves. It is safe for concurrent use.
type waiters[K comparable, V any] struct {
	ended func(context.Context, []K) ([]K, error)
	log   zerolog.Logger
	ask   chan struct{} // asks for a poll now; holds one

	mu    sync.Mutex
	shut  bool
	count int
	byKey map[K]map[chan *V]bool
}

func newWaiters[K comparable, V any](ended func(context.Context, []K) ([]K, error), log zerolog.Logger) *waiters[K, V] {
	return &waiters[K, V]{ended: ended, log: log, ask: make(chan struct{}, 1), byKey: map[K]map[chan *V]bool{}}
}

// join registers a waiter. The channel gets a value when what it waits for may have ended: as it ended, or nil, which says
// to look. It is closed when the process shuts down. join reports false after that, or when there are too many.
func (w *waiters[K, V]) join(key K) (_ <-chan *V, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut || w.count >= maxWaiters {
		return nil, nil, false
	}
	ch := make(chan *V, 1)
	if w.byKey[key] == nil {
		w.byKey[key] = map[chan *V]bool{}
	}
	w.byKey[key][ch] = true
	w.count++
	return ch, func() { w.leave(key, ch) }, true
}

func (w *waiters[K, V]) leave(key K, ch chan *V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.byKey[key][ch] {
		return
	}
	delete(w.byKey[key], ch)
	if len(w.byKey[key]) == 0 {
		delete(w.byKey, key)
	}
	w.count--
}

// wake tells the waiters of one thing how it ended, or to look. It never blocks.
func (w *waiters[K, V]) wake(key K, end *V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.byKey[key] {
		select {
		case ch <- end:
		default: // it has not looked since the last one
		}
	}
}

// poll asks for a look at the database soon. It never blocks.
func (w *waiters[K, V]) poll() {
	select {
	case w.ask <- struct{}{}:
	default:
	}
}

// run polls while somebody waits, until ctx ends; then it sends everybody away.
func (w *waiters[K, V]) run(ctx context.Context) error {
	defer w.close()
	ticker := time.NewTicker(waitPoll)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.ask:
		case <-ticker.C:
		}
		err := w.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			w.log.Warn().Err(err).Msg("waiting callers cannot be told what became of what they wait for")
		}
		failing = err != nil
	}
}

// look asks the database about all that somebody waits for.
func (w *waiters[K, V]) look(ctx context.Context) error {
	keys := w.keys()
	if len(keys) == 0 {
		return nil
	}
	ended, err := w.ended(ctx, keys)
	for _, key := range ended {
		w.wake(key, nil)
	}
	return err
}

func (w *waiters[K, V]) keys() []K {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]K, 0, len(w.byKey))
	for key := range w.byKey {
		keys = append(keys, key)
	}
	return keys
}

func (w *waiters[K, V]) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for _, line := range w.byKey {
		for ch := range line {
			close(ch)
		}
	}
	clear(w.byKey)
	w.count = 0
}

// waiting is the number of waiters.
func (w *waiters[K, V]) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
