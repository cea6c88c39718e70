package db

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// faultCall is one call of a use case and what its caller reads when nothing fails: the first time, and when it is
// repeated after it took effect.
type faultCall struct {
	run          string // of the use case
	first, again string
}

// faultCase is a use case of the door.
type faultCase struct {
	calls  []faultCall
	first  func(f *faultRig)                                   // once; may be nil
	before func(f *faultRig, prefix string)                    // what there is before it
	act    func(f *faultRig, s *Store, prefix string) []string // makes the calls on a store; what each caller read
	after  func(f *faultRig, prefix string)                    // until nothing is left to do
	rows   func(f *faultRig, prefix string) map[string]string  // what it may change; of the runs when nil
	// want is what a caller may read when one statement failed.
	want    func(m met, c faultCall) []string
	idle    bool              // it changes nothing
	steps   bool              // it is several transactions, of which a later one may fail
	whole   bool              // all calls are one transaction, whose rows are there or not
	onward  bool              // a repetition goes further, so it is made only if nothing was stored
	atLeast int               // statements at which something can fail
	finally map[string]string // the types of a run's events in the end
	ways    []faultWay        // what happens at each
}

// met is a fault that happened.
type met struct {
	faultWay
	sql  string
	seen []string // texts of the statements up to it
}

// begun says that the door's transaction had begun, or was about to.
func (m met) begun() bool { return hasPrefix(m.seen, "begin") }

// claimed says that the runs were claimed before it.
func (m met) claimed() bool { return hasText(m.seen[:len(m.seen)-1], "SKIP LOCKED") }

// faultWay is what happens at a statement.
type faultWay struct {
	kind  pgfault.Kind
	state string // of a refusal
	// late: a detached statement reaches the server when the caller has been answered, not while the second attempt waits.
	late bool
}

func (w faultWay) String() string {
	if w.late {
		return w.kind.String() + " for long"
	}
	return strings.TrimSpace(w.kind.String() + " " + w.state)
}

// lostWays are what happens to a connection. To the server a loss before a statement is one after the statement before;
// to the client they differ only between its round trips.
var lostWays = []faultWay{{kind: pgfault.LoseAfter}, {kind: pgfault.LoseBefore}}

// lateWays are what happens to the order of what happens.
var lateWays = []faultWay{{kind: pgfault.Hold}, {kind: pgfault.Detach}, {kind: pgfault.Detach, late: true}}

// refusedWays are refusals with these SQLSTATEs, with all there are when none is named.
func refusedWays(states ...string) (ways []faultWay) {
	if states == nil {
		states = pgfault.States()
	}
	for _, state := range states {
		ways = append(ways, faultWay{kind: pgfault.Refuse, state: state})
	}
	return ways
}

// transientState says that a refusal with this SQLSTATE is nobody's fault.
func transientState(state string) bool { return state != "23514" && state != "42601" }

// refusedWith is what is read of a refusal that is passed on.
func refusedWith(state string) string {
	if transientState(state) {
		return unavailableWord
	}
	return "refused " + state
}

// story is what the rows of a use case are when nothing fails.
type story struct{ before, after, end map[string]string }

// testEveryStatement runs a use case again and again, each time with a fault at the next statement, in every way.
func testEveryStatement(t *testing.T, c faultCase) {
	t.Helper()
	f := newFaultRig(t)
	if c.first != nil {
		c.first(f)
	}
	if c.rows == nil {
		c.rows = (*faultRig).runRows
	}
	clean := f.withoutFault(&c)
	for _, w := range c.ways {
		statements := 0
		for n := 1; f.faultAt(&c, clean, w, n); n++ {
			if statements = n; n > 80 {
				t.Fatal("a use case takes too many statements")
			}
		}
		least := c.atLeast
		if w.late {
			least = 1
		}
		if statements < least {
			t.Errorf("%v: it failed at %d statements only, want %d", w, statements, least)
		}
	}
	f.someFolded()
}

