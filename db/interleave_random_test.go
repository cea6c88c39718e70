package db

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// juggling has a hook and a wait with one deadline. The first message makes it continue as new, the second completes it,
// an answer completes it, the deadline fails it.
func juggling(s *history.State) history.Decision {
	in := duelDeadline
	status, message := s.Wait("w")
	h := s.Hook("h")
	switch {
	case h.State == history.StateResumed:
		return decide(&history.Complete{Output: h.Payload})
	case status == history.WaitLate:
		return decide(&history.Fail{Message: "late"})
	case status == history.WaitDone && s.Generation() == 1:
		return decide(&history.ContinueAsNew{Input: message})
	case status == history.WaitDone:
		return decide(&history.Complete{Output: message})
	}
	hook := asks(s)
	hook.In = &in
	return decide(hook, &history.OpenWait{ID: "w", Signal: "approved", Timeout: &in})
}

// tick moves the clock to the deadline.
func tick(c *contestant) string {
	c.setClock(c.late())
	return "later"
}

// anyMove is what is chosen from at random.
var anyMove = map[string]func(*contestant) string{
	"signal s=1":     to(signals("s", "1")),
	"signal s=2":     to(signals("s", "2")),
	"signal t=1":     to(signals("t", "1")),
	"rejected s=1":   to(named("rejected", "s", "1")),
	"answer 1":       to(answers("h", "1")),
	"answer 2":       to(answers("h", "2")),
	"token 1":        byToken("1"),
	"dispose":        to(disposes("h")),
	"cancel":         to(cancels(false)),
	"terminate":      to(cancels(true)),
	"retry":          to(retries),
	"start":          to(starts("1")),
	"other start":    to(starts("2")),
	"claim":          claimsDue,
	"claim one":      claimsOne(""),
	"block":          blocks(4),
	"wake blocked":   wakes,
	"host's call":    hosts(addressed{"", answers("h", "1")}, addressed{"", signals("s", "1")}),
	"host's start":   hosts(addressed{"", signals("t", "1")}, addressed{"", starts("1")}),
	"batch":          settles(addressed{"", signals("s", "1")}, addressed{"", signals("t", "1")}),
	"mixed batch":    settles(addressed{"", answers("h", "2")}, addressed{"", cancels(false)}),
	"starting batch": settles(addressed{"", starts("1")}, addressed{"", signals("s", "1")}),
	"tick":           tick,
}

// anyBeginning is where a run stands before the moves.
var anyBeginning = map[string]func(r *ring, run string){
	"not started": notYet,
	"due":         func(r *ring, run string) { r.ok(r.startOf(run)) },
	"parked":      nil,
	"answered":    answeredRun,
	"blocked":     blockedRun,
}

// serials remembers what comes of moves that are made one after the other, in each order.
type serials map[string]map[string]bool

func (all serials) of(r *ring, beginning string, moves []string) map[string]bool {
	key := beginning + ": " + strings.Join(moves, ", ")
	if all[key] == nil {
		all[key] = map[string]bool{}
		for _, order := range orders(len(moves)) {
			all[key][r.play(staging{order: order}).end] = true
		}
	}
	return all[key]
}

// orders are the permutations of 0 to n-1.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}

// Any two or three moves, each held anywhere, come to what they come to one after the other, in one order or another.
func TestInterleavedAtRandom(t *testing.T) {
	t.Parallel()
	const most = 3
	r := newRing(t, true, most)
	r.enter(&duel{again: true, code: juggling, moves: make([]func(*contestant) string, most)})
	known := serials{}
	names := slices.Sorted(maps.Keys(anyMove))
	beginnings := slices.Sorted(maps.Keys(anyBeginning))
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(names), 2, most).Draw(t, "moves")
		beginning := rapid.SampledFrom(beginnings).Draw(t, "beginning")
		d := *r.duel
		d.prepare, d.moves = anyBeginning[beginning], nil
		for _, name := range chosen {
			d.moves = append(d.moves, anyMove[name])
		}
		r.duel = &d
		may := known.of(r, beginning, chosen)
		for i := range 3 {
			p := anyPlan(len(chosen)).Draw(t, fmt.Sprint("plan ", i))
			b := r.play(p)
			if len(p.holds) > 0 {
				held++
			}
			if !may[b.end] {
				t.Fatalf("%s, %v, %s:\n%s\none after the other:\n%s", beginning, chosen, b.held(), b.end,
					strings.Join(slices.Sorted(maps.Keys(may)), "\n"))
			}
		}
	})
	if held < 100 {
		t.Errorf("moves were held %d times only", held)
	}
	r.cancelAll()
	r.check()
	r.checkAll()
	r.close()
	t.Logf("%d bouts, %d of them with moves held", r.n, held)
}

// anyPlan holds some moves at some of the statements of an ordinary transaction.
func anyPlan(moves int) *rapid.Generator[staging] {
	return rapid.Custom(func(t *rapid.T) staging {
		all := make([]int, moves)
		for k := range all {
			all[k] = k
		}
		p := staging{
			order: rapid.Permutation(all).Draw(t, "order"), holds: map[int]heldAt{},
			release: rapid.Permutation(all).Draw(t, "release"),
		}
		for k := range all {
			if n := rapid.IntRange(0, 12).Draw(t, "at"); n > 0 {
				p.holds[k] = heldAt{n, rapid.SampledFrom([]pgfault.Kind{pgfault.Hold, pgfault.HoldBind}).Draw(t, "kind")}
			}
		}
		return p
	})
}
