package db

import (
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// leastStatements is how many boundaries a move has at least: a move that is held at fewer does not do what it should.
const leastStatements = 5

// sweep holds each move before each of its statements while the others go as far as they can.
func (r *ring) sweep() (statements []int) {
	r.t.Helper()
	for k := range r.duel.moves {
		var others []int
		for other := range r.duel.moves {
			if other != k {
				others = append(others, other)
			}
		}
		n := r.sweepMove(k, others, true)
		if len(others) > 1 {
			slices.Reverse(others)
			r.sweepMove(k, others, false)
		}
		if n < positive(r.duel.least, leastStatements) {
			r.t.Errorf("move %d was held at %d statements only", k, n)
		}
		statements = append(statements, n)
	}
	return statements
}

// sweepMove holds one move while the others begin in their order, queries once more before their binding if bindings is
// set. It returns the number of statements.
func (r *ring) sweepMove(k int, others []int, bindings bool) int {
	r.t.Helper()
	order := append([]int{k}, others...)
	for n := 1; n <= 60; n++ {
		p := staging{order: order, holds: map[int]heldAt{k: {n, pgfault.Hold}}, release: []int{k}}
		f := r.fightOnce(p).faults[k]
		if !f.Happened() {
			return n - 1
		}
		if bindings && isQuery(f.SQL()) {
			p.holds[k] = heldAt{n, pgfault.HoldBind}
			r.fightOnce(p)
		}
	}
	r.t.Fatalf("move %d has no end", k)
	panic("unreachable")
}

// isQuery says that the server takes a statement's snapshot before it is told to execute it.
func isQuery(sql string) bool {
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(line, "--") {
			return strings.HasPrefix(line, "SELECT") || strings.HasPrefix(line, "WITH") && !strings.Contains(sql, "INSERT")
		}
	}
	return false
}

// firstBoundary is the first statement of a transaction that touches a row: before it are BEGIN and the settings.
const firstBoundary = 3

// grid holds both moves, each at each of its statements with every other one of the other move, and lets either go on
// first.
func (r *ring) grid(statements []int) {
	r.t.Helper()
	for n := firstBoundary; n <= statements[0]; n++ {
		for m := firstBoundary + n%2; m <= statements[1]; m += 2 {
			for _, first := range []int{0, 1} {
				r.fightOnce(staging{
					order:   []int{0, 1},
					holds:   map[int]heldAt{0: {n, pgfault.Hold}, 1: {m, pgfault.Hold}},
					release: []int{first, 1 - first},
				})
			}
		}
	}
}

// fightOnce plays and compares what came of it with what may come of it.
func (r *ring) fightOnce(p staging) *bout {
	r.t.Helper()
	b := r.play(p)
	r.ended[b.end]++
	if !slices.Contains(r.duel.ends, b.end) && !slices.Contains(r.duel.rare, b.end) {
		r.t.Errorf("%s:\n%s", b.held(), b.end)
	}
	if r.duel.check != nil {
		r.duel.check(r, b.run)
	}
	return b
}

// fight sweeps a duel and, where both moves are to be held at once, goes over its grid.
func (r *ring) fight(d *duel) {
	r.t.Helper()
	r.enter(d)
	statements := r.sweep()
	if d.grid {
		r.grid(statements)
	}
	for _, end := range d.ends {
		if r.ended[end] == 0 {
			r.t.Errorf("never came to %s", end)
		}
	}
	r.cancelAll()
	r.check()
	r.t.Logf("r%04d to r%04d, held at %v statements, ends %v", r.first, r.n, statements, r.ended)
}

// cancelAll ends what did not end by itself, so that no later duel has turns of it.
func (r *ring) cancelAll() {
	r.t.Helper()
	for _, id := range r.runs("", "closed_at is null") {
		r.ok(&history.CancelRun{Run: keyOf(id), Terminate: true})
	}
}

// duels fights some duels in rings of their own and returns when all have been fought.
func fightAll(t *testing.T, duels []*duel) {
	t.Helper()
	for _, stopped := range []bool{false, true} {
		var some []*duel
		most := 0
		for _, d := range duels {
			if d.stopped == stopped {
				some, most = append(some, d), max(most, len(d.moves))
			}
		}
		if len(some) == 0 {
			continue
		}
		r := newRing(t, stopped, most)
		for _, d := range some {
			if !t.Run(d.name, func(t *testing.T) {
				r.t = t
				r.fight(d)
			}) {
				break // what it left would make others fail
			}
		}
		r.t = t
		r.checkAll()
		r.close()
	}
}