// withoutFault tells how a use case goes when nothing fails.
func (f *faultRig) withoutFault(c *faultCase) story {
	f.t.Helper()
	var s story
	c.before(f, "clean")
	s.before = c.rows(f, "clean")
	for i, got := range c.act(f, f.Store, "clean") {
		if got != c.calls[i].first {
			f.t.Errorf("%s without a fault: %s, want %s", c.calls[i].run, got, c.calls[i].first)
		}
	}
	s.after = c.rows(f, "clean")
	if maps.Equal(s.before, s.after) != c.idle {
		f.t.Errorf("the use case changes nothing: %v", !c.idle)
	}
	c.after(f, "clean")
	s.end = c.rows(f, "clean")
	for run, want := range c.finally {
		if got := f.types(at("clean", run), 1); got != want {
			f.t.Errorf("%s without a fault: %s, want %s", run, got, want)
		}
	}
	return s
}

// faultAt makes one statement fail. It reports whether there was such a statement.
func (f *faultRig) faultAt(c *faultCase, clean story, w faultWay, n int) bool {
	f.t.Helper()
	prefix := fmt.Sprintf("%v.%d", w, n)
	c.before(f, prefix)
	f.same("before "+prefix, c.rows(f, prefix), clean.before)
	f.ready()
	fault := f.plan(w, n)
	first, others := f.drive(c, w, fault, prefix)
	fault.Release()
	seen := f.breaker.Clear()
	f.breaker.Wait()
	rows := c.rows(f, prefix)
	if !fault.Happened() {
		f.sameReadings(prefix, c, first, func(c faultCall) []string { return []string{c.first} })
	} else {
		m := met{faultWay: w, sql: fault.SQL(), seen: seen[:min(n, len(seen))]}
		if w.late {
			m.seen = seen
		}
		f.judge(prefix, c, clean, m, rows, first)
	}
	f.bothTrue(prefix, c, w, first, others)
	f.repeat(prefix, c, clean, rows)
	c.after(f, prefix)
	f.same("in the end of "+prefix, c.rows(f, prefix), clean.end)
	f.nothingLeft()
	return fault.Happened()
}

func (f *faultRig) plan(w faultWay, n int) *pgfault.Fault {
	if w.late {
		return f.breaker.AtText(isCommit, n, w.kind, w.state)
	}
	return f.breaker.At(n, w.kind, w.state)
}

// drive makes the calls while the fault is there; others is what a healthy store said meanwhile of the same calls.
func (f *faultRig) drive(c *faultCase, w faultWay, fault *pgfault.Fault, prefix string) (first, others []string) {
	f.t.Helper()
	s := f.patient
	if w.late {
		s = f.hasty
	}
	u := f.begin(c, s, prefix)
	switch {
	case w.late: // the redelivery waits for the transaction of which nobody knows what will become
		f.outcomes(u)
	case w.kind == pgfault.Hold: // a redelivery overtakes the statement, or waits for its transaction
		f.until("it is held or passed", func() bool { return fault.Happened() || u.over() })
	case w.kind == pgfault.Detach: // the second attempt waits for the first one's transaction
		f.overOrWaiting(u)
		fault.Release()
		return f.outcomes(u), nil
	default:
		return f.outcomes(u), nil
	}
	if fault.Happened() {
		other := f.begin(c, f.healthy(c), prefix)
		f.overOrWaiting(other)
		fault.Release()
		others = f.outcomes(other)
	}
	return f.outcomes(u), others
}

// healthy is a store to repeat a use case on.
func (f *faultRig) healthy(c *faultCase) *Store {
	if c.onward {
		return f.fresh()
	}
	return f.Store
}

