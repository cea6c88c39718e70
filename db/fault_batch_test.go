package db

import (
	"context"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Messages of all kinds, to as many runs, in one transaction. Some of them are refused whatever happens; whatever
// happens, they are refused with their own words or like all others.
func TestFaultAtEveryStatementOfABatch(t *testing.T) {
	t.Parallel()
	for part, ways := range map[string][]faultWay{
		"lost": lostWays, "late": lateWays, "refused": refusedWays("23514", "40001", "57014"),
		"refused otherwise": refusedWays("53100", "55P03", "42601"),
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			c := batchCase()
			c.ways = ways
			testEveryStatement(t, c)
		})
	}
}

// batchCase is the use case of batchOf.
func batchCase() faultCase {
	all := faultMessages()
	c := faultCase{
		before: func(f *faultRig, prefix string) { f.prepare(prefix, all...) },
		act: func(f *faultRig, s *Store, prefix string) []string {
			return f.batch(s, batchOf(f, prefix))
		},
		after: func(f *faultRig, _ string) { f.turns(f.fresh(), faultAuthor) },
		want:  acceptWant(true), atLeast: 14, finally: map[string]string{},
	}
	for _, m := range all {
		again := m.again
		if again == "" {
			again = duplicateWord
		}
		c.calls = append(c.calls, faultCall{run: m.name, first: acceptedWord, again: again})
		c.finally[m.name] = m.finally
	}
	const conflict = "signal ID was accepted with another payload"
	c.calls = append(
		c.calls,
		faultCall{run: "both", first: acceptedWord, again: duplicateWord},
		faultCall{run: "both", first: acceptedWord, again: duplicateWord},
		faultCall{run: "nobody", first: unknownRun, again: unknownRun},
		faultCall{run: "signal", first: conflict, again: conflict},
	)
	return c
}

// batchOf is one message of each kind, a start with a signal to its run, a message to nobody and one whose ID another
// one of the batch has.
func batchOf(f *faultRig, prefix string) (all []history.Message) {
	for _, m := range faultMessages() {
		all = append(all, m.of(f, at(prefix, m.name)))
	}
	return append(
		all,
		f.startOf(at(prefix, "both")), f.signal(at(prefix, "both"), "s", "1"),
		f.signal(at(prefix, "nobody"), "s", "1"),
		f.signal(at(prefix, "signal"), "s", "2"),
	)
}

// batch has a running store settle messages as one batch of its lane.
func (f *faultRig) batch(s *Store, messages []history.Message) []string {
	calls := make([]*call, len(messages))
	for i, m := range messages {
		calls[i] = &call{ctx: context.Background(), message: m, run: m.Target(), done: make(chan Answer, 1)}
	}
	s.settle(calls, skipLocked)
	read := make([]string, len(messages))
	for i, c := range calls {
		a := f.await(c.done)
		read[i] = readingOf(a.Receipt.Verdict, a.Err)
	}
	return read
}

// A row that a constraint refuses belongs to one message of the batch, wherever it stands in it and whichever table says
// no: that one fails, the others get their verdicts.
func TestAConstraintFailsOneMessageOfABatch(t *testing.T) {
	t.Parallel()
	all := faultMessages()
	tables := map[string]string{ // what a message to a run of this name writes
		"start": "runs events", "signal": "runs events signals", "resume": "runs events hooks", "dispose by token": "runs events hooks",
		"cancel": "runs events hooks", "terminate": "runs events hooks", "retry": "runs", "settle": "runs events",
		"let fail": "runs events dead_letters", "hold": "tasks dead_letters", "replay": "tasks dead_letters", "discard": "runs events dead_letters",
		"cancel with tasks": "runs events tasks",
	}
	f := newFaultRig(t)
	f.sql(`create function refuse() returns trigger language plpgsql as $$
		begin raise exception using errcode = '23514', constraint = 'planted', message = 'refused by a test'; end $$`)
	n := 0
	for victim, written := range tables {
		for _, table := range []string{"runs", "events", "signals", "hooks", "tasks", "dead_letters"} {
			if !hasText([]string{written}, table) {
				continue
			}
			n++
			prefix := fmt.Sprint("n", n)
			f.prepare(prefix, all...)
			f.refuseRows(table, at(prefix, victim))
			for i, got := range f.batch(f.Store, batchOf(f, prefix)) {
				switch name := append(namesOf(all), "both", "both", "nobody", "signal again")[i]; {
				case name == victim:
					if got != "refused 23514" {
						t.Errorf("%s refused by %s: it reads %q", victim, table, got)
					}
				case name == "signal again" && victim == "signal": // it is the first of its ID then, and fails as well
				case name == "nobody" && got != unknownRun,
					name == "signal again" && got != "signal ID was accepted with another payload",
					name != "nobody" && name != "signal again" && got != acceptedWord:
					t.Errorf("%s refused by %s: %s reads %q", victim, table, name, got)
				}
			}
			f.sql(`drop trigger planted on ` + table)
			for i, got := range f.batch(f.Store, batchOf(f, prefix)) {
				if i < len(all) && all[i].name == victim && got != acceptedWord {
					t.Errorf("%s sent again: %q", victim, got)
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("%d refusals only", n)
	}
	f.turns(f.fresh(), faultAuthor)
	f.someFolded()
	f.nothingLeft()
}

// refuseRows has a table refuse the rows of one run.
func (f *faultRig) refuseRows(table, run string) {
	f.t.Helper()
	whose := "new.run = (select id from runs where run_id = '%s')"
	if table == "runs" {
		whose = "new.run_id = '%s'"
	}
	f.sql(fmt.Sprintf(`create or replace function of_the_victim_%s(new %s) returns bool language sql as $$ select `+whose+` $$`,
		table, table, run))
	f.sql(fmt.Sprintf(`create trigger planted before insert or update on %s for each row
		when (of_the_victim_%s(new)) execute function refuse()`, table, table))
}

func namesOf(all []message) (names []string) {
	for _, m := range all {
		names = append(names, m.name)
	}
	return names
}
