package db

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// knownBeginnings is where a run stands before the moves of processes that know runs.
var knownBeginnings = map[string]func(r *ring, run string){
	"known": parkedBy, "handed over": answeredBy, "started and handed over": startedBy, "blocked behind the back": blockedBehind,
}

// Any two or three moves of processes that decide on what they know, and advance what they made due, each held anywhere,
// come to what they come to one after the other, in one order or another.
func TestKnownInterleavedAtRandom(t *testing.T) {
	t.Parallel()
	const most = 3
	r := newRing(t, true, most)
	r.letKnow()
	r.enter(&duel{again: true, code: juggling, moves: make([]func(*contestant) string, most)})
	moves := maps.Clone(anyMove)
	moves["hand-over"], moves["put off"] = handsOver, putsOff
	moves["signals"] = func(c *contestant) string { // of one batch
		answers := c.lane(c.store, c.signal(c.run, "s", "1"), c.signal(c.run, "t", "1"), c.signal(c.run, "s", "1"))
		return strings.Join(readings(answers), ", ")
	}
	names := append(slices.Sorted(maps.Keys(moves)), "hand-over", "hand-over", "signals", "signal s=1", "signal t=1")
	beginnings := slices.Sorted(maps.Keys(knownBeginnings))
	known, held := serials{}, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{2, 2, 2, most}).Draw(t, "number of moves")
		chosen := rapid.SliceOfN(rapid.SampledFrom(names), n, n).Draw(t, "moves")
		beginning := rapid.SampledFrom(beginnings).Draw(t, "beginning")
		d := *r.duel
		d.prepare, d.moves = knownBeginnings[beginning], nil
		for _, name := range chosen {
			d.moves = append(d.moves, moves[name])
		}
		r.duel = &d
		may := known.of(r, beginning, chosen)
		p := anyPlan(len(chosen)).Draw(t, "plan")
		b := r.play(p)
		if len(p.holds) > 0 {
			held++
		}
		if !may[b.end] {
			t.Fatalf("%s, %v, %s:\n%s\none after the other:\n%s", beginning, chosen, b.held(), b.end,
				strings.Join(slices.Sorted(maps.Keys(may)), "\n"))
		}
	})
	if held < 50 {
		t.Errorf("moves were held %d times only", held)
	}
	for _, c := range r.corners {
		r.truthful(c.store)
		c.store.withdraw()
	}
	r.scheduled()
	r.cancelAll()
	r.check()
	r.checkAll()
	r.close()
	t.Logf("%d bouts, %d of them with moves held", r.n, held)
}
