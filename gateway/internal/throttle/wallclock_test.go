package throttle_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

// raw is how package time keeps a time that has a monotonic reading.
type raw struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

// jumped is a time after somebody has set the clock of the wall: by seconds, while none passed.
func jumped(t time.Time, by int64) time.Time {
	r := (*raw)(unsafe.Pointer(&t))
	r.wall += uint64(by) << 30
	return t
}

// Whoever sets the clock forgives no debt.
func TestKeyed_a_clock_that_is_set(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := throttle.NewKeyed[int](throttle.Rate{PerSecond: 1, Burst: 3}, throttle.Unlimited(), room, func() time.Time { return now })
	spend(t, k, 1, now)
	for _, by := range []int64{3600, -7200} {
		before := now
		now = jumped(now, by)
		if now.Sub(before) != 0 || now.Unix()-before.Unix() != by {
			t.Fatalf("the clock was set by %d s, and %s passed", now.Unix()-before.Unix(), now.Sub(before))
		}
		if _, ok := k.Take(1, now); ok {
			t.Errorf("the debt is forgotten when the clock is set by %d s", by)
		}
	}
}
