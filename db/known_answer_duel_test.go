package db

import "testing"

// resolvedBy is known to the first corner, which has just found the run's hook by its token.
func resolvedBy(r *ring, run string) {
	r.t.Helper()
	parkedBy(r, run)
	r.resolve(r.corners[0].store, run)
}

// resolvedWithMessage has got a message since: its turn is due.
func resolvedWithMessage(r *ring, run string) {
	r.t.Helper()
	answeredBy(r, run)
	r.resolve(r.corners[0].store, run)
}

// answersIt is the answer of these duels.
var answersIt = to(answers("h", "1"))

// answerDuels are duels of an answer, or a start, that is decided on what a process knows: always the first move.
var answerDuels = []*duel{
	{
		name: "an answer twice", prepare: resolvedBy, code: asking, grid: true,
		moves: []func(*contestant) string{answersIt, to(answers("h", "1.0"))},
		ends: []string{
			"accepted | duplicate | hook.resumed run.completed", "duplicate | accepted | hook.resumed run.completed",
		},
	},
	{
		name: "two answers", prepare: resolvedBy, code: asking,
		moves: []func(*contestant) string{answersIt, byToken("2")},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed", "conflict | accepted | hook.resumed run.completed",
		},
	},
	{
		name: "an answer and disposing", prepare: resolvedBy, code: asking, grid: true,
		moves: []func(*contestant) string{answersIt, to(disposes("h"))},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed", "gone: disposed | accepted | hook.disposed run.failed",
		},
	},
	{
		name: "an answer and cancelling", prepare: resolvedBy, code: asking,
		moves: []func(*contestant) string{answersIt, to(cancels(false))},
		ends: []string{
			"accepted | accepted | hook.resumed run.cancel_requested run.cancelled",
			"gone: cancelled | accepted | run.cancel_requested hook.closed run.cancelled",
		},
	},
	{
		name: "an answer and the turn at its deadline", prepare: resolvedBy, code: askingUntil, stopped: true, grid: true,
		moves: []func(*contestant) string{answersIt, lately(claimsDue)},
		ends: []string{
			"accepted | turned | hook.resumed run.completed", "gone: expired | turned | hook.expired run.failed",
		},
	},
	{
		name: "an answer and the turn that disposes", prepare: resolvedWithMessage, code: withdrawing,
		moves: []func(*contestant) string{answersIt, claimsDue},
		ends: []string{
			"accepted | turned | hook.resumed wait.completed wait.opened facts.taken",
			"gone: disposed | turned | wait.completed hook.disposed wait.opened",
		},
	},
	{
		name: "an answer and a signal", prepare: resolvedBy, code: juggling, stopped: true,
		moves: []func(*contestant) string{answersIt, to(signals("s", "1"))},
		ends: []string{
			"accepted | accepted | hook.resumed signal.received wait.withdrawn run.completed",
			"accepted | accepted | signal.received hook.resumed wait.completed run.continued wait.opened wait.withdrawn run.completed",
		},
	},
	{
		name: "a start twice", prepare: notYet, code: approval, grid: true,
		moves: []func(*contestant) string{to(starts("1")), to(starts("1"))},
		ends: []string{
			"accepted | duplicate | run.started wait.opened", "duplicate | accepted | run.started wait.opened",
		},
	},
	{
		name: "two starts", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts("1")), to(starts("2"))},
		ends: []string{
			"accepted | conflict | run.started wait.opened", "conflict | accepted | run.started wait.opened",
		},
	},
	{
		name: "a start and a host's start", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts("1")), hosts(addressed{"", starts("1")})},
		ends: []string{
			"accepted | duplicate | run.started wait.opened", "duplicate | accepted | run.started wait.opened",
		},
	},
}

// An answer, or a start, that is decided on what a process knows, held before every statement while another process does
// something to the run as far as it can, and the other way round.
func TestKnownAnswersInterleave(t *testing.T) {
	t.Parallel()
	fightKnown(t, answerDuels)
}
