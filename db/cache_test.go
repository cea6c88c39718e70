package db

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// stateAt is a fold that ends before seq.
func stateAt(t testing.TB, seq int64) *history.State {
	t.Helper()
	events := []history.Event{{Generation: 1, Seq: 1, Data: &history.RunStarted{Workflow: "w", Version: "1", Input: null}}}
	for s := int64(2); s < seq; s++ {
		events = append(events, history.Event{Generation: 1, Seq: s, Data: &history.FactsTaken{}})
	}
	s, err := history.Fold(keyOf("a"), nil, events)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	run := history.Run{Key: keyOf("a"), Generation: 1, FirstSeq: 1, NextSeq: 9}
	held := func(c *stateCache) (ids []int64) {
		for e := c.order.Front(); e != nil; e = e.Next() {
			ids = append(ids, e.Value.(cachedState).run)
		}
		return ids
	}
	c := newStateCache(3, 100)
	for id := range int64(5) {
		c.put(id, stateAt(t, 3), 10)
	}
	if diff := cmp.Diff([]int64{4, 3, 2}, held(c)); diff != "" {
		t.Errorf("by number: %s", diff)
	}
	c.put(5, stateAt(t, 3), 85)
	if diff := cmp.Diff([]int64{5, 4}, held(c)); diff != "" || c.bytes != 95 {
		t.Errorf("by size: %s %d bytes", diff, c.bytes)
	}
	c.put(5, stateAt(t, 3), 101)
	if diff := cmp.Diff([]int64{4}, held(c)); diff != "" {
		t.Errorf("a state larger than the cache replaced all: %s", diff)
	}
	if s, size := c.take(4, run); s == nil || size != 10 {
		t.Error("a kept state was not found")
	}
	if s, _ := c.take(4, run); s != nil {
		t.Error("a state was given twice")
	}
	c.put(6, stateAt(t, 3), 1)
	c.drop(6)
	if len(c.byRun) != 0 || c.order.Len() != 0 || c.bytes != 0 {
		t.Errorf("leftovers: %+v", c)
	}
}

func TestCacheRefusesStatesOfAnotherPast(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]history.Run{
		"the record is behind":   {Generation: 1, FirstSeq: 1, NextSeq: 2},
		"the generation is over": {Generation: 2, FirstSeq: 3, NextSeq: 4},
	} {
		c := newStateCache(3, 100)
		c.put(1, stateAt(t, 3), 10)
		if s, _ := c.take(1, run); s != nil {
			t.Errorf("%s: a state was found", name)
		}
		if c.order.Len() != 0 {
			t.Errorf("%s: it was kept", name)
		}
	}
}

