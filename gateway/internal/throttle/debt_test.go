package throttle_test

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

// What is owed is paid before anything else, and has a bound.
func TestBucket_Owe(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := throttle.NewBucket(throttle.Rate{PerSecond: 1, Burst: 3})
	for range 5 {
		b.Owe(c.Now())
	}
	if wait, ok := b.Take(c.Now()); ok || wait != 3*time.Second {
		t.Errorf("with two owed: got %s, %v", wait, ok)
	}
	if state, _ := b.State(c.Now()); state.Left != 0 {
		t.Errorf("got %+v", state)
	}
	for range 1000 {
		b.Owe(c.Now())
	}
	if wait, spent := b.Spent(c.Now()); !spent || wait > 29*time.Second || wait < 27*time.Second {
		t.Errorf("with much owed: got %s, %v", wait, spent)
	}
	c.pass(29 * time.Second)
	if _, ok := b.Take(c.Now()); !ok {
		t.Error("it is never paid")
	}
	free := throttle.NewBucket(throttle.Unlimited())
	free.Owe(c.Now())
	if _, ok := free.Take(c.Now()); !ok {
		t.Error("an unlimited bucket is owed something")
	}
}

// A key is remembered until what it owes is paid and its bucket had the time to be full, whoever comes meanwhile; those who
// share a bucket owe it nothing.
func TestKeyed_remembers_what_is_owed(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := newKeyed(c)
	for range 20 {
		k.Owe(-1, c.Now())
	}
	for second := range 16 {
		c.pass(time.Second)
		for i := range 2 * room {
			k.Take(second*2*room+i, c.Now())
		}
	}
	if _, spent := k.Spent(-1, c.Now()); !spent {
		t.Error("the debt is forgotten")
	}
	c.pass(time.Minute)
	for i := range 2 * room {
		k.Owe(-100-i, c.Now())
	}
	for range 50 {
		k.Owe(-1000, c.Now())
	}
	c.pass(time.Second)
	if _, ok := k.Take(-1000, c.Now()); !ok {
		t.Error("those without room of their own owe something")
	}
}
