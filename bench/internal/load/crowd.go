package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Spread does the pieces of work 0 to n-1 with some clients, each of which takes the next piece when its last one is
// done, and returns how long it took from the first begin to the last end. The first error ends the rest.
func Spread(ctx context.Context, clients, n int, work func(ctx context.Context, i int) error) (time.Duration, error) {
	var next atomic.Int64
	return crowd(ctx, clients, func() (int, bool) {
		i := int(next.Add(1)) - 1
		return i, i < n
	}, work)
}

// SpreadFor is Spread for as long as it takes in place of a number: clients take new pieces until the time is over, and one
// at least. It returns how many were done and how long that took, the last ones included.
func SpreadFor(
	ctx context.Context, clients int, length time.Duration, work func(ctx context.Context, i int) error,
) (n int, took time.Duration, err error) {
	var next atomic.Int64
	until := time.Now().Add(length)
	took, err = crowd(ctx, clients, func() (int, bool) {
		if next.Load() > 0 && !time.Now().Before(until) {
			return 0, false
		}
		return int(next.Add(1)) - 1, true
	}, work)
	return int(next.Load()), took, err
}

func crowd(
	ctx context.Context, clients int, take func() (int, bool), work func(ctx context.Context, i int) error,
) (time.Duration, error) {
	begin := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range clients {
		g.Go(func() error {
			for i, more := take(); more; i, more = take() {
				if err := work(ctx, i); err != nil {
					return fmt.Errorf("piece %d: %w", i, err)
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), err
}

// PerSecond is a rate. Work that took no time has none.
func PerSecond(n int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(n) / took.Seconds()
}
