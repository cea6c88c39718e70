package db

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
)

// handedFrom is a run whose commit appended the events from a seq on.
func handedFrom(id, first int64, n int) *handedRun {
	rec := &record{id: id, Records: history.Records{Run: knownAt(fmt.Sprint(id), first+int64(n))}}
	for i := range n {
		rec.Events = append(rec.Events, history.Event{Generation: 1, Seq: first + int64(i), Data: &history.FactsTaken{}})
	}
	return handedRecord(rec, time.Time{})
}

// seqs are those of the events that wait with a run.
func (r *handedRun) seqs() (seqs []int64) {
	for _, e := range r.events {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// anyRun may be advanced.
func anyRun(history.RunKey) bool { return true }

func ids(runs []*handedRun) (ids []int64) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestHandoverGoesInOrder(t *testing.T) {
	t.Parallel()
	h := newHandover()
	if !h.empty() || h.take(5, anyRun) != nil {
		t.Error("a new one is not empty")
	}
	for id := range int64(5) {
		if !h.add(handedFrom(id, 2, 1)) {
			t.Fatalf("run %d was not taken", id)
		}
	}
	h.add(handedFrom(3, 3, 1)) // keeps its place
	h.forget(1)
	h.forget(1) // and once more
	h.forget(99)
	if got := ids(h.take(2, anyRun)); !slices.Equal(got, []int64{0, 2}) {
		t.Errorf("it gives %v first", got)
	}
	h.add(handedFrom(2, 3, 1)) // it was taken, so this is another entry
	h.add(handedFrom(1, 3, 1)) // it was withdrawn, and is due again
	if got := ids(h.take(10, anyRun)); !slices.Equal(got, []int64{3, 4, 2, 1}) {
		t.Errorf("it gives %v then", got)
	}
	if !h.empty() || h.bytes != 0 || len(h.line) != 0 {
		t.Errorf("it keeps %d bytes and %d places when all is taken", h.bytes, len(h.line))
	}
}

// Who may not be advanced yet keeps its place, and keeps nobody else waiting.
func TestHandoverPassesOverWhoMayNot(t *testing.T) {
	t.Parallel()
	h := newHandover()
	for id := range int64(7) {
		h.add(handedFrom(id, 2, 1))
	}
	h.forget(4)
	even := func(key history.RunKey) bool { return key == keyOf("2") || key == keyOf("6") }
	for _, step := range []struct {
		n    int
		may  func(history.RunKey) bool
		want []int64
	}{{1, even, []int64{2}}, {1, even, []int64{6}}, {5, even, nil}, {3, anyRun, []int64{0, 1, 3}}, {3, anyRun, []int64{5}}} {
		if got := ids(h.take(step.n, step.may)); !slices.Equal(got, step.want) {
			t.Errorf("it gives %v, want %v", got, step.want)
		}
	}
	if !h.empty() || h.bytes != 0 || len(h.line) != 0 {
		t.Errorf("%d bytes and %d places are left", h.bytes, len(h.line))
	}
}

func TestHandoverIsBoundedByRuns(t *testing.T) {
	t.Parallel()
	h := newHandover()
	for id := range int64(handedRuns) {
		if !h.add(handedFrom(id, 2, 1)) {
			t.Fatalf("run %d was not taken", id)
		}
	}
	if h.add(handedFrom(handedRuns, 2, 1)) {
		t.Error("more runs wait than may")
	}
	if !h.add(handedFrom(7, 3, 1)) {
		t.Error("what waits already takes no place, and was refused")
	}
	if h.take(1, anyRun); !h.add(handedFrom(handedRuns, 2, 1)) {
		t.Error("a free place was refused")
	}
}

func TestHandoverIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	h := newHandover()
	large := func(id, first int64) *handedRun {
		r := handedFrom(id, first, 1)
		r.size = handedBytes/2 - 1
		return r
	}
	if !h.add(large(1, 2)) || !h.add(large(2, 2)) {
		t.Fatal("what fits was refused")
	}
	if h.add(large(3, 2)) || h.add(large(1, 3)) {
		t.Error("more waits than may")
	}
	h.forget(1)
	if !h.add(large(3, 2)) {
		t.Error("what was withdrawn takes its place still")
	}
	if h.take(1, anyRun); !h.add(large(4, 2)) {
		t.Error("what was taken takes its place still")
	}
	if h.take(9, anyRun); h.bytes != 0 {
		t.Errorf("%d bytes are left", h.bytes)
	}
}

func TestHandoverJoinsWhatFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		adds  []*handedRun
		first int64
		last  int64
	}{
		{"in order", []*handedRun{handedFrom(1, 5, 2), handedFrom(1, 7, 1)}, 5, 7},
		{"in another order", []*handedRun{handedFrom(1, 7, 1), handedFrom(1, 5, 2)}, 7, 7},
		{"twice", []*handedRun{handedFrom(1, 5, 2), handedFrom(1, 5, 2)}, 5, 6},
		{"with a gap", []*handedRun{handedFrom(1, 5, 2), handedFrom(1, 9, 2)}, 9, 10},
		{"with a gap that is closed too late", []*handedRun{handedFrom(1, 5, 2), handedFrom(1, 9, 2), handedFrom(1, 7, 2)}, 9, 10},
		{"after a gap", []*handedRun{handedFrom(1, 5, 2), handedFrom(1, 9, 2), handedFrom(1, 11, 1)}, 9, 11},
	} {
		h := newHandover()
		for _, r := range c.adds {
			h.add(r)
		}
		r := h.take(2, anyRun)[0]
		if seqs := r.seqs(); seqs[0] != c.first || seqs[len(seqs)-1] != c.last || r.Run.NextSeq != c.last+1 {
			t.Errorf("%s: the events %v wait, of a record until %d; want %d to %d", c.name, seqs, r.Run.NextSeq, c.first, c.last)
		}
		if h.bytes != 0 {
			t.Errorf("%s: %d bytes are left", c.name, h.bytes)
		}
	}
}

