package tally

import (
	"sort"
	"sync/atomic"
	"time"
)

// Histogram counts durations by upper bounds.
type Histogram struct {
	bounds []time.Duration
	counts []atomic.Uint64 // the last one of what is above all bounds
	sum    atomic.Int64
}

// Distribution is what a histogram holds. Readings under way may be in one of its numbers and not yet in another.
type Distribution struct {
	Bounds []time.Duration // ascending
	UpTo   []uint64        // how many durations are at most the bound of the same place
	Count  uint64          // of all durations
	Sum    time.Duration
}

// Seconds are bounds for what should take a fraction of a second, and at worst minutes.
func Seconds() []time.Duration {
	return []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second,
		2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
}

// NewHistogram makes one with these bounds, which ascend.
func NewHistogram(bounds []time.Duration) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts one duration. One below zero counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	h.counts[sort.Search(len(h.bounds), func(i int) bool { return d <= h.bounds[i] })].Add(1)
	h.sum.Add(int64(d))
}

// Distribution reads it.
func (h *Histogram) Distribution() Distribution {
	d := Distribution{Bounds: h.bounds, UpTo: make([]uint64, len(h.bounds)), Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		d.Count += h.counts[i].Load()
		if i < len(d.UpTo) {
			d.UpTo[i] = d.Count
		}
	}
	return d
}
