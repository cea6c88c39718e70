// Command bench measures the engine on a private, durable PostgreSQL of its own and prints each figure beside the raw
// single-row insert-commit rate of the same server in the same run. Absolute figures do not hold across machines; the
// ratios do, roughly. It is bounded in time and leaves nothing behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed"
	"github.com/flowgate-go/flowgate/tokens"
)

func main() {
	runs := flag.Int("runs", 4000, "runs per figure, at most 100000")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := run(ctx, min(*runs, 100_000)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int) error {
	dir, err := os.MkdirTemp("", "flowgate-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server may run under another account
		return err
	}
	server, err := pgembed.Start(ctx, pgembed.Config{Dir: filepath.Join(dir, "pg"), Durable: true, Params: []string{"max_wal_size=4GB"}})
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	if err := db.Migrate(ctx, server.URL()); err != nil {
		return err
	}
	cfg, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		return err
	}
	cfg.MaxConns = 80
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	return measure(ctx, pool, runs)
}

// measure prints a table for 1, 16 and 64 clients.
func measure(ctx context.Context, pool *pgxpool.Pool, runs int) error {
	e, err := newEngine(ctx, pool)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() {
		cancel()
		<-ended //nolint:errcheck // it was cancelled here
	}()
	fmt.Println("clients  insert commits/s  start+park/s  burst runs/s  (ratio)  receipt p50 ms  round trip p50 ms   p99 ms")
	for _, clients := range []int{1, 16, 64} {
		n := runs
		if clients == 1 {
			n = max(runs/8, 1)
		}
		f, err := figuresOf(ctx, pool, e, clients, n)
		if err != nil {
			return err
		}
		fmt.Printf("%7d  %16.0f  %12.0f  %12.0f  %6.2f  %15.2f  %17.2f  %7.2f\n", clients, f.inserts, f.parked, f.burst,
			f.burst/f.inserts, ms(f.receipt), ms(f.p50), ms(f.p99))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func newEngine(ctx context.Context, pool *pgxpool.Pool) (*engine.Engine, error) {
	key := tokens.Key{ID: "bench", Secret: make([]byte, 32)}
	keys, err := tokens.NewKeyring([]tokens.Key{key}, []tokens.Key{key})
	if err != nil {
		return nil, err
	}
	e, err := engine.New(ctx, engine.Config{Pool: pool, Keys: keys})
	if err != nil {
		return nil, err
	}
	return e, e.Register(waitSpec, waitOnce)
}