// With a cache a turn reads the new events only.
func TestCachedTurnReadsNewEventsOnly(t *testing.T) {
	t.Parallel()
	r := running(t)
	log := &statementLog{}
	for name, tt := range map[string]struct {
		store *Store
		want  []int64 // the seqs that turns read from
	}{
		"cached":    {r.traced(log), []int64{1, 3, 6}},
		"cold":      {r.traced(log, func(c *Config) { c.CacheBytes = 1 }), []int64{1, 1, 1}},
		"one state": {r.traced(log, func(c *Config) { c.CacheStates = 1 }), []int64{1, 3, 6}},
	} {
		id := "run " + name
		r.ok(r.startOf(id))
		var got []int64
		for n := range 3 {
			log.take()
			if _, err := tt.store.Advance(t.Context(), by(counting(9))); err != nil {
				t.Fatal(err)
			}
			names, args := log.take()
			for i, statement := range names {
				if statement == "EventsFrom" {
					got = append(got, args[i][1].([]int64)...)
				}
			}
			r.ok(r.signal(id, fmt.Sprint("s", n), "1"))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		r.sql(`update runs set wake_at = null`) // the next store's run is alone
	}
}

// A state that the stored events do not follow is let go, and the turn begins from a fresh fold.
func TestSpoiltStateIsFoldedAfresh(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("late"))
	r.ok(r.startOf("short"))
	for _, id := range []string{"late", "short"} {
		r.ok(r.signal(id, "s1", `"yes"`))
	}
	spoilt, err := history.Fold(keyOf("late"), nil, []history.Event{{
		Generation: 1, Seq: 1, At: time.Now().Add(time.Hour), Data: &history.RunStarted{Workflow: "w", Version: "1", Input: null},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.states.put(value[int64](r, `select id from runs where run_id = 'late'`), spoilt, 1)
	r.states.put(value[int64](r, `select id from runs where run_id = 'short'`), stateAt(t, 2), 1)
	r.sql(`delete from events where seq = 2 and run = (select id from runs where run_id = 'short')`)
	done := r.advance(by(approval))
	if done.Committed != 1 || len(done.Failed) != 1 || done.Failed[0].Run != keyOf("short") {
		t.Errorf("%+v", done)
	}
	if v := r.view("late"); string(v.Output) != `"yes"` {
		t.Errorf("%+v", v)
	}
}

// The state of a turn that was blocked after it had settled something is of no use, though it ends at the seq of the row.
func TestStateOfABlockedTurnIsNotKept(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(approval))
	r.ok(r.signal("a", "s1", `"yes"`))
	r.advance(by(func(s *history.State) history.Decision { return history.Decision{} })) // wait.completed, then blocked
	if v := r.view("a"); v.Status != history.Blocked || v.NextSeq != 5 {
		t.Fatalf("%+v", v)
	}
	r.ok(&history.RetryRun{Run: keyOf("a")})
	r.advance(by(approval))
	if got := r.types("a", 0); got != "run.started wait.opened signal.received run.blocked run.unblocked wait.completed run.completed" {
		t.Error(got)
	}
	r.folded("a")
}

// On one random trace of operations a store with a cache, one that keeps a single state and one without write the same
// histories.
func TestCacheChangesNothing(t *testing.T) {
	t.Parallel()
	r := running(t)
	stores := map[string]*Store{
		"cached": r.open(r.pool),
		"cold":   r.open(r.pool, func(c *Config) { c.CacheBytes = 1 }),
		"narrow": r.open(r.pool, func(c *Config) { c.CacheStates = 1 }),
	}
	trace := 0
	rapid.Check(t, func(t *rapid.T) {
		trace++
		id := func(store string, n int) string { return fmt.Sprint(store, "-", trace, "-", n) }
		for name := range stores {
			for n := range 2 {
				r.ok(r.startOf(id(name, n)))
			}
		}
		ops := rapid.SliceOfN(rapid.SampledFrom([]string{"signal", "answer", "turn", "turn", "block", "drop"}), 1, 15).Draw(t, "ops")
		for i, op := range ops {
			for name, s := range stores {
				r.step(s, name+"-"+fmt.Sprint(trace), op, id(name, i%2), i)
			}
		}
		var names []string
		for n := range 2 {
			want := r.shape(id("cold", n))
			for name := range stores {
				if diff := cmp.Diff(want, r.shape(id(name, n))); diff != "" {
					t.Fatalf("%s differs from cold: %s", name, diff)
				}
				names = append(names, id(name, n))
			}
		}
		r.folded(names...)
		r.sql(`update runs set wake_at = null where wake_at is not null`) // the next trace is alone
	})
}

// entity waits for signals and for answers to a hook per generation, and continues as new after three signals.
func entity(s *history.State) history.Decision {
	hook := fmt.Sprint("h", s.Generation())
	for n := range 3 {
		if status, _ := s.Wait(fmt.Sprint("w", n)); status != history.WaitDone {
			return decide(wait(fmt.Sprint("w", n)), hookOn(hook, hook+string(s.Key().RunID)))
		}
	}
	return decide(&history.ContinueAsNew{Input: null})
}

// step does one operation to a run; turns are those of the runs of one prefix.
func (r *acceptRig) step(s *Store, prefix, op, run string, i int) {
	r.t.Helper()
	a := by(entity)
	inner := a.Decide
	a.Decide = func(rec history.Run, st *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		if len(rec.Key.RunID) <= len(prefix) || string(rec.Key.RunID[:len(prefix)]) != prefix {
			return history.Outcome{}, Drop
		}
		if op == "block" {
			return history.BlockedOutcome(rec, history.BlockError, "no", now, history.DefaultLimits()), Commit
		}
		out, fate := inner(rec, st, now, rej)
		if op == "drop" {
			fate = Drop
		}
		return out, fate
	}
	switch op {
	case "signal":
		r.ok(r.signal(run, fmt.Sprint("s", i), fmt.Sprint(i)))
	case "answer":
		_, _ = r.Accept(r.t.Context(), r.resume(run, "h1", `"yes"`))
	default:
		r.sql(`update runs set wake_at = now() where status = 'blocked' and run_id like $1 || '-%'`, prefix)
		if _, err := s.Advance(r.t.Context(), a); err != nil {
			r.t.Fatal(err)
		}
	}
}

// shape is a run's record and history without what differs between equal runs: times and digests.
func (r *acceptRig) shape(run string) []string {
	r.t.Helper()
	v := r.view(run)
	lines := []string{fmt.Sprint(v.Status, v.Generation, v.FirstSeq, v.NextSeq, v.Backlog, v.BlockAttempts)}
	for g := 1; g <= v.Generation; g++ {
		lines = append(lines, r.types(run, g))
	}
	return lines
}
