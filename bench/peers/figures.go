package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// How the job is done.
const (
	clients   = 64 // of the burst, and of parking
	warmTrips = 64 // round trips that no figure counts: they open the connections
	slowTrips = 20 // round trips per run in flight of a peer that polls slowly, at most
)

// inFlight are the numbers of runs in flight that round trips are measured with.
var inFlight = [...]int{1, 16, 64}

func level(clients int) string { return strconv.Itoa(clients) }

// burst parks the runs, then has 64 clients signal all of them, and takes the rates and what a run costs.
func (m *match) burst(ctx context.Context, r *result) error {
	began := time.Now()
	runs, err := m.park(ctx, m.options.runs)
	if err != nil {
		return err
	}
	r.Park = rounded(float64(len(runs)) / time.Since(began).Seconds())
	runtime.GC() // what parking left is no cost of the burst
	before, err := m.spent(ctx)
	if err != nil {
		return err
	}
	began = time.Now()
	if err := each(ctx, clients, runs, func(run string) error { return m.engine.signal(ctx, run) }); err != nil {
		return err
	}
	last, err := m.lastEnd(ctx, runs)
	if err != nil {
		return err
	}
	r.Burst = rounded(float64(len(runs)) / last.Sub(began).Seconds())
	after, err := m.spent(ctx)
	if err != nil {
		return err
	}
	r.costs = m.costs(before, after, len(runs))
	return m.checkCompleted(ctx)
}

// roundTrips parks runs, then has so many clients signal one after the other, each when the run before has completed.
func (m *match) roundTrips(ctx context.Context, inFlight int, r *result) error {
	n := max(m.options.trips, inFlight)
	if m.entry.slow {
		n = min(n, slowTrips*inFlight)
	}
	runs, err := m.park(ctx, n)
	if err != nil {
		return err
	}
	if err := m.store.settle(ctx); err != nil {
		return err
	}
	var (
		mu              sync.Mutex
		trips, receipts latencies
	)
	err = each(ctx, inFlight, runs, func(run string) error {
		began := time.Now()
		if err := m.engine.signal(ctx, run); err != nil {
			return err
		}
		receipt := time.Since(began)
		end, err := m.board.awaitEnd(ctx, run)
		mu.Lock()
		defer mu.Unlock()
		trips, receipts = append(trips, end.Sub(began)), append(receipts, receipt)
		return err
	})
	r.RoundTrip[level(inFlight)] = trips.percentiles()
	if inFlight == 1 {
		r.Receipt = receipts.percentiles().P50
	}
	return err
}

// warm makes a few round trips.
func (m *match) warm(ctx context.Context) error {
	runs, err := m.park(ctx, warmTrips)
	if err != nil {
		return err
	}
	if err := each(ctx, clients, runs, func(run string) error { return m.engine.signal(ctx, run) }); err != nil {
		return err
	}
	_, err = m.lastEnd(ctx, runs)
	return err
}

// park starts runs by 64 clients and returns when all of them wait.
func (m *match) park(ctx context.Context, n int) ([]string, error) {
	runs := m.names(n)
	if err := each(ctx, clients, runs, func(run string) error { return m.engine.start(ctx, run) }); err != nil {
		return nil, err
	}
	for _, run := range runs {
		if err := m.board.awaitParked(ctx, run); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// names makes the IDs of n runs to come.
func (m *match) names(n int) []string {
	runs := make([]string, n)
	for i := range runs {
		m.made++
		runs[i] = fmt.Sprintf("run-%07d", m.made)
	}
	return runs
}

// lastEnd waits for the end of all these runs and returns the latest.
func (m *match) lastEnd(ctx context.Context, runs []string) (last time.Time, err error) {
	for _, run := range runs {
		at, err := m.board.awaitEnd(ctx, run)
		if err != nil {
			return last, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

// checkCompleted asks the peer's own store whether every run so far is completed, and the board whether each ended once.
func (m *match) checkCompleted(ctx context.Context) error {
	n, err := m.engine.completed(ctx)
	if err != nil {
		return err
	}
	if n != m.made {
		return fmt.Errorf("%d of %d runs are completed", n, m.made)
	}
	return m.board.check()
}

// each calls do for every run, by so many goroutines. The first error ends it, and so does the context, which not every
// peer looks at.
func each(ctx context.Context, clients int, runs []string, do func(run string) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		errs   = make([]error, clients)
		wait   sync.WaitGroup
	)
	for c := range clients {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(runs)) && !failed.Load() && ctx.Err() == nil; i = next.Add(1) - 1 {
				if errs[c] = do(runs[i]); errs[c] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err // one is enough: the others mostly say the same
		}
	}
	return ctx.Err()
}
