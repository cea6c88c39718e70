package db

import (
	"context"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// leftWord is what is read of a run that is left to a claim.
const leftWord = "left"

// handedTurn is a turn of a run that is handed over to the store that meets the faults.
type handedTurn struct {
	name    string
	code    author
	first   bool // it is the run's first turn
	signals int  // that were accepted by the store before the turn
	cold    bool // the store has lost the state of the run
	read    bool // it has to be read: other events came before those that were handed over
	atLeast int
	finally string
}

// handedTurnsAll are turns of every kind that is stored in a way of its own.
func handedTurnsAll() []handedTurn {
	turns := faultTurns()
	named := func(name string) author {
		return turns[slices.IndexFunc(turns, func(t turn) bool { return t.name == name })].code
	}
	return []handedTurn{
		{name: "plain", code: approval, signals: 1, atLeast: 4, finally: knownFinally},
		{name: "plain and first", code: approval, first: true, atLeast: 4, finally: "run.started wait.opened"},
		{
			name: "plain and continued", code: rolling, signals: 2, atLeast: 4,
			finally: "run.started wait.opened signal.received signal.received wait.completed",
		},
		{name: "read", code: approval, signals: 1, cold: true, atLeast: 6, finally: knownFinally},
		{
			name: "read with what was carried", code: rollingTwice, signals: 2, read: true, atLeast: 6,
			finally: "run.started wait.opened signal.received signal.received wait.completed",
		},
		{
			name: "opens hooks", code: named("opens hooks"), first: true, atLeast: 10,
			finally: "run.started hook.created hook.rejected hook.created hook.created",
		},
		{
			name: "closes hooks", code: named("consumes"), signals: 2, atLeast: 8,
			finally: "run.started wait.opened hook.created signal.received signal.received wait.completed hook.closed run.completed",
		},
		{name: "is blocked", code: named("is blocked"), first: true, atLeast: 7, finally: "run.started run.blocked run.unblocked wait.opened"},
	}
}

// rollingTwice continues as new after its first signal, and again after its second.
func rollingTwice(s *history.State) history.Decision {
	if status, answer := s.Wait("w"); s.Generation() < 3 && status == history.WaitDone {
		return decide(&history.ContinueAsNew{Input: answer})
	}
	return decide(wait("w"))
}

// handedOver leaves the run of a case handed over, and due.
func (c handedTurn) handedOver(f *faultRig, prefix string) {
	f.t.Helper()
	s, run := f.patient, at(prefix, "it")
	if c.first {
		f.acceptOn(s, f.startOf(run))
		return
	}
	f.parkedOn(s, prefix, c.code, "it")
	for i, m := range f.messagesTo(run, c.signals) {
		if f.acceptOn(s, m); c.read && i == 0 { // one generation on; what it carries is committed before the hand-over
			f.acceptOn(f.Store, f.signal(run, "between", "1"))
			f.turnOn(s, run, c.code)
		}
	}
	if c.cold || c.read {
		known, _ := s.records.get(keyOf(run))
		s.states.drop(known.ID)
	}
}

// takeHanded advances what was handed over to a store, or claims when nothing was.
func (c handedTurn) takeHanded(_ *faultRig, s *Store, _ string) []string {
	done, err := Handed{}, error(nil)
	if s.handed.empty() {
		var claimed Advanced
		claimed, err = s.Advance(context.Background(), by(c.code))
		done = Handed{Committed: claimed.Committed, Left: claimed.Committed == 0}
	} else {
		done, err = s.AdvanceHanded(context.Background(), by(c.code))
	}
	switch {
	case err == nil && done.Committed == 0 && done.Left:
		return []string{leftWord}
	case err == nil && done.Committed == 0:
		return []string{"neither done nor left"}
	}
	return []string{readingOf(doneWord, err)}
}

// handedWant says what the dispatcher may read. What one of the runs may have brought in is left to a claim.
func handedWant(m met, _ faultCall) []string {
	switch {
	case m.kind == pgfault.Hold:
		return []string{doneWord, leftWord}
	case m.sql == "rollback": // of a transaction that only reads
		return []string{doneWord}
	case m.kind == pgfault.Refuse && m.state != "53100" && m.state != "42601":
		return []string{leftWord}
	case m.kind == pgfault.Refuse:
		return []string{refusedWith(m.state)}
	}
	return []string{unavailableWord}
}

// Whatever fails while a run is advanced that was handed over: nothing of its turn is stored or everything, nothing is
// remembered of a turn that is not stored, and a claim has it in the end.
func TestFaultAtEveryStatementOfAHandOver(t *testing.T) {
	t.Parallel()
	for _, one := range handedTurnsAll() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			c := one.faultCase(doneWord)
			c.ways = slices.Concat(lostWays, lateWays[1:2], refusedWays("23514", "40001", "53100", "42601"))
			testEveryStatement(t, c)
		})
		t.Run(one.name+", held", func(t *testing.T) { // while another process claims
			t.Parallel()
			c := one.faultCase(leftWord)
			c.ways = lateWays[:1]
			testEveryStatement(t, c)
		})
	}
}

