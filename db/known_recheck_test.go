package db

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
)

// gateSQL holds a statement of the gated session between its snapshot and its locks: the comparison of times, which it
// makes for each row before it locks that, waits while the gate is shut. Sequences, because their values are not those of
// a snapshot.
var gateSQL = []string{
	`create schema gate`,
	`create sequence gate.shut minvalue 0 start 0`,
	`create sequence gate.met minvalue 0 start 0`,
	`select nextval('gate.shut'), nextval('gate.met')`,
	`create function gate.equal(a timestamptz, b timestamptz) returns boolean language plpgsql volatile as $$ begin
		if pg_sequence_last_value('gate.shut') = 1 and current_query() similar to '-- name: (Signal|Accept|Advance|Lock|Resume)Known%' then
			perform setval('gate.met', 1);
			while pg_sequence_last_value('gate.shut') = 1 loop
				perform pg_sleep(0.001);
			end loop;
		end if;
		return timestamptz_eq(a, b);
	end $$`,
	`create operator gate.= (leftarg = timestamptz, rightarg = timestamptz, function = gate.equal)`,
}

// gated is a rig with a running store whose statements can be held between their snapshot and their locks.
type gated struct {
	*acceptRig
	store *Store
}

func newGated(t *testing.T) *gated {
	t.Helper()
	g := &gated{acceptRig: running(t)}
	for _, sql := range gateSQL {
		g.sql(sql)
	}
	cfg := g.pool.Config()
	cfg.ConnConfig.RuntimeParams["search_path"] = "gate, pg_catalog, public"
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	g.store = g.open(pool, taking)
	g.start(g.store)
	return g
}

