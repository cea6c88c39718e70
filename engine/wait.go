package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/flowgate-go/flowgate/db"
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
	if h.e.store.UnderWay(key) {
		if end := soon(ctx, woken); end != nil {
			return showEnd(end), nil
		}
	}
	for {
		// The look comes after joining, so an end between the two is not missed.
		view, err := h.e.store.ReadRun(ctx, key)
		switch {
		case ctx.Err() != nil:
			return Snapshot{}, ctx.Err()
		case err != nil:
			return Snapshot{}, err
		case view.Status.Ended():
			return showRow(view), nil
		}
		select {
		case <-ctx.Done():
			return Snapshot{}, ctx.Err()
		case end, open := <-woken:
			switch {
			case !open:
				return Snapshot{}, fmt.Errorf("%w: the process is shutting down", ErrUnavailable)
			case end != nil:
				return showEnd(end), nil
			}
		}
	}
}

// lookAfter is how long a caller waits for the turn under way before it looks for itself.
const lookAfter = 20 * time.Millisecond

// soon waits a moment for an end to be told. Nil says to look: also when the caller or the process ends, which
// comes out then.
func soon[V any](ctx context.Context, woken <-chan *V) *V {
	timer := time.NewTimer(lookAfter)
	defer timer.Stop()
	select {
	case end := <-woken:
		return end
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// showEnd is the run as it ended, for one caller: what it holds is the caller's own.
func showEnd(end *db.RunView) Snapshot {
	s := showRow(*end)
	s.Labels, s.Input, s.Output = maps.Clone(s.Labels), bytes.Clone(s.Input), bytes.Clone(s.Output)
	return s
}
