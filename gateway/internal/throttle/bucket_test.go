package throttle_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := throttle.NewBucket(throttle.Rate{PerSecond: 2, Burst: 3})
	for range 3 {
		if _, ok := b.Take(c.Now()); !ok {
			t.Fatal("a full bucket is empty")
		}
	}
	for range 5 { // refusals cost nothing
		if wait, ok := b.Take(c.Now()); ok || wait != 500*time.Millisecond {
			t.Fatalf("got %s, %v", wait, ok)
		}
	}
	if wait, spent := b.Spent(c.Now()); !spent || wait != 500*time.Millisecond {
		t.Errorf("spent: got %s, %v", wait, spent)
	}
	c.pass(499 * time.Millisecond)
	if _, ok := b.Take(c.Now()); ok {
		t.Error("refilled too early")
	}
	c.pass(time.Millisecond)
	if _, ok := b.Take(c.Now()); !ok {
		t.Error("not refilled in time")
	}
	c.pass(time.Hour)
	state, known := b.State(c.Now())
	if want := (throttle.State{Quota: 3, Refill: 1500 * time.Millisecond, Left: 3}); !known || state != want {
		t.Errorf("after a rest: got %+v, want %+v", state, want)
	}
	b.Take(c.Now())
	if state, _ = b.State(c.Now()); state.Left != 2 || state.Full != 500*time.Millisecond {
		t.Errorf("got %+v", state)
	}
}

// What is held is nobody else's, and is back when it was not spent.
func TestBucket_Hold(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := throttle.NewBucket(throttle.Rate{PerSecond: 1, Burst: 2})
	for range 2 {
		if _, ok := b.Hold(c.Now()); !ok {
			t.Fatal("a full bucket is empty")
		}
	}
	if wait, ok := b.Hold(c.Now()); ok || wait != time.Second {
		t.Errorf("got %s, %v while all is held", wait, ok)
	}
	if _, ok := b.Take(c.Now()); ok {
		t.Error("what is held was taken")
	}
	b.Settle(c.Now(), false)
	b.Settle(c.Now(), true)
	if _, ok := b.Take(c.Now()); !ok {
		t.Error("what was not spent is gone")
	}
	if _, ok := b.Take(c.Now()); ok {
		t.Error("what was spent is there")
	}
}

func TestBucket_many_at_once_get_what_there_is(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := throttle.NewBucket(throttle.Rate{PerSecond: 1, Burst: 50})
	var taken atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if i%2 == 0 {
				if _, ok := b.Hold(c.Now()); ok {
					taken.Add(1)
					b.Settle(c.Now(), true)
				}
				return
			}
			if _, ok := b.Take(c.Now()); ok {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	if got := taken.Load(); got != 50 {
		t.Errorf("%d were taken of 50", got)
	}
}

func TestBucket_unlimited(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := throttle.NewBucket(throttle.Unlimited())
	for range 1000 {
		if _, ok := b.Take(c.Now()); !ok {
			t.Fatal("an unlimited bucket is empty")
		}
	}
	if _, known := b.State(c.Now()); known {
		t.Error("it has a state")
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rate throttle.Rate
		want time.Duration
	}{
		{throttle.Rate{PerSecond: 2, Burst: 3}, 1500 * time.Millisecond},
		{throttle.Rate{PerSecond: 1e-9, Burst: 1000}, 30 * 24 * time.Hour},
		{throttle.Unlimited(), 0},
	} {
		if got := tc.rate.Refill(); got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.rate, got, tc.want)
		}
	}
	if got := (throttle.Rate{PerSecond: 2, Burst: 3}).Times(4); got != (throttle.Rate{PerSecond: 8, Burst: 12}) {
		t.Errorf("times: got %+v", got)
	}
	if !throttle.Unlimited().Times(3).IsUnlimited() {
		t.Error("three times no limit is a limit")
	}
}
