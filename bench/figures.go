package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

var waitSpec = spec.WorkflowSpec{Name: "bench.wait", Version: "1", Signals: []spec.Signal{{Name: "go"}}}

// waitOnce parks on one signal and ends with its payload.
func waitOnce(ctx *engine.Context) (engine.Decision, error) {
	v, ok, err := engine.SignalPayload[json.RawMessage](ctx, "go")
	if err != nil {
		return engine.Decision{}, err
	}
	if !ok {
		return ctx.WaitForSignal("go", "go"), nil
	}
	return ctx.Complete(v), nil
}

// payload is 200 bytes of JSON.
var payload = []byte(`{"text":"` + strings.Repeat("x", 189) + `"}`)

type figures struct {
	inserts, parked, burst float64       // per second
	receipt, p50, p99      time.Duration // of one signal: to its receipt, to the run's end
}

func figuresOf(ctx context.Context, pool *pgxpool.Pool, e *engine.Engine, clients, n int) (figures, error) {
	var f figures
	prefix := fmt.Sprintf("c%d-", clients)
	took, err := spread(clients, n, func(i int) error { return insertCommit(ctx, pool, i) })
	if err != nil {
		return f, err
	}
	f.inserts = rate(n, took)
	took, err = spread(clients, n, func(i int) error {
		_, err := e.Start(ctx, engine.StartRequest{Workflow: waitSpec.Name, RunID: spec.RunID(fmt.Sprint(prefix, i))})
		return err
	})
	if err != nil {
		return f, err
	}
	f.parked = rate(n, took)
	if err := untilNoneDue(ctx, pool); err != nil {
		return f, err
	}
	if f.burst, err = burst(ctx, pool, e, prefix, clients, n); err != nil {
		return f, err
	}
	f.receipt, f.p50, f.p99, err = roundTrips(ctx, e, prefix+"trip-", clients, max(n/4, 50))
	return f, err
}

// burst signals parked runs and waits until the last one ended.
func burst(ctx context.Context, pool *pgxpool.Pool, e *engine.Engine, prefix string, clients, n int) (float64, error) {
	begin := time.Now()
	_, err := spread(clients, n, func(i int) error {
		_, err := e.SendSignal(ctx, engine.SignalRequest{
			RunID: spec.RunID(fmt.Sprint(prefix, i)), SignalID: "1", Name: "go", Payload: payload,
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := untilNoneDue(ctx, pool); err != nil {
		return 0, err
	}
	return rate(n, time.Since(begin)), nil
}

// roundTrips signals one parked run per client at a time and waits for its end.
func roundTrips(ctx context.Context, e *engine.Engine, prefix string, clients, n int) (receipt, p50, p99 time.Duration, err error) {
	receipts, trips := make([]time.Duration, n), make([]time.Duration, n)
	_, err = spread(clients, n, func(i int) error {
		id := spec.RunID(fmt.Sprint(prefix, i))
		if _, err := e.Start(ctx, engine.StartRequest{Workflow: waitSpec.Name, RunID: id}); err != nil {
			return err
		}
		begin := time.Now()
		if _, err := e.SendSignal(ctx, engine.SignalRequest{RunID: id, SignalID: "1", Name: "go", Payload: payload}); err != nil {
			return err
		}
		receipts[i] = time.Since(begin)
		_, err := e.Wait(ctx, id)
		trips[i] = time.Since(begin)
		return err
	})
	return quantile(receipts, 0.5), quantile(trips, 0.5), quantile(trips, 0.99), err
}

func quantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	return ds[int(float64(len(ds)-1)*q)]
}

func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// spread does n pieces of work with some clients and says how long it took.
func spread(clients, n int, work func(i int) error) (time.Duration, error) {
	begin := time.Now()
	var g errgroup.Group
	for c := range clients {
		g.Go(func() error {
			for i := c; i < n; i += clients {
				if err := work(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), err
}

func insertCommit(ctx context.Context, pool *pgxpool.Pool, i int) error {
	if i == 0 {
		if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS bench_raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data text)`); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, `INSERT INTO bench_raw (data) VALUES ($1)`, string(payload))
	return err
}

// untilNoneDue polls until no run has anything to do.
func untilNoneDue(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		var due bool
		if err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM runs WHERE wake_at <= clock_timestamp())`).Scan(&due); err != nil {
			return err
		}
		if !due {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}
