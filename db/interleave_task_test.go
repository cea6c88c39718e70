package db

import (
	"context"

	"github.com/flowgate-go/flowgate/internal/history"
)

// steppingUntil is stepping with a deadline.
func steppingUntil(s *history.State) history.Decision {
	d := stepping(s)
	if step, ok := d.Commands[0].(*history.ScheduleStep); ok {
		in := duelDeadline
		step.ScheduleToClose = &in
	}
	return d
}

// dropping withdraws its step on a message.
func dropping(s *history.State) history.Decision {
	if status, _ := s.Wait("w"); status == history.WaitDone {
		return decide(&history.WithdrawStep{ID: "s"}, wait("more"))
	}
	return decide(stepOf("s"), wait("w"))
}

func outcomes(attempt int) wording {
	return func(_ *ring, run string) history.Message {
		return &history.SettleTask{Run: keyOf(run), Task: theStep, Attempt: attempt, Output: null}
	}
}

func holds(attempt int) wording {
	return func(_ *ring, run string) history.Message {
		letter := history.Letter{Failure: history.Failure{Reason: history.FailedExhausted}}
		return &history.HoldTask{Run: keyOf(run), Task: theStep, Attempt: attempt, Letter: letter}
	}
}

var stepsWanted = []TaskWant{{Kind: history.TaskStep, Name: "charge", Most: 1_000}}

// begins claims what is due for a worker, and says whether the step of the duel is among it.
func begins(worker string) func(*contestant) string {
	return func(c *contestant) string {
		claimed, err := c.store.ClaimTasks(context.Background(), TaskClaim{Worker: worker, Lease: aMinute, Wants: stepsWanted})
		if err != nil {
			return err.Error()
		}
		for _, task := range claimed.Tasks {
			if task.Run == keyOf(c.run) {
				return "begun"
			}
		}
		return "nothing"
	}
}

// attempt is that of worker w which has begun the step of a duel.
func (c *contestant) attempt() ClaimedTask {
	id := value[int64](c.acceptRig, `select id from runs where run_id = $1`, c.run)
	return ClaimedTask{Run: keyOf(c.run), Task: history.Task{TaskKey: theStep, Attempt: 1}, run: id}
}

func gives(c *contestant) string {
	own, err := c.store.ReturnTask(context.Background(), "w", c.attempt(), Attempt{Failed: true})
	return owns(own, err)
}

func renews(c *contestant) string {
	own, err := c.store.RenewTasks(context.Background(), "w", aMinute, []TaskLease{{Task: c.attempt(), Details: []byte("half")}})
	return owns(err == nil && own[0], err)
}

func owns(own bool, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case own:
		return "own"
	}
	return "lost"
}

// begunBy prepares a run whose step worker w has begun; lost: its lease has ended.
func begunBy(lost bool, then ...wording) func(r *ring, run string) {
	return func(r *ring, run string) {
		r.ok(r.startOf(run))
		r.turn(r.preparer())
		if claimed := r.claim("w", aMinute, stepsWanted...); len(claimed) == 0 {
			r.t.Fatalf("the step of %s is not due", run)
		}
		if lost {
			r.sql(`update tasks set run_after = clock_timestamp() where run = (select id from runs where run_id = $1)`, run)
		}
		for _, m := range then {
			r.ok(m(r, run))
		}
	}
}

// taskDuels are duels about one step.
var taskDuels = []*duel{
	{
		name: "an outcome and the turn at the step's deadline", code: steppingUntil, stopped: true, grid: true,
		moves: []func(*contestant) string{to(outcomes(0)), lately(claimsDue)},
		ends: []string{
			"accepted | turned | step.completed run.completed",
			taskClosed + " | turned | step.timed_out run.failed",
		},
	},
	{
		name: "a late outcome and the turn at the step's deadline", code: steppingUntil, stopped: true,
		moves: []func(*contestant) string{lately(to(outcomes(0))), lately(claimsDue)},
		ends:  []string{taskClosed + " | turned | step.timed_out run.failed"},
	},
	{
		name: "an outcome and a cancellation", code: stepping, grid: true,
		moves: []func(*contestant) string{to(outcomes(0)), to(cancels(false))},
		ends: []string{
			"accepted | accepted | step.completed run.cancel_requested run.cancelled",
			taskClosed + " | accepted | run.cancel_requested step.cancelled run.cancelled",
		},
	},
	{
		name: "an outcome and its redelivery", code: stepping,
		moves: []func(*contestant) string{to(outcomes(0)), to(outcomes(0))},
		ends: []string{
			"accepted | " + taskClosed + " | step.completed run.completed",
			taskClosed + " | accepted | step.completed run.completed",
		},
	},
	{
		name: "an outcome and the next attempt", code: stepping, prepare: begunBy(true), least: 4, grid: true,
		moves: []func(*contestant) string{to(outcomes(1)), begins("v")},
		ends: []string{
			"accepted | nothing | step.completed run.completed",
			"accepted | begun | step.completed run.completed",
			staleAttempt + " | begun | ",
		},
	},
	{
		name: "holding and the next attempt", code: stepping, prepare: begunBy(true), least: 4, grid: true,
		moves: []func(*contestant) string{to(holds(1)), begins("v")},
		ends:  []string{"accepted | nothing | ", "accepted | begun | ", staleAttempt + " | begun | "},
	},
	{
		name: "giving back and an outcome", code: stepping, prepare: begunBy(false), least: 4, grid: true,
		moves: []func(*contestant) string{gives, to(outcomes(1))},
		ends:  []string{"own | accepted | step.completed run.completed", "lost | accepted | step.completed run.completed"},
	},
	{
		name: "giving back and a withdrawal", code: dropping, prepare: begunBy(false, signals("s", "1")), least: 4, grid: true,
		moves: []func(*contestant) string{gives, claimsDue},
		ends: []string{
			"own | turned | wait.completed step.cancelled wait.opened", "lost | turned | wait.completed step.cancelled wait.opened",
		},
	},
	{
		name: "renewing and a withdrawal", code: dropping, prepare: begunBy(false, signals("s", "1")), least: 4,
		moves: []func(*contestant) string{renews, claimsDue},
		ends: []string{
			"own | turned | wait.completed step.cancelled wait.opened", "lost | turned | wait.completed step.cancelled wait.opened",
		},
	},
	{
		name: "two claims", code: stepping, least: 4, grid: true,
		moves: []func(*contestant) string{begins("v"), begins("w")},
		ends:  []string{"begun | nothing | ", "nothing | begun | "},
	},
	{
		name: "a claim and a cancellation", code: stepping, least: 4, grid: true,
		moves: []func(*contestant) string{begins("v"), to(cancels(false))},
		ends: []string{
			"begun | accepted | run.cancel_requested step.cancelled run.cancelled",
			"nothing | accepted | run.cancel_requested step.cancelled run.cancelled",
		},
	},
}
