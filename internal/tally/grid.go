package tally

import (
	"slices"
	"sync/atomic"
)

// Other is the word under which a grid counts whatever is none of a dimension's words.
const Other = "other"

// Count says how often something happened that these words name, one of each dimension.
type Count struct {
	Labels []string
	Times  int64
}

// Grid counts events by one word of each of its dimensions. The words are fixed when it is made: any other one is counted
// as Other, so that nothing that a caller sends becomes a word.
type Grid struct {
	words [][]string
	place []map[string]int
	cells []atomic.Int64
	shown map[int]bool // by Expect
}

// NewGrid makes a grid of these dimensions. A word that is there twice counts once; Other is added to each dimension.
func NewGrid(dimensions ...[]string) *Grid {
	g := &Grid{}
	size := 1
	for _, words := range dimensions {
		words = slices.Clone(words)
		slices.Sort(words)
		words = append(slices.DeleteFunc(slices.Compact(words), func(w string) bool { return w == Other }), Other)
		place := make(map[string]int, len(words))
		for i, w := range words {
			place[w] = i
		}
		g.words, g.place = append(g.words, words), append(g.place, place)
		size *= len(words)
	}
	g.cells = make([]atomic.Int64, size)
	return g
}

// Expect has Happened tell of one combination also while it never happened. It is called before the grid is used.
func (g *Grid) Expect(words ...string) {
	if g.shown == nil {
		g.shown = map[int]bool{}
	}
	g.shown[g.cell(words)] = true
}

// Add counts one event. It takes one word of each dimension, in their order; a missing one is Other.
func (g *Grid) Add(words ...string) { g.cells[g.cell(words)].Add(1) }

func (g *Grid) cell(words []string) (at int) {
	for i, place := range g.place {
		p := len(place) - 1 // Other
		if i < len(words) {
			if known, ok := place[words[i]]; ok {
				p = known
			}
		}
		at = at*len(place) + p
	}
	return at
}

// Counts are those of all combinations, also of what never happened, but for such of the word Other: a reader that
// computes rates has to see a series before its first event.
func (g *Grid) Counts() []Count {
	return g.counts(func(_ int, labels []string, times int64) bool { return times > 0 || !slices.Contains(labels, Other) })
}

// Happened are the counts above zero, and those of Expect: for grids that have many combinations and use few.
func (g *Grid) Happened() []Count {
	return g.counts(func(at int, _ []string, times int64) bool { return times > 0 || g.shown[at] })
}

func (g *Grid) counts(want func(int, []string, int64) bool) []Count {
	var all []Count
	labels := make([]string, len(g.words))
	for at := range g.cells {
		rest := at
		for i := len(g.words) - 1; i >= 0; i-- {
			labels[i] = g.words[i][rest%len(g.words[i])]
			rest /= len(g.words[i])
		}
		if times := g.cells[at].Load(); want(at, labels, times) {
			all = append(all, Count{Labels: slices.Clone(labels), Times: times})
		}
	}
	return all
}
