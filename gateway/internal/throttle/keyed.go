package throttle

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// Keyed is one bucket for each key, of a bounded number of keys. A key is forgotten only when its bucket has had the time to
// be full again, so nobody gets rid of a debt by having others crowd it out. Keys for which there is no room share one
// bucket. It is safe for concurrent use.
type Keyed[K comparable] struct {
	rate  Rate
	limit int
	keys  *otter.Cache[K, *Bucket]
	rest  *Bucket

	mu       sync.Mutex // of new keys
	cleaned  time.Time
	overflow atomic.Int64
}

// clock has otter use the time that the limits use, as it passed since the map was made: that of the wall may jump, and would
// forgive all debts at once. It never ticks: what is over is cleaned up as others come, and no goroutine has to be stopped.
type clock struct {
	now   func() time.Time
	began time.Time
}

func (c clock) NowNano() int64 { return int64(c.now().Sub(c.began)) }

func (clock) Tick(time.Duration) <-chan time.Time { return nil }

// inline runs otter's upkeep where it falls due.
func inline(upkeep func()) { upkeep() }

// NewKeyed makes a map of at most limit keys. rest is the rate of all others together.
func NewKeyed[K comparable](each, rest Rate, limit int, now func() time.Time) *Keyed[K] {
	return &Keyed[K]{
		rate: each, limit: limit, rest: NewBucket(rest),
		keys: otter.Must(&otter.Options[K, *Bucket]{
			// A second more covers the grain of otter's timer wheel.
			ExpiryCalculator: otter.ExpiryAccessingFunc(func(e otter.Entry[K, *Bucket]) time.Duration {
				return e.Value.full(now()) + time.Second
			}),
			Clock: clock{now: now, began: now()}, Executor: inline,
		}),
	}
}

// Take spends one of the key's bucket. If there is none it is false and says how long it takes until there is.
func (k *Keyed[K]) Take(key K, now time.Time) (wait time.Duration, ok bool) {
	if k.rate.IsUnlimited() {
		return 0, true
	}
	return k.Bucket(key, now).Take(now)
}

// Owe spends one of the key's bucket, also one that is not there; see Bucket.Owe. Those who share a bucket owe it nothing.
func (k *Keyed[K]) Owe(key K, now time.Time) {
	if k.rate.IsUnlimited() {
		return
	}
	b := k.Bucket(key, now)
	if b == k.rest {
		b.Take(now)
		return
	}
	b.Owe(now)
	k.keys.GetIfPresent(key) // it is remembered until that is paid
}

// Spent says whether nothing is left in the key's bucket, and for how long. A key that is not known has spent nothing,
// and is not known afterwards either.
func (k *Keyed[K]) Spent(key K, now time.Time) (wait time.Duration, spent bool) {
	b, known := k.keys.GetIfPresent(key)
	if !known {
		return 0, false
	}
	return b.Spent(now)
}

// Bucket is the bucket of a key; the one that those share for which there is no room, when there is none.
func (k *Keyed[K]) Bucket(key K, now time.Time) *Bucket {
	if b, known := k.keys.GetIfPresent(key); known {
		return b
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if b, known := k.keys.GetIfPresent(key); known {
		return b
	}
	if k.full(now) {
		k.overflow.Add(1)
		return k.rest
	}
	b := NewBucket(k.rate)
	k.keys.Set(key, b)
	return b
}

// full says whether there is no room, after a look, once a second, for what is over.
func (k *Keyed[K]) full(now time.Time) bool {
	if k.keys.EstimatedSize() < k.limit {
		return false
	}
	if age := now.Sub(k.cleaned); age < 0 || age >= time.Second {
		k.cleaned = now
		k.keys.CleanUp()
	}
	return k.keys.EstimatedSize() >= k.limit
}

// Len is how many keys are remembered, some of which may be over.
func (k *Keyed[K]) Len() int { return k.keys.EstimatedSize() }

// Overflows is how often there was no room for a key.
func (k *Keyed[K]) Overflows() int64 { return k.overflow.Load() }
