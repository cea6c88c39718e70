package load_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100) // 100, 99, … 1
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, tt := range []struct {
		ds   []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
		{[]time.Duration{4, 3, 1, 2}, 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.95, 95},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
	} {
		if got := load.Quantile(tt.ds, tt.q); got != tt.want {
			t.Errorf("quantile %v of %d values: %d, want %d", tt.q, len(tt.ds), got, tt.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	unsorted := []float64{9, 1, 5}
	if got := load.Median(unsorted); got != 5 || unsorted[0] != 9 {
		t.Errorf("got %v, and the values are %v", got, unsorted)
	}
	if got := load.Median([]float64{4, 1}); got != 2.5 {
		t.Errorf("of two: %v", got)
	}
	if got := load.Median(nil); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
}

func TestPerSecond(t *testing.T) {
	t.Parallel()
	if got := load.PerSecond(300, 2*time.Second); got != 150 {
		t.Errorf("got %v", got)
	}
	if got := load.PerSecond(300, 0); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}

func TestSpreadDoesEveryPieceOnceAndStopsAtAnError(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	done := map[int]int{}
	if _, err := load.Spread(t.Context(), 7, 100, func(_ context.Context, i int) error {
		mu.Lock()
		defer mu.Unlock()
		done[i]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if done[i] != 1 {
			t.Errorf("piece %d was done %d times", i, done[i])
		}
	}
	if len(done) != 100 {
		t.Errorf("%d pieces", len(done))
	}
	broken := errors.New("broken")
	_, err := load.Spread(t.Context(), 4, 1_000_000, func(ctx context.Context, i int) error {
		if i == 10 {
			return broken
		}
		return ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestSpreadForCountsWhatWasDone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	done := 0
	n, took, err := load.SpreadFor(t.Context(), 3, 5*time.Millisecond, func(context.Context, int) error {
		mu.Lock()
		defer mu.Unlock()
		done++
		return nil
	})
	if err != nil || n != done || n == 0 || took < 5*time.Millisecond {
		t.Errorf("%d of %d in %s: %v", n, done, took, err)
	}
}
