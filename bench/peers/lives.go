package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// lives are the figures of whole runs, from the call that starts one to its committed end.
type lives struct {
	PerSecond map[string]float64     `json:"per_s"` // by runs in flight
	Life      map[string]percentiles `json:"ms"`    // by runs in flight
	costs                            // per run, with the most in flight
}

// livesInFlight are the numbers of runs in flight that whole runs are measured with. The last one has the costs.
var livesInFlight = [...]int{1, 64}

// slowLives are runs per run in flight of a peer that polls slowly, at most: each of its steps waits for two polls.
const slowLives = 6

// lives takes the figures of stepsJob.
func (m *match) lives(ctx context.Context, r *result) error {
	if _, _, err := m.live(ctx, clients, warmTrips); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	r.Steps = &lives{PerSecond: map[string]float64{}, Life: map[string]percentiles{}}
	for _, c := range livesInFlight {
		n := m.options.trips
		if c == clients {
			n = m.options.runs
		}
		if m.entry.slow {
			n = min(n, slowLives*c)
		}
		n = max(n, c)
		runtime.GC() // what is left of before is no cost of these runs
		before, err := m.spent(ctx)
		if err != nil {
			return err
		}
		times, took, err := m.live(ctx, c, n)
		if err != nil {
			return fmt.Errorf("%d in flight: %w", c, err)
		}
		after, err := m.spent(ctx)
		if err != nil {
			return err
		}
		r.Steps.PerSecond[level(c)], r.Steps.Life[level(c)] = rounded(float64(n)/took.Seconds()), times.percentiles()
		r.Steps.costs = m.costs(before, after, n)
	}
	return nil
}

// live has so many clients start one run after the other, each when the run before has ended.
func (m *match) live(ctx context.Context, inFlight, n int) (latencies, time.Duration, error) {
	var (
		mu    sync.Mutex
		times latencies
	)
	began := time.Now()
	err := each(ctx, inFlight, m.names(n), func(run string) error {
		began := time.Now()
		if err := m.engine.start(ctx, run); err != nil {
			return err
		}
		end, err := m.board.awaitEnd(ctx, run)
		mu.Lock()
		defer mu.Unlock()
		times = append(times, end.Sub(began))
		return err
	})
	return times, time.Since(began), err
}
