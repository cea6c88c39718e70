package load

import (
	"math"
	"slices"
	"time"
)

// Quantile is the smallest of the values that at least the share q of them do not exceed; it is zero without values. It
// sorts what it is given.
func Quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(max(int(math.Ceil(q*float64(len(ds))))-1, 0), len(ds)-1)]
}

// Median is the middle value, or the mean of the two in the middle; it is NaN without values.
func Median(vs []float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	vs = slices.Sorted(slices.Values(vs))
	half := len(vs) / 2
	if len(vs)%2 == 1 {
		return vs[half]
	}
	return (vs[half-1] + vs[half]) / 2
}

// Millis is a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Micros is a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