// faultCase is the use case of the turn. again is what is read where another process had the run.
func (c handedTurn) faultCase(again string) faultCase {
	use := knownFault(faultCase{
		calls:  []faultCall{{run: "it", first: doneWord, again: again}},
		before: c.handedOver, act: c.takeHanded, want: handedWant, onward: true,
		atLeast: c.atLeast, finally: map[string]string{"it": c.finally},
	}, func(s *history.State) history.Decision {
		if c.name == "is blocked" {
			return approval(s)
		}
		return c.code(s)
	})
	first := use.first
	use.first = func(f *faultRig) {
		first(f)
		f.owned()
	}
	return use
}

// Runs that are handed over together: one transaction stores what is plain, another one what is not, and a fault in
// either leaves the runs of the other whole. Two of them want one token, so one is let go of before the fault comes.
func TestFaultAtEveryStatementOfAHandOverOfMany(t *testing.T) {
	t.Parallel()
	code := func(s *history.State) history.Decision {
		switch suffix(s) {
		case "rival a", "rival b":
			return decide(hookOn("h", tokenOf(string(s.Key().RunID[:len(s.Key().RunID)-1]), "h")))
		case "hook":
			return decide(tokenHook(s, "h"))
		}
		return approval(s)
	}
	runs := []string{"plain", "hook", "rival a", "rival b"}
	for _, w := range slices.Concat(lostWays, refusedWays("40001", "42601")) {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			f := newFaultRig(t)
			f.patient.cfg.Takes = func(Code) bool { return true }
			met := 0
			for n, last := 1, false; !last; n++ {
				prefix := at("n", string(rune('a'+n)))
				for _, run := range runs {
					f.acceptOn(f.patient, f.startOf(at(prefix, run)))
				}
				f.ready()
				fault := f.breaker.At(n, w.kind, w.state)
				done, err := f.patient.AdvanceHanded(t.Context(), by(code))
				f.breaker.Clear()
				f.breaker.Wait()
				last = !fault.Happened()
				if !last {
					met++
				}
				stored := 0
				for run, rows := range f.runRows(prefix) {
					if got := f.stored(rows); got != 1 && got != 2 {
						t.Errorf("at %q: %s is half done: %s", title(fault.SQL()), run, rows)
					} else {
						stored += got - 1
					}
				}
				lost := w.kind == pgfault.LoseAfter && isCommit(fault.SQL())
				if done.Committed > stored || done.Committed < stored && !lost || done.Taken != len(runs) || !done.Left {
					t.Errorf("at %q: %d are stored, and it says %+v %v", title(fault.SQL()), stored, done, err)
				}
				f.truthful(f.patient)
				f.scheduled()
				f.nothingLeft()
				f.turns(f.fresh(), code)
			}
			if met < 14 {
				t.Errorf("it failed at %d statements only", met)
			}
			f.someFolded()
		})
	}
}

// stored is 1 for the rows of a run that started, 2 for those of one whose first turn is stored whole, 0 for anything else.
func (f *faultRig) stored(rows string) int {
	has := func(part string) bool { return hasText([]string{rows}, part) }
	switch {
	case has("seq 1..2 ") && has("wake due") && !has("\t2 g1") && !has("\thook"):
		return 1
	case has("seq 1..3 ") && has("wake never") &&
		(has("2 g1 wait.opened") || has("2 g1 hook.created") && has("hook h active") || has("hook.rejected")):
		return 2
	}
	return 0
}