// judge checks that each run has nothing or everything of the call, and that its caller was told the truth.
func (f *faultRig) judge(prefix string, c *faultCase, clean story, m met, rows map[string]string, read []string) {
	f.t.Helper()
	if len(read) != len(c.calls) {
		f.t.Fatalf("%s at %q: %d answers, want %d", prefix, title(m.sql), len(read), len(c.calls))
	}
	for i, call := range c.calls {
		got, row := read[i], rows[call.run]
		stored := row == clean.after[call.run] || m.kind == pgfault.Hold && c.onward && row == clean.end[call.run]
		if !stored && row != clean.before[call.run] {
			f.t.Errorf("%s at %q: %s is half done:\n%s\nwant\n%s", prefix, title(m.sql), call.run, row, clean.after[call.run])
		}
		want := c.want(m, call)
		if m.kind == pgfault.Detach && m.lostCommit() {
			want = append(want, call.first) // the second attempt came before the server had done what was sent of the first
		}
		if !slices.Contains(want, got) {
			f.t.Errorf("%s at %q: the caller of %s reads %q, want one of %q", prefix, title(m.sql), call.run, got, want)
		}
		good := got == call.first || got == call.again
		switch {
		case good && !stored:
			f.t.Errorf("%s at %q: %s was answered with %q and is not stored", prefix, title(m.sql), call.run, got)
		case !good && stored && !c.steps && row != clean.before[call.run] && (m.kind == pgfault.Refuse || m.kind == pgfault.LoseBefore):
			f.t.Errorf("%s at %q: %s was answered with %q and is stored", prefix, title(m.sql), call.run, got)
		case !stored && m.kind == pgfault.LoseAfter && isCommit(m.sql):
			f.t.Errorf("%s: %s is not stored", prefix, call.run)
		}
	}
	if c.whole && !maps.Equal(rows, clean.before) {
		f.same("not nothing after "+prefix+" at "+title(m.sql), rows, clean.after)
	}
}

// repeat delivers again, through a healthy store, what may have been lost: what was stored is a duplicate, the rest is
// taken now.
func (f *faultRig) repeat(prefix string, c *faultCase, clean story, rows map[string]string) {
	f.t.Helper()
	done := true
	for _, call := range c.calls {
		done = done && (rows[call.run] == clean.after[call.run] || rows[call.run] == clean.end[call.run])
	}
	if c.onward && done {
		return
	}
	s := f.Store
	if c.onward {
		s = f.patient // that of the fault: what it remembers must not be wrong
	}
	read := c.act(f, s, prefix)
	f.sameReadings(prefix+" repeated", c, read, func(call faultCall) []string {
		if rows[call.run] == clean.after[call.run] {
			return []string{call.again}
		}
		return []string{call.first}
	})
	if !c.onward {
		f.same("after "+prefix, c.rows(f, prefix), clean.after)
	}
}

// bothTrue checks what two callers read who made the same calls at one time: one of them did it.
func (f *faultRig) bothTrue(prefix string, c *faultCase, w faultWay, one, other []string) {
	f.t.Helper()
	if other == nil {
		return
	}
	for i, call := range c.calls {
		pair := []string{one[i], other[i]}
		switch {
		case w.late && (other[i] == call.first || other[i] == call.again):
		case slices.Equal(pair, []string{call.first, call.again}), slices.Equal(pair, []string{call.again, call.first}):
		default:
			f.t.Errorf("%s: two callers of %s read %q, want %q and %q", prefix, call.run, pair, call.first, call.again)
		}
	}
}

func (f *faultRig) sameReadings(what string, c *faultCase, read []string, want func(faultCall) []string) {
	f.t.Helper()
	for i, call := range c.calls {
		if i >= len(read) || !slices.Contains(want(call), read[i]) {
			f.t.Errorf("%s: %s reads %q, want %q", what, call.run, read, want(call))
		}
	}
}

func (f *faultRig) same(what string, got, want map[string]string) {
	f.t.Helper()
	for run := range want {
		if got[run] != want[run] {
			f.t.Errorf("%s: %s is\n%s\nwant\n%s", what, run, got[run], want[run])
		}
	}
	for run := range got {
		if _, ok := want[run]; !ok {
			f.t.Errorf("%s: %s is there:\n%s", what, run, got[run])
		}
	}
}
