package throttle

import (
	"math"
	"time"
)

// Rate is how often something may happen: PerSecond times in the long run, and Burst times at once after a rest. Both are
// above zero; PerSecond may be infinite.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Unlimited is the rate of what is not limited.
func Unlimited() Rate { return Rate{PerSecond: math.Inf(1), Burst: 1} }

// IsUnlimited says whether the rate limits nothing.
func (r Rate) IsUnlimited() bool { return math.IsInf(r.PerSecond, 1) }

// Times is the rate of n of these together.
func (r Rate) Times(n int) Rate { return Rate{PerSecond: r.PerSecond * float64(n), Burst: r.Burst * n} }

// longest bounds a time of refilling, which may be anything: nobody remembers for longer.
const longest = 30 * 24 * time.Hour

// Refill is how long an empty bucket of this rate takes to be full, at most 30 days.
func (r Rate) Refill() time.Duration {
	seconds := float64(r.Burst) / r.PerSecond
	if seconds >= longest.Seconds() {
		return longest
	}
	return time.Duration(seconds * float64(time.Second))
}
