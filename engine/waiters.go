package engine

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// maxWaiters bounds the callers that wait for the end of a run in one process.
	maxWaiters = 10_000
	// waitPoll is how often the database is asked, in one statement for all waiters, which of their runs ended.
	waitPoll = 500 * time.Millisecond
)

// waiters wakes callers that wait for the end of a run, with its end as this process committed it, or with a hint to look
// for themselves. It is safe for concurrent use.
type waiters struct {
	ended func(context.Context, []history.RunKey) ([]history.RunKey, error)
	log   zerolog.Logger
	ask   chan struct{} // asks for a poll now; holds one

	mu    sync.Mutex
	shut  bool
	count int
	byRun map[history.RunKey]map[chan *db.RunView]bool
}

func newWaiters(ended func(context.Context, []history.RunKey) ([]history.RunKey, error), log zerolog.Logger) *waiters {
	return &waiters{
		ended: ended, log: log, ask: make(chan struct{}, 1), byRun: map[history.RunKey]map[chan *db.RunView]bool{},
	}
}

// join registers a waiter. The channel gets a value when its run may have ended: the run as it ended, or nil, which says
// to look. It is closed when the process shuts down. join reports false after that, or when there are too many.
func (w *waiters) join(key history.RunKey) (_ <-chan *db.RunView, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut || w.count >= maxWaiters {
		return nil, nil, false
	}
	ch := make(chan *db.RunView, 1)
	if w.byRun[key] == nil {
		w.byRun[key] = map[chan *db.RunView]bool{}
	}
	w.byRun[key][ch] = true
	w.count++
	return ch, func() { w.leave(key, ch) }, true
}

func (w *waiters) leave(key history.RunKey, ch chan *db.RunView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.byRun[key][ch] {
		return
	}
	delete(w.byRun[key], ch)
	if len(w.byRun[key]) == 0 {
		delete(w.byRun, key)
	}
	w.count--
}

// wake tells the waiters of one run how it ended, or to look. It never blocks.
func (w *waiters) wake(key history.RunKey, end *db.RunView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.byRun[key] {
		select {
		case ch <- end:
		default: // it has not looked since the last one
		}
	}
}

// poll asks for a look at the database soon. It never blocks.
func (w *waiters) poll() {
	select {
	case w.ask <- struct{}{}:
	default:
	}
}

// run polls while somebody waits, until ctx ends; then it sends everybody away.
func (w *waiters) run(ctx context.Context) error {
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
			w.log.Warn().Err(err).Msg("waiting callers cannot be told whether their runs ended")
		}
		failing = err != nil
	}
}

// look asks the database about all runs that somebody waits for.
func (w *waiters) look(ctx context.Context) error {
	keys := w.runs()
	if len(keys) == 0 {
		return nil
	}
	ended, err := w.ended(ctx, keys)
	for _, key := range ended {
		w.wake(key, nil)
	}
	return err
}

func (w *waiters) runs() []history.RunKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]history.RunKey, 0, len(w.byRun))
	for key := range w.byRun {
		keys = append(keys, key)
	}
	return keys
}

func (w *waiters) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for _, line := range w.byRun {
		for ch := range line {
			close(ch)
		}
	}
	clear(w.byRun)
	w.count = 0
}

// waiting is the number of waiters.
func (w *waiters) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
