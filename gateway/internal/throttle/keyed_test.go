package throttle_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

const room = 100

func newKeyed(c *clock) *throttle.Keyed[int] {
	return throttle.NewKeyed[int](throttle.Rate{PerSecond: 1, Burst: 3}, throttle.Rate{PerSecond: 10, Burst: 5}, room, c.Now)
}

// spend empties the key's bucket.
func spend(t *testing.T, k *throttle.Keyed[int], key int, now time.Time) {
	t.Helper()
	for range 3 {
		if _, ok := k.Take(key, now); !ok {
			t.Fatalf("key %d has less than its burst", key)
		}
	}
}

func TestKeyed_each_has_its_own(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := newKeyed(c)
	if _, spent := k.Spent(1, c.Now()); spent || k.Len() != 0 {
		t.Error("a look at an unknown key finds or leaves something")
	}
	spend(t, k, 1, c.Now())
	if _, ok := k.Take(1, c.Now()); ok {
		t.Error("more than the burst")
	}
	if wait, spent := k.Spent(1, c.Now()); !spent || wait != time.Second {
		t.Errorf("got %s, %v", wait, spent)
	}
	spend(t, k, 2, c.Now())
}

// Whoever owes something goes on owing it however many others come: nobody is crowded out.
func TestKeyed_crowds_forgive_no_debt(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := newKeyed(c)
	spend(t, k, -1, c.Now())
	for i := range 100 * room {
		k.Take(i, c.Now())
		if i%room == 0 {
			c.pass(time.Millisecond)
		}
	}
	if _, ok := k.Take(-1, c.Now()); ok {
		t.Error("the debt is forgotten")
	}
	if n := k.Len(); n > room {
		t.Errorf("%d keys are remembered, %d may be", n, room)
	}
	if k.Overflows() == 0 {
		t.Error("no overflow was counted")
	}
	if _, ok := k.Take(-2, c.Now()); ok {
		t.Error("those for whom there is no room have no limit")
	}
	c.pass(4*time.Second + time.Millisecond) // the time in which a bucket is full, and the grain
	before := k.Overflows()
	for i := range room {
		k.Take(-10-i, c.Now())
	}
	if k.Overflows() != before || k.Len() > room {
		t.Errorf("what was full again takes room: %d overflows, %d keys", k.Overflows()-before, k.Len())
	}
}

// A key in use is not forgotten, however long it is in use.
func TestKeyed_use_keeps_a_key(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := newKeyed(c)
	spend(t, k, 1, c.Now())
	for range 100 {
		c.pass(999 * time.Millisecond)
		k.Take(1, c.Now())
	}
	atOnce := 0
	for range 3 {
		if _, ok := k.Take(1, c.Now()); ok {
			atOnce++
		}
	}
	if atOnce > 1 {
		t.Errorf("a key in use got %d at once", atOnce)
	}
}

func TestKeyed_bound_holds_for_many_at_once(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := newKeyed(c)
	var next, passed atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 * room {
				k.Take(int(next.Add(1)), c.Now())
				if _, ok := k.Take(0, c.Now()); ok {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := k.Len(); n > room {
		t.Errorf("%d keys are remembered", n)
	}
	if got := passed.Load(); got > 5 { // its own burst, or the one of those without room
		t.Errorf("one key got %d", got)
	}
}

func TestKeyed_unlimited_remembers_nobody(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := throttle.NewKeyed[int](throttle.Unlimited(), throttle.Unlimited(), room, c.Now)
	for i := range 10 * room {
		if _, ok := k.Take(i, c.Now()); !ok {
			t.Fatal("an unlimited key is limited")
		}
	}
	if k.Len() != 0 {
		t.Errorf("%d keys are remembered", k.Len())
	}
}
