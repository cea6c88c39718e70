package engine

import (
	"context"
	"fmt"

	"github.com/flowgate-go/flowgate/spec"
)

// Wait returns the run once it ended, or the context's error when that ends first; Snapshot then tells how far the run
// is. It holds no database connection while it waits, and it costs other runs nothing. A process serves 10,000 waiters;
// beyond that and while shutting down it answers ErrUnavailable.
//
// Errors: *InvalidError, ErrRunNotFound, ErrUnavailable, ctx.Err().
func (h *Handle) Wait(ctx context.Context, id spec.RunID) (Snapshot, error) {
	key, err := h.key(id)
	if err != nil {
		return Snapshot{}, err
	}
	woken, leave, ok := h.e.waiters.join(key)
	if !ok {
		return Snapshot{}, fmt.Errorf("%w: no more callers can wait for runs in this process", ErrUnavailable)
	}
	defer leave()
	for {
		// The look comes after joining, so an end between the two is not missed.
		run, err := h.e.store.ReadRun(ctx, key)
		switch {
		case ctx.Err() != nil:
			return Snapshot{}, ctx.Err()
		case err != nil:
			return Snapshot{}, err
		case run.Status.Ended():
			return h.Snapshot(ctx, id)
		}
		select {
		case <-ctx.Done():
			return Snapshot{}, ctx.Err()
		case _, open := <-woken:
			if !open {
				return Snapshot{}, fmt.Errorf("%w: the process is shutting down", ErrUnavailable)
			}
		}
	}
}
