package db

import (
	"context"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// handsOver advances what was handed over to the first corner.
func handsOver(c *contestant) string {
	for {
		done, err := c.store.AdvanceHanded(context.Background(), c.turnsOf())
		if err != nil {
			return verdictOf(history.Receipt{}, err)
		}
		if !done.More {
			return "handed"
		}
	}
}

// opensBy is a run with a hook, as many of which want one token as there are in the duel.
func opensBy(s *history.State) history.Decision {
	if s.Hook("h").Rejected != nil {
		return decide(&history.Complete{Output: null})
	}
	return decide(hookOn("h", duelToken(string(s.Key().RunID)[:boutLength])))
}

// turnedIt is what becomes of a run whose message is there.
const turnedIt = "wait.completed run.completed"

// handedDuels are duels of a process that advances what it made due without a claim, always the first one.
var handedDuels = []*duel{
	{
		name: "a turn and its claim", prepare: answeredBy, code: approval, grid: true,
		moves: []func(*contestant) string{handsOver, claimsDue},
		ends:  []string{"handed | turned | " + turnedIt},
	},
	{
		name: "a turn and a claim of that run", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{handsOver, claimsOne("")},
		ends:  []string{"handed | turned | " + turnedIt},
	},
	{
		name: "a turn that completes and a signal", prepare: answeredBy, code: approval, grid: true,
		moves: []func(*contestant) string{handsOver, to(signals("s", "2"))},
		ends:  []string{"handed | accepted | signal.received " + turnedIt, "handed | gone | " + turnedIt},
	},
	{
		name: "the first turn and a signal", prepare: startedBy, code: approval,
		moves: []func(*contestant) string{handsOver, to(signals("s", "2"))},
		ends: []string{
			"handed | accepted | signal.received wait.opened " + turnedIt, "handed | accepted | wait.opened signal.received " + turnedIt,
		},
	},
	{
		name: "a turn and cancelling", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{handsOver, to(cancels(false))},
		ends:  []string{"handed | accepted | run.cancel_requested run.cancelled", "handed | gone | " + turnedIt},
	},
	{
		name: "a turn and the claim at its deadline", prepare: answeredBy, code: patient, stopped: true,
		moves: []func(*contestant) string{handsOver, lately(claimsDue)},
		ends:  []string{"handed | turned | " + turnedIt},
	},
	{
		name: "continuing as new and a signal", prepare: answeredBy, code: rolling, grid: true,
		moves: []func(*contestant) string{handsOver, to(signals("s", "2"))},
		ends: []string{
			"handed | accepted | signal.received wait.completed run.continued wait.opened wait.completed run.completed",
			"handed | accepted | wait.completed run.continued signal.received wait.opened wait.completed run.completed",
		},
	},
	{
		name: "a turn and blocking", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{handsOver, blocks(4)},
		ends: []string{
			"handed | blocked | " + turnedIt, "handed | blocked | run.blocked run.unblocked " + turnedIt,
		},
	},
	{
		name: "a turn and putting off", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{handsOver, putsOff},
		ends:  []string{"handed | put off | " + turnedIt},
	},
	{
		name: "a turn that closes a hook and disposing of it", prepare: answeredBy, code: withdrawing,
		moves: []func(*contestant) string{handsOver, to(disposes("h"))},
		ends: []string{
			"handed | accepted | hook.disposed wait.completed wait.opened facts.taken",
			"handed | duplicate | wait.completed hook.disposed wait.opened",
		},
	},
	{
		name: "a turn and an answer", prepare: answeredBy, code: juggling, stopped: true,
		moves: []func(*contestant) string{handsOver, to(answers("h", "1"))},
		ends: []string{
			"handed | accepted | hook.resumed wait.completed run.continued wait.opened wait.withdrawn run.completed",
			"handed | accepted | wait.completed run.continued hook.resumed wait.opened wait.withdrawn run.completed",
		},
	},
	{
		name: "two turns that open a hook on one token", code: opensBy,
		prepare: func(r *ring, run string) {
			startedBy(r, run+"x")
			r.ok(r.startOf(run + "y"))
		},
		moves: []func(*contestant) string{handsOver, claimsOne("y")},
		ends: []string{
			"handed | turned | x: hook.created; y: hook.rejected run.completed",
			"handed | turned | x: hook.rejected run.completed; y: hook.created",
		},
	},
	{
		name: "a turn and reads", prepare: answeredBy, code: withdrawing, reads: true,
		moves: []func(*contestant) string{handsOver, reads},
		ends:  []string{"handed | read | wait.completed hook.disposed wait.opened"},
	},
	{
		name: "a turn, a signal and a claim", prepare: answeredBy, code: approval,
		moves: []func(*contestant) string{handsOver, to(signals("s", "2")), claimsDue},
		ends: []string{
			"handed | accepted | turned | signal.received " + turnedIt, "handed | gone | turned | " + turnedIt,
		},
	},
}

// A turn that is decided before its run is locked, held before every statement while another process does something to the
// run as far as it can, and the other way round.
func TestHandedInterleavings(t *testing.T) {
	t.Parallel()
	for _, d := range handedDuels {
		d.again = true // a turn that was decided in vain is decided again
	}
	fightKnown(t, handedDuels)
}
