package tally_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/tally"
)

func times(counts []tally.Count, labels ...string) int64 {
	for _, c := range counts {
		if slices.Equal(c.Labels, labels) {
			return c.Times
		}
	}
	return -1
}

// What is expected is told before it happens, and nothing else is.
func TestHappenedTellsWhatIsExpected(t *testing.T) {
	t.Parallel()
	g := tally.NewGrid([]string{"a", "b"}, []string{"x", "y"})
	g.Expect("b", "y")
	g.Add("a", "x")
	if got := g.Happened(); len(got) != 2 || times(got, "a", "x") != 1 || times(got, "b", "y") != 0 {
		t.Errorf("happened: %v", got)
	}
}

func TestGridCountsByFixedWords(t *testing.T) {
	t.Parallel()
	g := tally.NewGrid([]string{"b", "a", "a", tally.Other}, []string{"x", "y"})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			g.Add("a", "y")
			g.Add("a", "junk\x00")
			g.Add("junk")
			g.Add()
			g.Add("b", "x", "more than there is")
		})
	}
	all.Wait()
	counts := g.Counts()
	for _, want := range []struct {
		labels []string
		times  int64
	}{
		{[]string{"a", "y"}, 100},
		{[]string{"a", tally.Other}, 100},
		{[]string{tally.Other, tally.Other}, 200},
		{[]string{"b", "x"}, 100},
		{[]string{"b", "y"}, 0},
		{[]string{"a", "x"}, 0},
		{[]string{"b", tally.Other}, -1}, // never happened, and is no word of its own
	} {
		if got := times(counts, want.labels...); got != want.times {
			t.Errorf("%v: got %d, want %d", want.labels, got, want.times)
		}
	}
	if len(counts) != 6 || len(g.Happened()) != 4 {
		t.Errorf("%d counts, %d of what happened: %v", len(counts), len(g.Happened()), counts)
	}
}

func TestHistogramCountsUpToItsBounds(t *testing.T) {
	t.Parallel()
	h := tally.NewHistogram([]time.Duration{time.Millisecond, time.Second})
	for _, d := range []time.Duration{-time.Hour, 0, time.Millisecond, time.Millisecond + 1, time.Second, time.Hour} {
		h.Observe(d)
	}
	d := h.Distribution()
	if !slices.Equal(d.UpTo, []uint64{3, 5}) || d.Count != 6 || d.Sum != time.Hour+time.Second+2*time.Millisecond+1 {
		t.Errorf("got %+v", d)
	}
	if !slices.IsSorted(tally.Seconds()) {
		t.Error("the bounds do not ascend")
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	g, h := tally.NewGrid([]string{"a"}, []string{"b"}), tally.NewHistogram(tally.Seconds())
	if n := testing.AllocsPerRun(100, func() { g.Add("a", "b"); h.Observe(time.Second) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
