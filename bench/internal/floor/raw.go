package floor

import (
	"context"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// Raw is the rate of single-row insert commits: each client inserts a row of 200 bytes through pgx, with a prepared
// statement, and waits for the commit.
func Raw(ctx context.Context, s *server.Server, clients int, length time.Duration) (Speed, error) {
	pool, err := open(ctx, s, clients, `CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data text NOT NULL)`)
	if err != nil {
		return Speed{}, err
	}
	defer pool.Close()
	text := string(Payload)
	insert := func(ctx context.Context, _ int) error {
		_, err := pool.Exec(ctx, `INSERT INTO raw (data) VALUES ($1)`, text)
		return err
	}
	if _, err := load.Spread(ctx, clients, 4*clients, insert); err != nil { // connects and prepares
		return Speed{}, err
	}
	var mu sync.Mutex
	var times []time.Duration
	n, took, err := load.SpreadFor(ctx, clients, length, func(ctx context.Context, i int) error {
		begin := time.Now()
		err := insert(ctx, i)
		spent := time.Since(begin)
		mu.Lock()
		times = append(times, spent)
		mu.Unlock()
		return err
	})
	return Speed{load.PerSecond(n, took), load.Millis(load.Quantile(times, 0.5))}, err
}
