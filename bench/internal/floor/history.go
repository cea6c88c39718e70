package floor

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// historyTables hold five events per run, the signal once more under its unique key, and a narrow row per run.
var historyTables = []string{
	`CREATE TABLE runs (id bigint PRIMARY KEY, status text NOT NULL, next_seq bigint NOT NULL) WITH (fillfactor = 80)`,
	`CREATE TABLE events (run bigint NOT NULL, seq bigint NOT NULL, type text NOT NULL, at timestamptz NOT NULL,
		payload bytea, PRIMARY KEY (run, seq))`,
	`CREATE TABLE signals (run bigint NOT NULL, signal_id text NOT NULL, digest bytea NOT NULL, seq bigint NOT NULL,
		PRIMARY KEY (run, signal_id))`,
}

// How the floor shares commits: what waits is taken at once, up to a limit, by few lanes.
const (
	historyBatch = 256
	acceptLanes  = 2
)

// call is one signal on its way: it is answered when it is stored, and has ended when its run is completed.
type call struct {
	run             int64
	digest          []byte
	answered, ended chan struct{}
}

// History is the floor of an engine with a history: accepting a signal and completing its run are two phases with a
// commit each, and each commit is shared by all runs that are at that point. The second phase learns of the first in
// process. P50 is from sending to the completion, which each client waits for when it is alone; else clients go on when
// their signal is stored.
func History(ctx context.Context, s *server.Server, clients, runs int) (Speed, error) {
	pool, err := open(ctx, s, acceptLanes+1, historyTables...)
	if err != nil {
		return Speed{}, err
	}
	defer pool.Close()
	if err := historyStart(ctx, pool, runs); err != nil {
		return Speed{}, err
	}
	arrived, stored := make(chan *call, clients), make(chan *call, runs)
	lanes, laneCtx := errgroup.WithContext(ctx)
	lanes.Go(func() error {
		defer close(stored)
		var accept errgroup.Group
		for range acceptLanes {
			accept.Go(func() error { return serve(laneCtx, pool, arrived, historyAccept, stored) })
		}
		return accept.Wait()
	})
	lanes.Go(func() error { return serve(laneCtx, pool, stored, historyComplete, nil) })

	calls, times := make([]*call, runs), make([]time.Duration, runs)
	begin := time.Now()
	_, err = load.Spread(laneCtx, clients, runs, func(ctx context.Context, i int) error {
		sent := time.Now()
		digest := sha256.Sum256(Payload)
		c := &call{run: int64(i), digest: digest[:], answered: make(chan struct{}), ended: make(chan struct{})}
		calls[i] = c
		arrived <- c
		if err := until(ctx, c.answered); err != nil || clients > 1 {
			return err
		}
		err := until(ctx, c.ended)
		times[i] = time.Since(sent)
		return err
	})
	for i := 0; err == nil && i < runs; i++ {
		err = until(laneCtx, calls[i].ended)
	}
	took := time.Since(begin)
	close(arrived)
	if failed := lanes.Wait(); failed != nil {
		return Speed{}, failed
	}
	if err != nil {
		return Speed{}, err
	}
	return Speed{load.PerSecond(runs, took), load.Millis(load.Quantile(times, 0.5))}, historyCheck(ctx, pool, runs)
}

func until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve takes what waits, commits it and hands it on, until the channel is closed.
func serve(
	ctx context.Context, pool *pgxpool.Pool, in <-chan *call, commit func(context.Context, *pgxpool.Pool, []*call) error,
	next chan<- *call,
) error {
	for first := range in {
		batch := append(make([]*call, 0, historyBatch), first)
		for more := true; more && len(batch) < historyBatch; {
			select {
			case c, open := <-in:
				if more = open; open {
					batch = append(batch, c)
				}
			default:
				more = false
			}
		}
		if err := commit(ctx, pool, batch); err != nil {
			return err
		}
		for _, c := range batch {
			if next == nil {
				close(c.ended)
				continue
			}
			close(c.answered)
			next <- c
		}
	}
	return nil
}

func historyAccept(ctx context.Context, pool *pgxpool.Pool, batch []*call) error {
	runs, digests, payloads := columns(batch)
	_, err := pool.Exec(ctx, `WITH input AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) i (run, digest, payload)),
		run AS (UPDATE runs SET next_seq = 4, status = 'due' WHERE id = ANY ($1::bigint[])),
		signal AS (INSERT INTO signals SELECT run, '1', digest, 3 FROM input)
		INSERT INTO events SELECT run, 3, 'signal_received', now(), payload FROM input`, runs, digests, payloads)
	return err
}

func historyComplete(ctx context.Context, pool *pgxpool.Pool, batch []*call) error {
	runs, _, payloads := columns(batch)
	_, err := pool.Exec(ctx, `WITH run AS (UPDATE runs SET next_seq = 6, status = 'completed' WHERE id = ANY ($1::bigint[]))
		INSERT INTO events
		SELECT run, 4, 'wait_completed', now(), NULL FROM unnest($1::bigint[]) run
		UNION ALL SELECT run, 5, 'run_completed', now(), payload FROM unnest($1::bigint[], $2::bytea[]) i (run, payload)`, runs, payloads)
	return err
}

func columns(batch []*call) (runs []int64, digests, payloads [][]byte) {
	for _, c := range batch {
		runs, digests, payloads = append(runs, c.run), append(digests, c.digest), append(payloads, Payload)
	}
	return runs, digests, payloads
}

// historyStart parks the runs.
func historyStart(ctx context.Context, pool *pgxpool.Pool, runs int) error {
	for _, sql := range []string{
		`INSERT INTO runs SELECT i, 'parked', 3 FROM generate_series(0, $1) i WHERE $2::bytea IS NOT NULL`,
		`INSERT INTO events SELECT i, 1, 'run_started', now(), $2::bytea FROM generate_series(0, $1) i`,
		`INSERT INTO events SELECT i, 2, 'wait_created', now(), NULL FROM generate_series(0, $1) i WHERE $2::bytea IS NOT NULL`,
	} {
		if _, err := pool.Exec(ctx, sql, runs-1, Payload); err != nil {
			return err
		}
	}
	return nil
}

func historyCheck(ctx context.Context, pool *pgxpool.Pool, runs int) error {
	var events, signals int
	if err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM signals)`).Scan(&events, &signals); err != nil {
		return err
	}
	if events != 5*runs || signals != runs {
		return fmt.Errorf("the floor with a history has %d events and %d signals of %d runs", events, signals, runs)
	}
	return completed(ctx, pool, runs)
}
