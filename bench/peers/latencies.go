package main

import (
	"math"
	"slices"
	"time"
)

// latencies are times of one kind, in no order.
type latencies []time.Duration

// percentiles are by nearest rank: with few times, the 99th is the longest.
func (l latencies) percentiles() percentiles {
	sorted := slices.Sorted(slices.Values(l))
	at := func(share float64) float64 {
		if len(sorted) == 0 {
			return 0
		}
		rank := int(math.Ceil(share * float64(len(sorted))))
		return rounded(float64(sorted[max(rank, 1)-1]) / float64(time.Millisecond))
	}
	return percentiles{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}
