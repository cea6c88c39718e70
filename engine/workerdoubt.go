package engine

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/db"
)

// This file sees to tasks that this process has begun without being told: the answer to a claim, or to a turn, was lost.
// Nobody tried them, so they are given back before they are taken for lost with their process.

const (
	// doubtTime is how long a commit whose connection was lost may still arrive at the database.
	doubtTime = 10 * time.Second
	// tellTime is how long it may take from the commit that begins a task until the worker knows of it.
	tellTime = 2 * time.Second
)

// doubts says that something may have begun of which nobody is told.
func (w *worker) doubts() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubt = w.clock()
}

// returnUntold gives back what nobody was told of, each time that the worker looks, until nothing can come any more.
func (w *worker) returnUntold(ctx context.Context, look bool) error {
	since, wants, known := w.inDoubt()
	if since.IsZero() || !look {
		return nil
	}
	recent := min(tellTime, w.lease/4)
	n, err := w.store.ReturnUntold(ctx, w.process, w.lease-recent, wants, known)
	if err != nil {
		return err
	}
	if n > 0 {
		w.log.Info().Int("tasks", n).Msg("tasks were begun without an answer; they are begun again")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt == since && w.clock().Sub(since) > doubtTime+recent {
		w.doubt = time.Time{}
	}
	return nil
}

// inDoubt says since when there is doubt, and what the worker does and knows of then.
func (w *worker) inDoubt() (since time.Time, wants []db.TaskWant, known []db.ClaimedTask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt.IsZero() {
		return w.doubt, nil, nil
	}
	for _, l := range w.lines {
		wants = append(wants, l.wants...)
	}
	for _, a := range w.underWay {
		known = append(known, a.task)
	}
	return w.doubt, wants, known
}

// provenAttempt is an attempt that is over, of a task begun by a commit of unknown outcome which turned out to be this
// worker's. It may be that of a second commit, for which the turn was stored again: that is told only once it is answered.
type provenAttempt struct {
	attempt int
	at      time.Time // when it was over
}

// isProven says that the attempt was begun before, by whoever asked whether it is this worker's. Only one is to be made of a
// number. The worker is locked.
func (w *worker) isProven(a *attempt) bool {
	n := a.task.Task.Attempt
	if before := w.underWay[a.key()]; before != nil {
		return before.confirmed && before.task.Task.Attempt == n
	}
	over, ok := w.proven[a.key()]
	return ok && over.attempt == n
}

// remember keeps what is over for as long as a commit may take to be told. The worker is locked.
func (w *worker) remember(a *attempt) {
	now := w.clock()
	for key, over := range w.proven {
		if now.Sub(over.at) > doubtTime+tellTime {
			delete(w.proven, key)
		}
	}
	if a.confirmed {
		w.proven[a.key()] = provenAttempt{a.task.Task.Attempt, now}
	}
}
