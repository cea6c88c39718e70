package db

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
)

func TestFloors(t *testing.T) {
	t.Parallel()
	a, b := Code{"a", "1"}, Code{"b", "1"}
	both := []Code{a, b}
	local := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	asked := time.Date(2026, 5, 5, 5, 0, 0, 0, time.UTC) // another clock
	var all time.Time
	f := newFloors()
	step := func(what string, now time.Time, want ...time.Time) {
		t.Helper()
		if diff := cmp.Diff(want, f.of(both, now)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	step("the first claim looks at everything", local, all, all)
	step("and so does the next while nothing was claimed", local, all, all)
	f.raise(both, asked, nil, nil, true)
	slack := asked.Add(-floorSlack)
	step("what was seen is not looked at again", local.Add(999*time.Millisecond), slack, slack)
	step("but once a second", local.Add(time.Second), all, all)
	old, young := asked.Add(-time.Hour), asked.Add(-time.Millisecond)
	f.raise(both, asked, map[Code]time.Time{a: old}, nil, false)
	step("a claim that did not see all ends where it got to", local.Add(time.Second), old, slack)
	f.raise(both, asked, map[Code]time.Time{a: young, b: young}, nil, false)
	step("and never nearer than the slack", local.Add(time.Second), slack, slack)
	f.raise(both, asked, nil, map[Code]time.Time{b: old}, true)
	step("what was not turned is looked at again", local.Add(time.Second), slack, old)
}

// A run whose due time became visible late is found, because a claim looks back once a second.
func TestLateDueTimeIsFound(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(approval))
	r.ok(r.signal("a", "s1", "1"))
	r.due("a", time.Minute)
	r.until("the run is found", func() bool {
		r.advance(by(approval))
		return r.view("a").Status == history.Completed
	})
}

// A due time that became visible late waits for the next look at everything, and for no poll on top: a claim that does not
// look says when that is.
func TestLateDueTimeIsFoundWithinASecond(t *testing.T) {
	t.Parallel()
	r := running(t)
	now := time.Now()
	s := r.open(r.pool, func(c *Config) { c.Clock = func() time.Time { return now } })
	claim := func(claimed int, lookIn time.Duration) {
		t.Helper()
		if done, err := s.Advance(t.Context(), by(approval)); err != nil || done.Claimed != claimed || done.LookIn != lookIn {
			t.Errorf("%+v %v, want %d claimed and a look in %s", done, err, claimed, lookIn)
		}
	}
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	r.sql(`update runs set wake_at = null where run_id = 'a'`)
	claim(1, 0)
	now = now.Add(900 * time.Millisecond)
	r.due("a", time.Hour)         // as a host's transaction leaves it that was open for long
	r.ok(r.signal("b", "s", "1")) // a hint
	claim(1, 100*time.Millisecond)
	now = now.Add(100 * time.Millisecond)
	claim(1, 0)
	now = now.Add(lookBack)
	claim(0, 0) // an idle process polls no more often for it
}

// The pages that a claim reads do not grow with the turns before it, though nothing vacuums.
func TestClaimDoesNotWalkOverDeadEntries(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.sql(`alter table runs set (autovacuum_enabled = off)`)
	log := &statementLog{}
	s := r.traced(log)
	for i := range 300 {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	r.sql(`update runs set wake_at = clock_timestamp() - interval '1 hour'`)
	a := by(approval)
	a.Limit = 50
	for claims := 0; ; claims++ {
		log.take()
		done, err := s.Advance(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		_, args := log.take()
		floor := args[2][2].([]time.Time)[0]
		if floor.IsZero() != (claims == 0) && claims < 3 {
			t.Errorf("claim %d begins at %v", claims, floor)
		}
		if done.Claimed == 0 {
			return
		}
	}
}
