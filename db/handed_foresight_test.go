package db

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
)

// promised is how far ahead nothing of a run may end by time for its turn to be decided before the lock.
const promised = 10 * time.Second

// ending are commands that open something which ends by time.
var ending = map[string]func(s *history.State, in time.Duration) history.Command{
	"wait": func(_ *history.State, in time.Duration) history.Command {
		return &history.OpenWait{ID: "late", Signal: "rejected", Timeout: &in}
	},
	"timer": func(_ *history.State, in time.Duration) history.Command {
		return &history.StartTimer{ID: "late", In: &in}
	},
	"step": func(_ *history.State, in time.Duration) history.Command {
		step := stepOf("late")
		step.ScheduleToClose = &in
		return step
	},
	"hook": func(s *history.State, in time.Duration) history.Command {
		h := tokenHook(s, "late").(*history.CreateHook)
		h.In = &in
		return h
	},
}

// besides waits for two messages, beside something that ends by time.
func besides(what string, in time.Duration) author {
	return func(s *history.State) history.Decision {
		d := counting(2)(s)
		if _, done := d.Commands[0].(*history.Complete); !done {
			d.Commands = append(d.Commands, ending[what](s, in))
		}
		return d
	}
}

// A turn of a run of which something ends by time soon is left to a claim, which decides at the time that it has under the
// lock: it is not even decided before, and its state is kept. What ends later does not matter.
func TestATurnBesideADeadlineIsLeftToAClaim(t *testing.T) {
	t.Parallel()
	r := running(t, taking, twoSignals)
	for what := range ending {
		for in, soon := range map[time.Duration]bool{promised - 3*time.Second: true, time.Minute: false} {
			run := fmt.Sprint(what, in)
			r.ok(r.startOf(run))
			if done := r.hand(r.Store, by(besides(what, in))); done.Committed != 1 || done.NextDue == nil {
				t.Fatalf("%s: the first turn: %+v", run, done)
			}
			seq := r.ok(r.signal(run, "s", "1")).Sequence + 1
			var decided calls
			done := r.hand(r.Store, decided.watch(by(besides(what, in))))
			if done.Taken != 1 || done.Left != soon || done.Committed == 1 == soon {
				t.Errorf("%s: %+v", run, done)
			}
			if n := decided.of(run, seq); n == 0 != soon {
				t.Errorf("%s: it is decided %d times", run, n)
			}
			if soon {
				if known, _ := r.records.get(keyOf(run)); r.states.byRun[known.ID] == nil {
					t.Errorf("%s: the state is lost", run)
				}
				done, err := r.AdvanceOne(t.Context(), decided.watch(by(besides(what, in))), keyOf(run))
				if err != nil || done.Committed != 1 || decided.of(run, seq) != 1 {
					t.Errorf("%s: a claim: %+v %v", run, done, err)
				}
			}
		}
	}
	r.scheduled()
	r.folded(value[[]string](r, `select array_agg(run_id) from runs`)...)
}

// An outcome is worth nothing once something may have ended by time: the statement that stores it says no, by the clock of
// the database.
func TestATurnIsNotStoredAfterItsForesight(t *testing.T) {
	t.Parallel()
	for kind, code := range map[string]author{"plain": approval, "with hooks": withdrawing} {
		for late, want := range map[time.Duration]int{promised - time.Millisecond: 1, promised: 0, time.Hour: 0} {
			t.Run(fmt.Sprint(kind, " after ", late), func(t *testing.T) {
				t.Parallel()
				r := newRing(t, true, 1)
				r.letKnow()
				r.enter(&duel{code: code, moves: make([]func(*contestant) string, 1)})
				r.n = 1
				at := r.late()
				r.setClock(at)
				answeredBy(r, boutName(1))
				r.setClock(at.Add(late))
				done := r.hand(r.corners[0].store, r.turnsOf())
				if done.Committed != want || done.Left != (want == 0) {
					t.Errorf("%+v", done)
				}
				r.truthful(r.corners[0].store)
				r.turns()
				r.scheduled()
				r.checkAll()
			})
		}
	}
}

// What is handed over together has its foresight apart: that of one that waited for too long is over.
func TestForesightIsThatOfEachTurn(t *testing.T) {
	t.Parallel()
	r := newRing(t, true, 1)
	r.letKnow()
	r.enter(&duel{code: counting(2), moves: make([]func(*contestant) string, 1)})
	at, s := r.late(), r.corners[0].store
	r.setClock(at)
	for _, run := range []string{"early", "later"} {
		parkedBy(r, run)
	}
	r.acceptOn(s, r.signal("early", "s", "1"))
	r.setClock(at.Add(promised))
	r.acceptOn(s, r.signal("later", "s", "1"))
	if done := r.hand(s, r.turnsOf()); done.Taken != 2 || done.Committed != 1 || !done.Left {
		t.Errorf("%+v", done)
	}
	if v := r.view("early"); v.Backlog != 1 {
		t.Errorf("it was the wrong one: %+v", v.Run)
	}
}

