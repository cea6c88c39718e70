package db

import (
	"github.com/flowgate-go/flowgate/internal/history"
)

// meeting is the turn that opens a wait, and its message.
var meeting = &duel{
	name:    "a wait and its message",
	grid:    true,
	prepare: func(r *ring, run string) { r.ok(r.startOf(run)) },
	code:    approval,
	moves:   []func(*contestant) string{claimsDue, to(signals("s", "1"))},
	ends: []string{
		"turned | accepted | wait.opened signal.received wait.completed run.completed",
		"turned | accepted | signal.received wait.opened wait.completed run.completed",
	},
}

// answeredRun has had its first turn and got its message; its next turn is due.
func answeredRun(r *ring, run string) {
	r.ok(r.startOf(run))
	r.turn(r.preparer())
	r.ok(r.signal(run, "first", "1"))
}

// refusing waits for one signal and fails.
func refusing(s *history.State) history.Decision {
	if status, _ := s.Wait("w"); status == history.WaitDone {
		return decide(&history.Fail{Message: "refused"})
	}
	return decide(wait("w"))
}

// patient waits for a signal until the deadline.
func patient(s *history.State) history.Decision {
	switch status, answer := s.Wait("w"); status {
	case history.WaitDone:
		return decide(&history.Complete{Output: answer})
	case history.WaitLate:
		return decide(&history.Fail{Message: "late"})
	default:
	}
	in := duelDeadline
	return decide(&history.OpenWait{ID: "w", Signal: "approved", Timeout: &in})
}

// rolling continues as new after its first signal and completes with its second.
func rolling(s *history.State) history.Decision {
	status, answer := s.Wait("w")
	switch {
	case status != history.WaitDone:
		return decide(wait("w"))
	case s.Generation() == 1:
		return decide(&history.ContinueAsNew{Input: answer})
	}
	return decide(&history.Complete{Output: answer})
}

// signalDuels are duels about one signal.
var signalDuels = []*duel{
	{
		name: "a signal and the turn that completes", prepare: answeredRun, code: approval, grid: true,
		moves: []func(*contestant) string{to(signals("s", "2")), claimsDue},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.completed",
			"gone | turned | wait.completed run.completed",
		},
	},
	{
		name: "a signal and the turn that fails", prepare: answeredRun, code: refusing,
		moves: []func(*contestant) string{to(signals("s", "2")), claimsDue},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.failed",
			"gone | turned | wait.completed run.failed",
		},
	},
	{
		name: "a signal and the turn at its deadline", code: patient, stopped: true, grid: true,
		moves: []func(*contestant) string{to(signals("s", "1")), lately(claimsDue)},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.completed",
			"accepted | turned | signal.received wait.timed_out run.failed",
			"gone | turned | wait.timed_out run.failed",
		},
	},
	{
		name: "a late signal and the turn at its deadline", code: patient, stopped: true,
		moves: []func(*contestant) string{lately(to(signals("s", "1"))), lately(claimsDue)},
		ends: []string{
			"accepted | turned | signal.received wait.timed_out run.failed",
			"gone | turned | wait.timed_out run.failed",
		},
	},
	{
		name: "a signal and cancelling", code: approval,
		moves: []func(*contestant) string{to(signals("s", "1")), to(cancels(false))},
		ends: []string{
			"accepted | accepted | signal.received run.cancel_requested run.cancelled",
			"gone | accepted | run.cancel_requested run.cancelled",
		},
	},
	{
		name: "a signal and continuing as new", prepare: answeredRun, code: rolling, grid: true,
		moves: []func(*contestant) string{to(signals("s", "2")), claimsDue},
		ends: []string{
			"accepted | turned | signal.received wait.completed run.continued wait.opened wait.completed run.completed",
			"accepted | turned | wait.completed run.continued signal.received wait.opened wait.completed run.completed",
		},
	},
	{
		name: "one signal twice", code: approval,
		moves: []func(*contestant) string{to(signals("s", "1")), to(signals("s", "1.0"))},
		ends: []string{
			"accepted | duplicate | signal.received wait.completed run.completed",
			"duplicate | accepted | signal.received wait.completed run.completed",
		},
	},
	{
		name: "one signal ID with two payloads", code: approval,
		moves: []func(*contestant) string{to(signals("s", "1")), to(signals("s", "2"))},
		ends: []string{
			"accepted | conflict | signal.received wait.completed run.completed",
			"conflict | accepted | signal.received wait.completed run.completed",
		},
	},
	{
		name: "one signal ID with two names", code: approval,
		moves: []func(*contestant) string{to(signals("s", "1")), to(named("rejected", "s", "1"))},
		ends: []string{
			"accepted | conflict | signal.received wait.completed run.completed",
			"conflict | accepted | signal.received facts.taken",
		},
	},
	{
		name: "two signals", code: counting(2),
		moves: []func(*contestant) string{to(signals("s1", "1")), to(signals("s2", "2"))},
		ends: []string{
			"accepted | accepted | signal.received signal.received wait.completed wait.opened wait.completed run.completed",
		},
	},
}
