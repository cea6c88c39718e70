package proof

import (
	"math/bits"

	"pgregory.net/rapid"
)

// choose picks one of n evenly, by the toss of coins: rapid's own ranges favour their ends.
func choose(t *rapid.T) Choose {
	coin := rapid.Bool()
	return func(what string, n int) int {
		coins, v := bits.Len(uint(n-1))+2, 0
		for range coins {
			v <<= 1
			if coin.Draw(t, what) {
				v++
			}
		}
		return v * n >> coins
	}
}

// Traces draws traces: some starts, then bursts of operations. Shrinking leaves bursts out, then operations.
func Traces(s Shape) *rapid.Generator[Trace] {
	first := rapid.Custom(func(t *rapid.T) Operation { return s.DrawFirst(choose(t)) })
	start := rapid.Custom(func(t *rapid.T) Operation { return s.DrawStart(choose(t)) })
	operation := rapid.Custom(func(t *rapid.T) Operation { return s.Draw(choose(t)) })
	starts := rapid.SliceOfN(start, 0, 4)
	bursts := rapid.SliceOf(rapid.SliceOfN(operation, 1, 12))
	return rapid.Custom(func(t *rapid.T) Trace {
		drawn := append([]Operation{first.Draw(t, "first")}, starts.Draw(t, "starts")...)
		if choose(t)("turns", 4) < 3 {
			drawn = append(drawn, Operation{Verb: Turns})
		}
		for _, burst := range bursts.Draw(t, "bursts") {
			drawn = append(drawn, burst...)
		}
		if choose(t)("work", 2) == 1 {
			drawn = append(drawn, Operation{Verb: Work})
		}
		return Resolve(append(drawn, Operation{Verb: Turns}))
	})
}
