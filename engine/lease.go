package engine

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/db"
)

// leaseTick is how often the worker looks at what is under way: what heartbeats said is stored that soon.
const leaseTick = time.Second

// renew keeps the leases of what is under way until ctx ends.
func (w *worker) renew(ctx context.Context) {
	ticker := time.NewTicker(min(leaseTick, w.lease/6))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.renewOnce(ctx)
		}
	}
}

// renewOnce renews the leases that are a third over, and those whose attempts had news. An attempt whose lease is not
// renewed in time is told to stop by the lease itself: another one may be under way.
func (w *worker) renewOnce(ctx context.Context) {
	now := w.clock()
	var attempts []*attempt
	var said []int
	var leases []db.TaskLease
	w.mu.Lock()
	for _, a := range w.underWay {
		if details, n := a.news(); details != nil || now.Sub(a.renewedAt) >= w.lease/3 {
			attempts, said = append(attempts, a), append(said, n)
			leases = append(leases, db.TaskLease{Task: a.task, Details: details})
		}
	}
	w.mu.Unlock()
	own, err := w.store.RenewTasks(ctx, w.process, w.lease, leases)
	if err != nil {
		return // the next tick tries again
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range attempts {
		if !own[i] {
			a.cancel(ErrStepCancelled)
			continue
		}
		a.told(said[i])
		a.renewedAt = now
		if a.lease.Stop() {
			a.lease.Reset(w.lease - w.clock().Sub(now))
		}
	}
}

// confirm finds out whether a task of which nobody knows whether it was stored is this worker's. One that cannot be asked
// about is left to whoever claims it, and one that was begun once more meanwhile, because the first commit took no effect,
// to that attempt: its row looks the same.
func (a *attempt) confirm() bool {
	mine := false
	err := a.persist(func(ctx context.Context) error {
		own, err := a.w.store.RenewTasks(ctx, a.w.process, a.w.lease, []db.TaskLease{{Task: a.task}})
		mine = err == nil && own[0]
		return err
	}, ErrStepCancelled, ErrLeaseLost)
	if err != nil || !mine {
		a.w.doubts() // the commit may be still on its way
		return false
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.confirmed = a.w.underWay[a.key()] == a
	return a.confirmed
}
