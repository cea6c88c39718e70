package floor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// TwoCommits is the floor of an engine that shares no commits between runs: one commit stores the signal and changes the
// row of the run, a second one completes the run.
func TwoCommits(ctx context.Context, s *server.Server, clients, runs int) (Speed, error) {
	pool, err := open(ctx, s, clients,
		`CREATE TABLE runs (id bigint PRIMARY KEY, status text NOT NULL, input text NOT NULL, output text) WITH (fillfactor = 60)`,
		`CREATE TABLE signals (run bigint NOT NULL, signal_id text NOT NULL, payload text NOT NULL, PRIMARY KEY (run, signal_id))`)
	if err != nil {
		return Speed{}, err
	}
	defer pool.Close()
	text := string(Payload)
	if _, err := pool.Exec(ctx, `INSERT INTO runs SELECT i, 'parked', $1 FROM generate_series(0, $2) i`, text, runs-1); err != nil {
		return Speed{}, err
	}
	times := make([]time.Duration, runs)
	took, err := load.Spread(ctx, clients, runs, func(ctx context.Context, i int) error {
		begin := time.Now()
		if _, err := pool.Exec(ctx, `WITH signal AS (INSERT INTO signals VALUES ($1, '1', $2))
			UPDATE runs SET status = 'due' WHERE id = $1 AND status = 'parked'`, i, text); err != nil {
			return err
		}
		_, err := pool.Exec(ctx, `UPDATE runs SET status = 'completed', output = $2 WHERE id = $1 AND status = 'due'`, i, text)
		times[i] = time.Since(begin)
		return err
	})
	if err != nil {
		return Speed{}, err
	}
	return Speed{load.PerSecond(runs, took), load.Millis(load.Quantile(times, 0.5))}, completed(ctx, pool, runs)
}

// completed checks that the floor did its work.
func completed(ctx context.Context, pool *pgxpool.Pool, want int) error {
	var n int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM runs WHERE status = 'completed'`).Scan(&n); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d of %d runs of a floor completed", n, want)
	}
	return nil
}