// A turn that opens something which ends by time is stored promptly or not at all: what it opens would have less time than
// its code gave it.
func TestATurnThatOpensADeadlineIsPrompt(t *testing.T) {
	t.Parallel()
	for what := range ending {
		for late, want := range map[time.Duration]int{249 * time.Millisecond: 1, 250 * time.Millisecond: 0} {
			t.Run(fmt.Sprint(what, " after ", late), func(t *testing.T) {
				t.Parallel()
				r := newRing(t, true, 1)
				r.letKnow()
				r.enter(&duel{code: besides(what, time.Minute), moves: make([]func(*contestant) string, 1)})
				r.n = 1
				at, s := r.late(), r.corners[0].store
				r.setClock(at)
				r.acceptOn(s, r.startOf("it"))
				r.setClock(at.Add(late))
				if done := r.hand(s, r.turnsOf()); done.Taken != 1 || done.Committed != want || done.Left != (want == 0) {
					t.Errorf("%+v", done)
				}
			})
		}
	}
}

// anyTurnMessage is a message to a run of juggling.
func anyTurnMessage(t *rapid.T, r *acceptRig) func(run string) history.Message {
	kind := rapid.SampledFrom([]string{"s", "s", "s", "answer", "dispose", "cancel", "outcome", "outcome"}).Draw(t, "kind")
	id := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "ID")
	return func(run string) history.Message {
		switch kind {
		case "answer":
			return r.resume(run, "h", id)
		case "dispose":
			return &history.DisposeHook{Run: keyOf(run), HookID: "h"}
		case "outcome":
			return &history.SettleTask{Run: keyOf(run), Task: theStep, Output: null}
		case "cancel":
			return &history.CancelRun{Run: keyOf(run)}
		}
		return r.signal(run, id, id)
	}
}

// settled claims a run until it is not due.
func (r *acceptRig) settled(run string, code author) {
	r.t.Helper()
	for range 10 {
		done, err := r.AdvanceOne(r.t.Context(), by(code), keyOf(run))
		if err != nil || len(done.Failed) > 0 {
			r.t.Fatalf("%+v %v", done, err)
		}
		if done.Claimed == 0 {
			return
		}
	}
	r.t.Fatalf("%s is due over and over", run)
}

// Whatever messages come: a run whose turns are handed over has the events and rows, but for their times, of one whose turns
// are claimed.
func TestHandedTurnsAreClaimedOnes(t *testing.T) {
	t.Parallel()
	r := running(t, taking)
	r.sql(`create table orders (run_id text primary key)`) // runRows reads it
	codes := map[string]author{"juggling": juggling, "rolling": rollingTwice, "counting": counting(3), "withdrawing": withdrawing, "working": working}
	handed, n := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		code := codes[rapid.SampledFrom([]string{"juggling", "rolling", "counting", "withdrawing", "working", "working"}).Draw(t, "code")]
		ms := []func(string) history.Message{func(run string) history.Message { return r.startOf(run) }}
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			ms = append(ms, anyTurnMessage(t, r))
		}
		every := rapid.IntRange(1, 3).Draw(t, "messages of a turn")
		byHand, byClaim := fmt.Sprintf("h%d/it", n), fmt.Sprintf("c%d/it", n)
		for i, m := range ms {
			a, b := readings(r.lane(r.Store, m(byHand))), readings(r.lane(r.Store, m(byClaim)))
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("message %d is answered with %v and %v", i, a, b)
			}
			if i%every != 0 && i != len(ms)-1 {
				continue
			}
			handed += r.hand(r.Store, by(code)).Committed
			r.settled(byHand, code) // what was left
			r.settled(byClaim, code)
		}
		f := &faultRig{acceptRig: r}
		a, b := f.runRows(fmt.Sprint("h", n))["it"], f.runRows(fmt.Sprint("c", n))["it"]
		if a != b {
			t.Fatalf("handed over\n%s\nclaimed\n%s", a, b)
		}
	})
	if handed < n {
		t.Errorf("in %d traces %d turns were handed over", n, handed)
	}
	r.scheduled()
	r.truthful(r.Store)
	r.folded(value[[]string](r, `select array_agg(run_id) from runs where id % 7 = 1`)...)
}
