package db

import "github.com/jackc/pgx/v5"

// twoRuns have have had their first turn.
func twoRuns(r *ring, run string) {
	r.ok(r.startOf(run + "a"))
	r.ok(r.startOf(run + "b"))
	r.turn(r.preparer())
}

// The events of a run that gets its first message, and of one that gets two.
const (
	tookOne   = "signal.received wait.completed run.completed"
	tookFirst = "signal.received signal.received wait.completed run.completed"
)

// startedBoth is what two runs that are started and one that gets its message come to.
var startedBoth = opened("A") + "; a: ; b: " + tookOne + "; " + opened("c")

// crossingDuels are duels of transactions that want several runs in crossing orders.
var crossingDuels = []*duel{
	{
		name: "a host's call and a batch", prepare: twoRuns, code: approval, grid: true,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"a", signals("s", "1")}),
			settles(addressed{"a", signals("t", "1")}, addressed{"b", signals("t", "1")}),
		},
		ends: []string{"accepted, accepted | accepted, accepted | a: " + tookFirst + "; b: " + tookFirst},
	},
	{
		name: "a host's call and a batch of the same messages", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"a", signals("s", "1")}),
			settles(addressed{"a", signals("s", "1")}, addressed{"b", signals("s", "2")}),
		},
		ends: []string{
			"accepted, accepted | duplicate, conflict | a: " + tookOne + "; b: " + tookOne,
			"conflict, duplicate | accepted, accepted | a: " + tookOne + "; b: " + tookOne,
		},
	},
	{
		name: "two calls of hosts", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"a", signals("s", "1")}),
			hosts(addressed{"a", signals("s", "1")}, addressed{"b", signals("s", "1")}),
		},
		ends: []string{
			"accepted, accepted | duplicate, duplicate | a: " + tookOne + "; b: " + tookOne,
			"duplicate, duplicate | accepted, accepted | a: " + tookOne + "; b: " + tookOne,
		},
	},
	{
		name: "two calls of hosts that start and send", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"c", starts("1")}, addressed{"A", starts("1")}),
			hosts(addressed{"A", starts("1")}, addressed{"b", signals("s", "1")}, addressed{"c", starts("1")}),
		},
		ends: []string{
			"accepted, accepted, accepted | duplicate, duplicate, duplicate | " + startedBoth,
			"duplicate, duplicate, duplicate | accepted, accepted, accepted | " + startedBoth,
		},
	},
	{
		// After 100 ms of waiting for the host's start the lane goes on without its own, and finds the signal free or not.
		name: "a host's call that starts and a batch", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"c", starts("1")}),
			settles(addressed{"c", starts("1")}, addressed{"b", signals("s", "1")}),
		},
		ends: []string{
			"accepted, accepted | duplicate, duplicate | a: ; b: " + tookOne + "; " + opened("c"),
			"duplicate, duplicate | accepted, accepted | a: ; b: " + tookOne + "; " + opened("c"),
		},
		rare: []string{
			"duplicate, accepted | duplicate, accepted | a: ; b: " + tookOne + "; " + opened("c"),
			"accepted, duplicate | accepted, duplicate | a: ; b: " + tookOne + "; " + opened("c"),
		},
	},
	{
		// A run that changed since the host's transaction began cannot be locked in it: the host begins again.
		name: "a host's call at repeatable read and a batch", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hostsAt(pgx.RepeatableRead, addressed{"b", signals("s", "1")}),
			settles(addressed{"b", signals("s", "1")}),
		},
		ends: []string{
			"accepted | duplicate | a: ; b: " + tookOne,
			"duplicate | accepted | a: ; b: " + tookOne,
			"database unavailable (40001) | accepted | a: ; b: " + tookOne,
		},
	},
	{
		name: "two batches", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			settles(addressed{"b", signals("s", "1")}, addressed{"a", signals("s", "1")}),
			settles(addressed{"a", signals("s", "1")}, addressed{"b", signals("s", "1")}),
		},
		ends: []string{
			"accepted, accepted | duplicate, duplicate | a: " + tookOne + "; b: " + tookOne,
			"duplicate, duplicate | accepted, accepted | a: " + tookOne + "; b: " + tookOne,
		},
	},
	{
		name: "a claim and a host's call", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}, addressed{"a", signals("s", "1")}, addressed{"c", starts("1")}),
			claimsDue,
		},
		ends:  []string{"accepted, accepted, accepted | turned | a: " + tookOne + "; b: " + tookOne + "; " + opened("c")},
		least: 4, // of a claim of nothing
	},
	{
		// The first keeps b from the second, which then has it before the third has: the third holds a by then.
		name: "three calls of hosts", prepare: twoRuns, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"b", signals("s", "1")}),
			hosts(addressed{"b", signals("t", "1")}, addressed{"a", signals("t", "1")}),
			hosts(addressed{"a", signals("u", "1")}, addressed{"b", signals("u", "1")}),
		},
		ends: []string{
			"accepted | accepted, accepted | accepted, accepted | a: " + tookFirst + "; b: signal.received " + tookFirst,
		},
	},
	{
		// The first keeps m from the second, which holds a by then; the third wants a and what the second wants next.
		name: "three calls of hosts that start", prepare: notYet, code: approval,
		moves: []func(*contestant) string{
			hosts(addressed{"m", starts("1")}),
			hosts(addressed{"a", starts("1")}, addressed{"m", starts("1")}, addressed{"z", starts("1")}),
			hosts(addressed{"z", starts("1")}, addressed{"a", starts("1")}),
		},
		ends: []string{
			"accepted | accepted, duplicate, accepted | duplicate, duplicate | " + opened("a", "m", "z"),
			"accepted | duplicate, duplicate, duplicate | accepted, accepted | " + opened("a", "m", "z"),
			"duplicate | accepted, accepted, accepted | duplicate, duplicate | " + opened("a", "m", "z"),
			"duplicate | duplicate, accepted, duplicate | accepted, accepted | " + opened("a", "m", "z"),
		},
	},
}
