package throttle

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bucket holds what may still happen. It begins full and is safe for concurrent use; the times it is given should not run
// backwards.
type Bucket struct {
	rate    Rate
	limiter *rate.Limiter

	mu   sync.Mutex
	held int // by Hold, not spent yet
}

// NewBucket makes a full bucket.
func NewBucket(r Rate) *Bucket {
	return &Bucket{rate: r, limiter: rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// Take spends one. If there is none it is false and says how long it takes until there is.
func (b *Bucket) Take(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait, ok = b.left(now); ok {
		b.limiter.AllowN(now, 1)
	}
	return wait, ok
}

// Hold keeps one back for something whose outcome decides whether it is spent; Settle must follow. If there is none it is
// false and says how long it takes until there is, should all that is held be spent.
func (b *Bucket) Hold(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait, ok = b.left(now); ok {
		b.held++
	}
	return wait, ok
}

// Settle ends a Hold: the one that was kept back is spent or is there again.
func (b *Bucket) Settle(now time.Time, spend bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
	if spend {
		b.limiter.AllowN(now, 1)
	}
}

// debts bounds what may be owed to a bucket, in full ones.
const debts = 9

// Owe spends one for something that has happened already, also one that is not there: what comes next pays for it first.
func (b *Bucket) Owe(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rate.IsUnlimited() && b.limiter.TokensAt(now) > -debts*float64(b.rate.Burst) {
		b.limiter.ReserveN(now, 1)
	}
}

// full is how long the bucket, whatever is taken now, needs at most until it is full again.
func (b *Bucket) full(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	owed := max(0, -b.limiter.TokensAt(now)) / b.rate.PerSecond
	return min(longest, b.rate.Refill()+time.Duration(owed*float64(time.Second)))
}

// Spent says whether nothing is left, and for how long.
func (b *Bucket) Spent(now time.Time) (wait time.Duration, spent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait, ok := b.left(now)
	return wait, !ok
}

func (b *Bucket) left(now time.Time) (wait time.Duration, ok bool) {
	if b.rate.IsUnlimited() {
		return 0, true
	}
	missing := 1 - (b.limiter.TokensAt(now) - float64(b.held))
	if missing <= 0 {
		return 0, true
	}
	return time.Duration(math.Ceil(missing / b.rate.PerSecond * float64(time.Second))), false
}

// State is what a caller may be told of a bucket.
type State struct {
	Quota  int           // how many a full bucket holds
	Refill time.Duration // until an empty one is full
	Left   int           // what is left
	Full   time.Duration // until this one is full
}

// State tells how full the bucket is. An unlimited one has no state.
func (b *Bucket) State(now time.Time) (State, bool) {
	if b.rate.IsUnlimited() {
		return State{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := max(0, b.limiter.TokensAt(now)-float64(b.held))
	missing := (float64(b.rate.Burst) - left) / b.rate.PerSecond
	return State{
		Quota: b.rate.Burst, Refill: b.rate.Refill(),
		Left: int(left), Full: min(time.Duration(missing*float64(time.Second)), longest),
	}, true
}
