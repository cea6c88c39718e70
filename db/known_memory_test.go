package db

import (
	"fmt"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// knownAt is a record of a run that runs and ends before seq.
func knownAt(run string, seq int64) history.Run {
	return history.Run{Key: keyOf(run), Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: seq}
}

// keep keeps a record as a commit left it.
func (k *knownRuns) keep(id int64, run history.Run) { k.put(storedRun{ID: id, Run: run}) }

// seqOf is where a kept record ends; 0 when none is kept.
func (k *knownRuns) seqOf(run string) int64 {
	known, _ := k.get(keyOf(run))
	return known.Run.NextSeq
}

func TestKnownRunsAreBounded(t *testing.T) {
	t.Parallel()
	k := newKnownRuns(3)
	for i := range 5 {
		k.keep(int64(i), knownAt(fmt.Sprint(i), 2))
	}
	if k.seqOf("0")+k.seqOf("1") != 0 || k.order.Len() != 3 || len(k.byKey) != 3 {
		t.Errorf("it keeps %d records by order, %d by key", k.order.Len(), len(k.byKey))
	}
	k.get(keyOf("2"))                // it was used last now,
	k.keep(3, knownAt("3", 5))       // and so was this one
	k.keep(5, knownAt("another", 2)) // pushes out what was used longest ago
	for run, want := range map[string]int64{"2": 2, "3": 5, "4": 0, "another": 2} {
		if got := k.seqOf(run); got != want {
			t.Errorf("%s is known until %d, want %d", run, got, want)
		}
	}
	for _, limit := range []int{0, -1} {
		none := newKnownRuns(limit)
		if none.keep(1, knownAt("a", 2)); none.seqOf("a") != 0 || none.order.Len() != 0 {
			t.Errorf("with the limit %d a record is kept", limit)
		}
	}
}

// Two commits of one run may be published in either order: the newer record stays.
func TestKnownRunsKeepTheNewerRecord(t *testing.T) {
	t.Parallel()
	k := newKnownRuns(10)
	k.keep(1, knownAt("a", 7))
	k.keep(1, knownAt("a", 5))
	if got := k.seqOf("a"); got != 7 {
		t.Errorf("an older record replaced a newer one: %d", got)
	}
	k.drop(knownAt("a", 5))
	if got := k.seqOf("a"); got != 7 {
		t.Errorf("what was found to be old took the newer record along: %d", got)
	}
	k.drop(knownAt("a", 7))
	if got := k.seqOf("a"); got != 0 {
		t.Errorf("a record that was found to be old is kept: %d", got)
	}
	k.keep(1, knownAt("a", 8))
	parked := knownAt("a", 8)
	parked.Backlog = 3
	if k.keep(1, parked); func() int { known, _ := k.get(keyOf("a")); return known.Run.Backlog }() != 3 {
		t.Error("a record of the same seq did not replace the one before")
	}
}

func TestKnownRunsLetGoOfWhatTakesNoSignals(t *testing.T) {
	t.Parallel()
	for _, status := range []history.Status{history.Blocked, history.Completed, history.Failed, history.Cancelled} {
		k := newKnownRuns(10)
		k.keep(1, knownAt("a", 5))
		late := knownAt("a", 4)
		late.Status = status
		if k.keep(1, late); k.seqOf("a") != 5 {
			t.Errorf("%s before the record that is kept took it along", status)
		}
		over := knownAt("a", 6)
		over.Status = status
		if k.keep(1, over); k.seqOf("a") != 0 || k.order.Len() != 0 {
			t.Errorf("a run is known that is %s", status)
		}
		if k.keep(2, over); len(k.byKey) != 0 {
			t.Errorf("a record is kept that is %s", status)
		}
	}
}

// What is kept takes the memory that the limit says: accepting does not read labels, and many are let go. Whoever reads the
// record knows that they are missing.
func TestKnownRunsKeepFewLabels(t *testing.T) {
	t.Parallel()
	few, many := spec.Labels{}, spec.Labels{}
	for i := range keptLabels + 1 {
		if i < keptLabels {
			few[fmt.Sprint(i)] = "x"
		}
		many[fmt.Sprint(i)] = "x"
	}
	k := newKnownRuns(2)
	for run, labels := range map[string]spec.Labels{"few": few, "many": many} {
		labelled := knownAt(run, 2)
		labelled.Labels = labels
		k.keep(1, labelled)
		known, _ := k.get(keyOf(run))
		if missing := len(known.Run.Labels) < len(labels); missing != known.bare || missing != (run == "many") || known.ID != 1 {
			t.Errorf("of %s labels it keeps %v, and says that they are missing: %v", run, known.Run.Labels, known.bare)
		}
		known.Run.NextSeq++
		k.put(known)
		if again, _ := k.get(keyOf(run)); again.bare != known.bare {
			t.Errorf("of %s labels the next record says that they are missing: %v", run, again.bare)
		}
	}
	if len(many) != keptLabels+1 {
		t.Error("the caller's record lost its labels")
	}
}

func TestKnownRunsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	k, s := newKnownRuns(8), newIdentities(8)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 500 {
				run := fmt.Sprint(i % 16)
				k.keep(int64(i%16), knownAt(run, int64(i)))
				k.get(keyOf(fmt.Sprint((i + worker) % 16)))
				k.drop(knownAt(run, int64(i-worker)))
				s.add(keyOf(run), spec.SignalID(fmt.Sprint(i)))
				s.has(keyOf(run), "1")
			}
		})
	}
	group.Wait()
	if k.order.Len() != len(k.byKey) || len(k.byKey) > 8 {
		t.Errorf("%d records by order, %d by key", k.order.Len(), len(k.byKey))
	}
}

// A signal is remembered until as many others came as half the limit, and no more than the limit are.
func TestIdentitiesAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 10
	s := newIdentities(limit)
	id := func(i int) spec.SignalID { return spec.SignalID(fmt.Sprint("s", i)) }
	for i := range 100 {
		s.add(keyOf("a"), id(i))
		kept := 0
		for j := range i + 1 {
			if !s.has(keyOf("a"), id(j)) {
				continue
			}
			kept++
		}
		if kept > limit || kept < min(i+1, limit/2) {
			t.Fatalf("after %d signals it remembers %d", i+1, kept)
		}
		if i-limit/2 >= 0 && !s.has(keyOf("a"), id(i-limit/2+1)) {
			t.Fatalf("after %d signals it forgot one of the last %d", i+1, limit/2)
		}
	}
	if s.has(keyOf("b"), id(99)) || s.has(keyOf("a"), "another") {
		t.Error("it knows what it was not told")
	}
	other := newIdentities(-1) // of a store that knows no runs
	other.add(keyOf("a"), "s")
	other.add(keyOf("a"), "t")
	if n := len(other.young) + len(other.old); n > 2 {
		t.Errorf("without a limit it remembers %d", n)
	}
}
