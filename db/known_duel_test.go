package db

import (
	"context"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// letKnow has the corners decide on what they know, and advance what their own commits made due.
func (r *ring) letKnow() {
	for _, c := range r.corners {
		c.store.records, c.store.sent = newKnownRuns(1000), newIdentities(1000)
		c.store.cfg.Takes = func(Code) bool { return true }
	}
}

// fightKnown is fightAll in rings whose corners know what they did.
func fightKnown(t *testing.T, duels []*duel) {
	t.Helper()
	for _, stopped := range []bool{false, true} {
		r := newRing(t, stopped, 3)
		r.letKnow()
		for _, d := range duels {
			if d.stopped != stopped {
				continue
			}
			d.check = func(r *ring, _ string) { r.scheduled() }
			d.least = 4 // begin, settings, the statement, commit
			if !t.Run(d.name, func(t *testing.T) {
				r.t = t
				r.fight(d)
			}) {
				break // what it left would make others fail
			}
		}
		r.t = t
		r.checkAll()
		for _, c := range r.corners {
			r.truthful(c.store)
		}
		r.close()
	}
}

// startedBy has the first corner start the run: it is handed over there.
func startedBy(r *ring, run string) {
	r.t.Helper()
	r.acceptOn(r.corners[0].store, r.startOf(run))
}

// parkedBy has the first corner have the run's first turn, too: it knows the run.
func parkedBy(r *ring, run string) {
	r.t.Helper()
	startedBy(r, run)
	r.turnOn(r.corners[0].store, run, r.duel.code)
}

// answeredBy has the first corner accept the run's first message: it is handed over there.
func answeredBy(r *ring, run string) {
	r.t.Helper()
	parkedBy(r, run)
	r.acceptOn(r.corners[0].store, r.signal(run, "first", "1"))
}

// blockedBehind is known to the first corner as it was before another process blocked it.
func blockedBehind(r *ring, run string) {
	r.t.Helper()
	parkedBy(r, run)
	r.blockNow(run)
}

// putsOff changes when the run is due, and nothing else.
func putsOff(c *contestant) string {
	if err := c.store.postpone(context.Background(), keyOf(c.run), 0); err != nil {
		return verdictOf(history.Receipt{}, err)
	}
	return "put off"
}

// sendsIt is the signal of these duels, and tookIt what becomes of a run that waits for it.
var sendsIt = to(signals("s", "1"))

const tookIt = "signal.received wait.completed run.completed"

// sendsBoth sends two signals in one batch, and one of them again.
func sendsBoth(c *contestant) string {
	all := []history.Message{c.signal(c.run, "s", "1"), c.signal(c.run, "t", "1"), c.signal(c.run, "s", "1")}
	var words []string
	for i, a := range c.lane(c.store, all...) {
		words = append(words, c.answer(all[i], a))
	}
	return strings.Join(words, ", ")
}

// knownDuels are duels of a process that decides on what it knows, always the first one, with one that reads.
var knownDuels = []*duel{
	{
		name: "two signals of one batch and another one", prepare: parkedBy, code: counting(3), grid: true,
		moves: []func(*contestant) string{sendsBoth, to(signals("t", "1"))},
		ends: []string{
			"accepted, accepted, duplicate | duplicate | signal.received signal.received wait.completed wait.opened wait.completed wait.opened",
			"accepted, duplicate, duplicate | accepted | signal.received signal.received wait.completed wait.opened wait.completed wait.opened",
		},
	},
	{
		name: "two signals of one batch and the turn that completes", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{sendsBoth, claimsDue},
		ends: []string{
			"accepted, accepted, duplicate | turned | signal.received " + tookIt, "gone, gone, gone | turned | wait.completed run.completed",
		},
	},
	{
		name: "a signal and another one", prepare: parkedBy, code: counting(2), grid: true,
		moves: []func(*contestant) string{sendsIt, to(signals("t", "1"))},
		ends:  []string{"accepted | accepted | signal.received signal.received wait.completed wait.opened wait.completed run.completed"},
	},
	{
		name: "one signal twice", prepare: parkedBy, code: approval, grid: true,
		moves: []func(*contestant) string{sendsIt, to(signals("s", "1.0"))},
		ends:  []string{"accepted | duplicate | " + tookIt, "duplicate | accepted | " + tookIt},
	},
	{
		name: "one signal ID with two payloads", prepare: parkedBy, code: approval,
		moves: []func(*contestant) string{sendsIt, to(signals("s", "2"))},
		ends:  []string{"accepted | conflict | " + tookIt, "conflict | accepted | " + tookIt},
	},
	{
		name: "a signal and cancelling", prepare: parkedBy, code: approval,
		moves: []func(*contestant) string{sendsIt, to(cancels(false))},
		ends: []string{
			"accepted | accepted | signal.received run.cancel_requested run.cancelled",
			"gone | accepted | run.cancel_requested run.cancelled",
		},
	},
	{
		name: "a signal and the turn that completes", prepare: answeredBy, code: approval, grid: true,
		moves: []func(*contestant) string{sendsIt, claimsDue},
		ends:  []string{"accepted | turned | " + tookIt, "gone | turned | wait.completed run.completed"},
	},
	{
		name: "a signal and the turn at its deadline", prepare: parkedBy, code: patient, stopped: true, grid: true,
		moves: []func(*contestant) string{sendsIt, lately(claimsDue)},
		ends: []string{
			"accepted | turned | " + tookIt, "accepted | turned | signal.received wait.timed_out run.failed",
			"gone | turned | wait.timed_out run.failed",
		},
	},
	{
		name: "a signal and continuing as new", prepare: answeredBy, code: rolling,
		moves: []func(*contestant) string{sendsIt, claimsDue},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.continued wait.opened wait.completed run.completed",
			"accepted | turned | wait.completed run.continued signal.received wait.opened wait.completed run.completed",
		},
	},
	{
		name: "a signal and blocking", prepare: parkedBy, code: approval,
		moves: []func(*contestant) string{sendsIt, blocks(3)},
		ends: []string{
			"accepted | blocked | " + tookIt,
			"accepted | blocked | run.blocked signal.received run.unblocked wait.completed run.completed",
		},
	},
	{
		name: "a signal and the wake-up of what was blocked behind the back", prepare: blockedBehind, code: approval,
		stopped: true, asleep: true,
		moves: []func(*contestant) string{sendsIt, wakes},
		ends:  []string{"accepted | woken | signal.received run.unblocked wait.completed run.completed"},
	},
	{
		name: "a signal and putting off", prepare: answeredBy, code: counting(2),
		moves: []func(*contestant) string{sendsIt, putsOff},
		ends:  []string{"accepted | put off | signal.received wait.completed wait.opened wait.completed run.completed"},
	},
	{
		name: "a signal and disposing", prepare: parkedBy, code: juggling, stopped: true, again: true, // the hook is refused then
		moves: []func(*contestant) string{sendsIt, to(disposes("h"))},
		ends: []string{
			"accepted | accepted | hook.disposed signal.received wait.completed run.continued hook.rejected wait.opened",
			"accepted | accepted | signal.received hook.disposed wait.completed run.continued wait.opened facts.taken",
		},
	},
	{
		name: "a signal and the expiry", prepare: parkedBy, code: juggling, stopped: true,
		moves: []func(*contestant) string{sendsIt, lately(claimsDue)},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.continued wait.opened hook.expired",
			"accepted | turned | signal.received hook.expired wait.timed_out run.failed",
			"gone | turned | hook.expired wait.timed_out run.failed",
		},
	},
}

// A signal that is decided on what a process knows, held before every statement while another process does something to
// the run as far as it can, and the other way round.
func TestKnownInterleavings(t *testing.T) {
	t.Parallel()
	fightKnown(t, knownDuels)
}