// behind does something while a statement is held behind its snapshot.
func (g *gated) behind(statement, between func()) {
	g.t.Helper()
	g.sql(`select setval('gate.met', 0), setval('gate.shut', 1)`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		statement()
	}()
	g.until("the statement is held", func() bool { return value[int64](g.acceptRig, `select last_value from gate.met`) == 1 })
	between()
	g.sql(`select setval('gate.shut', 0)`)
	g.until("the statement is over", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// answered has the gated store start a run, have its first turn, and accept its first message.
func (g *gated) answered(run string, code author) {
	g.t.Helper()
	g.store.withdraw() // what other cases left
	g.acceptOn(g.store, g.startOf(run))
	if done := g.hand(g.store, by(code)); done.Committed != 1 {
		g.t.Fatalf("%+v", done)
	}
	g.acceptOn(g.store, g.signal(run, "first", "1"))
}

// whileHeld is what another process does between the snapshot and the locks.
var whileHeld = map[string]func(g *gated, run string){
	"a signal": func(g *gated, run string) { g.ok(g.signal(run, "other", "1")) },
	"the same": func(g *gated, run string) { g.ok(g.signal(run, "s", "1")) },
	"a turn": func(g *gated, run string) {
		if done, err := g.AdvanceOne(g.t.Context(), by(counting(3)), keyOf(run)); err != nil || done.Committed != 1 {
			g.t.Errorf("%+v %v", done, err)
		}
	},
	"cancelling": func(g *gated, run string) { g.ok(&history.CancelRun{Run: keyOf(run)}) },
	"blocking": func(g *gated, run string) {
		if err := g.Block(g.t.Context(), keyOf(run), g.view(run).NextSeq, history.BlockPanic, "nil map"); err != nil {
			g.t.Error(err)
		}
	},
	"putting off": func(g *gated, run string) {
		if err := g.postpone(g.t.Context(), keyOf(run), 0); err != nil {
			g.t.Error(err)
		}
	},
	"a lock": func(g *gated, run string) { g.hold(run) },
}

// What a process knows is compared with the row as it is once it is locked, not as it was when the statement began. One
// signal, and several, have statements of their own.
func TestWhatIsKnownIsComparedUnderTheLock(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	for name, between := range whileHeld {
		for _, ids := range [][]string{{"s"}, {"s", "t"}} {
			run := fmt.Sprint(name, len(ids))
			g.answered(run, counting(5))
			var calls, rest []*call
			for _, id := range ids {
				calls = append(calls, &call{ctx: t.Context(), message: g.signal(run, id, "1"), run: keyOf(run), done: make(chan Answer, 1)})
			}
			g.behind(func() { rest, _ = g.store.settleKnown(calls) }, func() { between(g, run) })
			if len(rest) != len(ids) {
				t.Errorf("%s: a signal is accepted on what is not true any more", run)
				continue
			}
			if name == "a lock" {
				continue // it is held for long
			}
			g.store.settle(rest, skipLocked)
			answer := g.await(calls[0].done)
			want := map[string]string{"the same": "duplicate", "cancelling": "run ended"}[name]
			if got := readingOf(answer.Receipt.Verdict, answer.Err); want != "" && got != want || want == "" && got != acceptedWord {
				t.Errorf("%s: the signal is answered with %s", run, got)
			}
		}
	}
	g.right()
}

// An answer to a hook that was open when the statement began is not taken by a hook, or a run, that is not as it was.
func TestAnAnswerIsComparedUnderTheLock(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	moves := maps.Clone(whileHeld)
	moves["the same answer"] = func(g *gated, run string) { g.ok(g.resume(run, "h", "1")) }
	moves["disposing"] = func(g *gated, run string) { g.ok(&history.DisposeHook{Run: keyOf(run), HookID: "h"}) }
	delete(moves, "the same")
	for name, between := range moves {
		run := "answer " + name
		g.answered(run, withdrawing)
		g.resolve(g.store, run)
		calls := []*call{{ctx: t.Context(), message: g.resume(run, "h", "1"), run: keyOf(run), done: make(chan Answer, 1)}}
		var rest []*call
		g.behind(func() { rest, _ = g.store.settleKnown(calls) }, func() { between(g, run) })
		if len(rest) != 1 {
			t.Errorf("%s: the answer is accepted on what is not true any more", name)
			continue
		}
		if name == "a lock" {
			continue // it is held for long
		}
		g.store.settle(rest, skipLocked)
		a := g.await(calls[0].done)
		want := map[string]string{"the same answer": "duplicate", "disposing": "gone: disposed", "cancelling": "gone: cancelled"}[name]
		if got := verdictOf(a.Receipt, a.Err); want != "" && got != want || want == "" && got != acceptedWord {
			t.Errorf("%s: the answer is answered with %s", name, got)
		}
	}
	g.right()
}

// A turn that was decided before its run was locked is stored on the row that it was decided on, or not at all.
func TestATurnIsComparedUnderTheLock(t *testing.T) {
	t.Parallel()
	for kind, code := range map[string]author{"plain": counting(3), "with hooks": func(s *history.State) history.Decision {
		d := counting(3)(s)
		if status, _ := s.Wait("w0"); status == history.WaitDone {
			d.Commands = append(d.Commands, hookOn("h", string(s.Key().RunID)))
		}
		return d
	}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			for name, between := range whileHeld {
				if name == "the same" {
					continue
				}
				run := kind + " " + name
				g.answered(run, code)
				before := g.types(run, 1)
				var done Handed
				g.behind(func() { done = g.hand(g.store, by(code)) }, func() { between(g, run) })
				if done.Taken != 1 || done.Committed != 0 || !done.Left {
					t.Errorf("%s: the turn is stored on what is not true any more, or nobody is told: %+v", name, done)
				}
				if after := g.types(run, 1); name == "a lock" && after != before {
					t.Errorf("%s: it has %s, had %s", name, after, before)
				}
			}
			g.right()
			g.drain(by(code))
			g.right()
		})
	}
}

func (g *gated) right() {
	g.t.Helper()
	g.scheduled()
	g.truthful(g.store)
	g.folded(value[[]string](g.acceptRig, `select array_agg(run_id) from runs`)...)
}
