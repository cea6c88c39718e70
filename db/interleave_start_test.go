package db

// notYet is a run that does not exist.
func notYet(*ring, string) {}

// openedLate is the story of a run that has its first turn when its message is there.
const openedLate = "run.started signal.received wait.opened wait.completed run.completed"

// startDuels are duels about a run that does not exist yet.
var startDuels = []*duel{
	{
		name: "one start twice", prepare: notYet, code: approval, grid: true,
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), to(starts(`{"n":1.0}`))},
		ends: []string{
			"accepted | duplicate | run.started wait.opened",
			"duplicate | accepted | run.started wait.opened",
		},
	},
	{
		name: "two starts of one run", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), to(starts(`{"n":2}`))},
		ends: []string{
			"accepted | conflict | run.started wait.opened",
			"conflict | accepted | run.started wait.opened",
		},
	},
	{
		name: "a start and a signal", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), to(signals("s", "1"))},
		ends: []string{
			"accepted | run not found | run.started wait.opened",
			"accepted | accepted | " + openedLate,
		},
	},
	{
		name: "a start and cancelling", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), to(cancels(false))},
		ends: []string{
			"accepted | run not found | run.started wait.opened",
			"accepted | accepted | run.started run.cancel_requested run.cancelled",
		},
	},
	{
		name: "a start and the turn", prepare: notYet, code: approval, least: 4, // of a claim of nothing
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), claimsDue},
		ends:  []string{"accepted | turned | run.started wait.opened"},
	},
	{
		name: "one signal with a start twice", prepare: notYet, code: approval, grid: true,
		moves: []func(*contestant) string{to(signalsAndStarts("s", "1")), to(signalsAndStarts("s", "1.0"))},
		ends: []string{
			"accepted | duplicate | " + openedLate,
			"duplicate | accepted | " + openedLate,
		},
	},
	{
		name: "a start and a signal with a start", prepare: notYet, code: approval, grid: true,
		moves: []func(*contestant) string{to(starts(`{"n":2}`)), to(signalsAndStarts("s", "1"))},
		ends: []string{
			"accepted | accepted | " + openedLate,
			"conflict | accepted | " + openedLate,
		},
	},
	{
		name: "a start and a signal with a start that is refused", prepare: notYet, code: approval,
		moves: []func(*contestant) string{to(starts(`{"n":1}`)), to(signalsAndStarts("s", "false"))},
		ends:  []string{"accepted | " + errShape.Error() + " | run.started wait.opened"},
	},
	{
		name: "the same starts in two batches", prepare: notYet, code: approval,
		moves: []func(*contestant) string{
			settles(addressed{"a", starts("1")}, addressed{"b", starts("1")}, addressed{"c", starts("1")}),
			settles(addressed{"c", starts("1")}, addressed{"a", starts("1")}, addressed{"b", starts("2")}),
		},
		ends: []string{
			"accepted, accepted, accepted | duplicate, duplicate, conflict | " + opened("a", "b", "c"),
			"duplicate, conflict, duplicate | accepted, accepted, accepted | " + opened("a", "b", "c"),
		},
	},
	{
		name: "starts and signals that cross", prepare: notYet, code: approval,
		moves: []func(*contestant) string{
			settles(addressed{"a", starts("1")}, addressed{"b", signals("s", "1")}),
			settles(addressed{"b", starts("1")}, addressed{"a", signals("s", "1")}),
		},
		ends: []string{
			"accepted, run not found | accepted, run not found | " + opened("a", "b"),
			"accepted, run not found | accepted, accepted | a: " + openedLate + "; " + opened("b"),
			"accepted, accepted | accepted, run not found | " + opened("a") + "; b: " + openedLate,
		},
	},
}

// opened is the story of runs that started and opened their wait.
func opened(runs ...string) (story string) {
	for i, run := range runs {
		if i > 0 {
			story += "; "
		}
		story += run + ": run.started wait.opened"
	}
	return story
}
