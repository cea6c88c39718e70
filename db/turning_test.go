package db

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// pace is a turning with its clock in the test's hands.
type pace struct {
	*turning
	t   *testing.T
	now time.Time
}

func newPace(t *testing.T, limit int) *pace {
	return &pace{turning: newTurning(limit), t: t, now: time.Unix(1, 0)}
}

// call is the nth call to a run.
func callTo(run string, n int) *call {
	return &call{ctx: context.Background(), run: keyOf(run), message: &history.RetryRun{Run: keyOf(run)}, done: make(chan Answer, 1+n)}
}

// freed takes what may go, at most n, and tells it as the capacities that tell calls apart.
func (p *pace) freed(n int) (calls []int) {
	p.take(p.now, func(c *call) bool {
		calls = append(calls, cap(c.done)-1)
		return len(calls) == n
	})
	return calls
}

func (p *pace) wants(what string, got []int, want ...int) {
	p.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (p *pace) begins(c *call, want bool) {
	p.t.Helper()
	if got := p.store(c, p.now); got != want {
		p.t.Errorf("call %d begins to be stored: %v, want %v", cap(c.done)-1, got, want)
	}
}

// What is over leaves nothing behind, whatever it was.
func (p *pace) forgotten() {
	p.t.Helper()
	if len(p.runs) != 0 || p.queued != 0 {
		p.t.Errorf("%d runs and %d calls are left", len(p.runs), p.queued)
	}
}

func TestCallsWaitForTheTurnInOrder(t *testing.T) {
	t.Parallel()
	p := newPace(t, 100)
	p.hand(keyOf("a"), p.now)
	p.begins(callTo("a", 1), false)
	p.begins(callTo("b", 9), true)
	if !p.underWay(keyOf("a")) || p.underWay(keyOf("b")) {
		t.Error("it does not know whose turn is to come")
	}
	if !p.try(keyOf("a"), p.now) {
		t.Fatal("the turn did not begin")
	}
	p.begins(callTo("a", 2), false)
	p.wants("during the turn", p.freed(10))
	p.end(keyOf("a"))
	select {
	case <-p.over:
	default:
		t.Error("nobody is told that calls may go")
	}
	p.begins(callTo("a", 3), false) // behind the others, though no turn is under way
	p.wants("a part", p.freed(1), 1)
	p.wants("the rest", p.freed(10), 2, 3)
	for _, run := range []string{"a", "a", "a", "b"} {
		p.stored(keyOf(run))
	}
	p.forgotten()
}

func TestTurnWaitsForTheBatchUnderWay(t *testing.T) {
	t.Parallel()
	p := newPace(t, 100)
	p.begins(callTo("a", 1), true)
	p.begins(callTo("a", 2), true)
	p.hand(keyOf("a"), p.now)
	for range 2 {
		if p.try(keyOf("a"), p.now) {
			t.Fatal("a turn began while messages of its run were being stored")
		}
		p.stored(keyOf("a"))
	}
	p.begins(callTo("a", 3), false) // the turn comes first now
	if !p.try(keyOf("a"), p.now) {
		t.Fatal("the turn did not begin")
	}
	p.end(keyOf("a"))
	p.wants("after the turn", p.freed(10), 3)
	p.stored(keyOf("a"))
	p.forgotten()
}

// Slow code, or a dispatcher that does not come, keeps a message waiting for a moment only; a new turn does not begin that
// moment anew.
func TestCallsWaitForAMomentOnly(t *testing.T) {
	t.Parallel()
	p := newPace(t, 100)
	p.hand(keyOf("a"), p.now)
	p.begins(callTo("a", 1), false)
	p.now = p.now.Add(holdBackTime / 2)
	p.hand(keyOf("a"), p.now)
	p.wants("half the time", p.freed(10))
	p.now = p.now.Add(holdBackTime / 2)
	p.wants("the time", p.freed(10), 1)
	p.begins(callTo("a", 2), true)
	p.begin(keyOf("a"), p.now)
	p.begin(keyOf("a"), p.now) // a claim finds the run while its turn is under way here
	p.begins(callTo("a", 3), false)
	p.end(keyOf("a"))
	p.wants("after one of two turns", p.freed(10), 3)
	p.end(keyOf("a"))
	for range 3 {
		p.stored(keyOf("a"))
	}
	p.forgotten()
}

func TestWaitingCallsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPace(t, 2)
	p.begin(keyOf("a"), p.now)
	for n, waits := range []bool{true, true, false} {
		p.begins(callTo("a", n), !waits)
	}
	p.stored(keyOf("a"))
	p.end(keyOf("a"))
	if calls := p.drain(); len(calls) != 2 {
		t.Errorf("%d calls drained, want 2", len(calls))
	}
	p.forgotten()
	p.hand(keyOf("b"), p.now)
	p.unhand(keyOf("b"))
	p.unhand(keyOf("b"))
	p.forgotten()
}