// A newer record may lack the labels that the one before has: what waits says so.
func TestHandoverSaysThatLabelsAreMissing(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{true, false} {
		h := newHandover()
		first, second := handedFrom(1, 5, 2), handedFrom(1, 7, 1)
		first.bare, second.bare = !bare, bare
		h.add(first)
		h.add(second)
		if r := h.take(1, anyRun)[0]; r.bare != bare {
			t.Errorf("the record that waits lacks labels: %v, want %v", r.bare, bare)
		}
	}
}

// Whatever comes and goes in whatever order: the events of a run have no gap and end where its record does, no run waits
// twice, and what is counted is what waits.
func TestHandoverAtRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHandover()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.Int64Range(1, 4).Draw(t, "run")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				h.forget(id)
			case 1:
				for _, r := range h.take(rapid.IntRange(1, 3).Draw(t, "n"), anyRun) {
					whole(t, r)
				}
			default:
				h.add(handedFrom(id, rapid.Int64Range(2, 9).Draw(t, "seq"), rapid.IntRange(1, 3).Draw(t, "events")))
			}
			var bytes int64
			for _, r := range h.byRun {
				whole(t, r)
				bytes += r.size
			}
			if bytes != h.bytes {
				t.Fatalf("%d bytes are counted, %d wait", h.bytes, bytes)
			}
		}
		seen := map[int64]bool{}
		for _, r := range h.take(100, anyRun) {
			if seen[r.ID] {
				t.Fatalf("run %d waits twice", r.ID)
			}
			seen[r.ID] = true
		}
		if h.bytes != 0 || !h.empty() {
			t.Fatal("something is left")
		}
	})
}

func whole(t *rapid.T, r *handedRun) {
	seqs := r.seqs()
	for i, seq := range seqs {
		if seq != seqs[0]+int64(i) {
			t.Fatalf("run %d has the events %v", r.ID, seqs)
		}
	}
	if len(seqs) == 0 || r.Run.NextSeq != seqs[len(seqs)-1]+1 {
		t.Fatalf("run %d has the events %v of a record until %d", r.ID, seqs, r.Run.NextSeq)
	}
	if r.size != int64(len(seqs))*eventSize {
		t.Fatalf("run %d is counted with %d bytes for %d events", r.ID, r.size, len(seqs))
	}
}
