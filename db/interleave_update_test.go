package db

// updateDuels are duels about updates of a run that waits for a message.
var updateDuels = []*duel{
	{
		name: "one update twice", code: approval, grid: true,
		moves: []func(*contestant) string{to(updates("u", "1")), to(updates("u", "1.0"))},
		ends: []string{
			"accepted | duplicate | update.received update.completed",
			"duplicate | accepted | update.received update.completed",
		},
	},
	{
		name: "two updates of one ID", code: approval,
		moves: []func(*contestant) string{to(updates("u", "1")), to(updates("u", "2"))},
		ends: []string{
			"accepted | conflict | update.received update.completed",
			"conflict | accepted | update.received update.completed",
		},
	},
	{
		name: "an update and cancelling", code: approval, grid: true,
		moves: []func(*contestant) string{to(updates("u", "1")), to(cancels(false))},
		ends: []string{
			"accepted | accepted | update.received run.cancel_requested update.orphaned run.cancelled",
			"gone | accepted | run.cancel_requested run.cancelled",
		},
	},
	{
		name: "an update and the message that ends the run", code: approval,
		moves: []func(*contestant) string{to(updates("u", `"leave"`)), to(signals("s", "1"))},
		ends: []string{
			"accepted | accepted | update.received signal.received wait.completed update.orphaned run.completed",
			"accepted | accepted | signal.received update.received wait.completed update.orphaned run.completed",
		},
	},
	{
		name: "one update with a start twice", prepare: notYet, code: approval, grid: true,
		moves: []func(*contestant) string{to(updatesAndStarts("u", "1")), to(updatesAndStarts("u", "1.0"))},
		ends: []string{
			"accepted | duplicate | run.started update.received wait.opened update.completed",
			"duplicate | accepted | run.started update.received wait.opened update.completed",
		},
	},
}
