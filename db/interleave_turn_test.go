package db

import (
	"context"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// blocks stops the run as it was at a seq.
func blocks(nextSeq int64) func(*contestant) string {
	return func(c *contestant) string {
		if err := c.store.Block(context.Background(), keyOf(c.run), nextSeq, history.BlockPanic, "nil map"); err != nil {
			return verdictOf(history.Receipt{}, err)
		}
		return "blocked"
	}
}

// wakes is a process that starts with code that may be mended.
func wakes(c *contestant) string {
	if err := c.store.WakeBlocked(context.Background(), c.turnsOf().Codes); err != nil {
		return verdictOf(history.Receipt{}, err)
	}
	return "woken"
}

// blockedRun has a message and is blocked.
func blockedRun(r *ring, run string) {
	answeredRun(r, run)
	r.blockNow(run)
}

// blockedAndWaiting is blocked and has no message.
func blockedAndWaiting(r *ring, run string) {
	r.ok(r.startOf(run))
	r.turn(r.preparer())
	r.blockNow(run)
}

func (r *ring) blockNow(run string) {
	r.t.Helper()
	if err := r.Block(r.t.Context(), keyOf(run), r.view(run).NextSeq, history.BlockPanic, "nil map"); err != nil {
		r.t.Fatal(err)
	}
}

// reads asks everything that can be asked about a run.
func reads(c *contestant) string {
	ctx, key := context.Background(), keyOf(c.run)
	for _, ask := range []func() error{
		func() error { _, err := c.store.ReadRun(ctx, key); return err },
		func() error { _, _, err := c.store.ListRuns(ctx, RunFilter{Namespace: "default"}); return err },
		func() error { _, err := c.store.History(ctx, key, 0, 0, 100); return err },
		func() error { _, _, err := c.store.State(ctx, key); return err },
		func() error { _, err := c.store.Signal(ctx, key, "first"); return err },
		func() error { _, err := c.store.Hook(ctx, key, "h"); return err },
		func() error { _, _, err := c.store.ListHooks(ctx, HookFilter{Namespace: "default"}); return err },
		func() error { _, err := c.store.EndedRuns(ctx, []history.RunKey{key}); return err },
		func() error {
			_, err := c.store.ResolveToken(ctx, []history.TokenDigest{digestOf(duelToken(c.run))})
			return err
		},
		func() error { return c.verify(VerifyQuery{Namespace: "default", Run: spec.RunID(c.run)}) },
	} {
		if err := ask(); err != nil {
			return verdictOf(history.Receipt{}, err)
		}
	}
	return "read"
}

// verify wants no difference between events and rows.
func (c *contestant) verify(q VerifyQuery) error {
	for page, err := range c.store.Verify(context.Background(), q) {
		if err != nil {
			return err
		}
		if page.Differences > 0 {
			return fmt.Errorf("%d differences: %v", page.Differences, page.Found)
		}
	}
	return nil
}

// threeRuns is runs that are due.
func threeRuns(r *ring, run string) {
	for _, suffix := range []string{"x", "y", "z"} {
		r.ok(r.startOf(run + suffix))
	}
}

// tookThree is the events of a run that takes three messages in one turn.
const tookThree = "wait.completed wait.opened wait.completed wait.opened wait.completed run.completed"

// turnDuels are duels about turns.
var turnDuels = []*duel{
	{
		name: "two claims of the same runs", prepare: threeRuns, code: approval, grid: true,
		moves: []func(*contestant) string{claimsDue, claimsDue},
		ends:  []string{"turned | turned | x: wait.opened; y: wait.opened; z: wait.opened"},
	},
	{
		name: "a claim of three and one of one", prepare: threeRuns, code: approval,
		moves: []func(*contestant) string{claimsDue, claimsOne("y")},
		ends:  []string{"turned | turned | x: wait.opened; y: wait.opened; z: wait.opened"},
	},
	{
		name: "a turn and its retry", prepare: blockedRun, code: approval, stopped: true, grid: true,
		moves: []func(*contestant) string{lately(claimsDue), to(retries)},
		ends: []string{
			"turned | accepted | run.unblocked wait.completed run.completed",
			"turned | gone | run.unblocked wait.completed run.completed",
		},
	},
	{
		name: "a turn and the wake-up of blocked runs", prepare: blockedRun, code: approval,
		stopped: true, asleep: true, least: 4, // of a claim of nothing
		moves: []func(*contestant) string{claimsDue, wakes},
		ends:  []string{"turned | woken | run.unblocked wait.completed run.completed"},
	},
	{
		name: "a turn and blocking it", prepare: answeredRun, code: approval,
		moves: []func(*contestant) string{claimsDue, blocks(4)},
		ends: []string{
			"turned | blocked | wait.completed run.completed",
			"turned | blocked | run.blocked run.unblocked wait.completed run.completed",
		},
	},
	{
		name: "a signal and blocking", code: approval,
		moves: []func(*contestant) string{to(signals("s", "1")), blocks(3)},
		ends: []string{
			"accepted | blocked | signal.received wait.completed run.completed",
			"accepted | blocked | run.blocked signal.received run.unblocked wait.completed run.completed",
		},
	},
	{
		// The wake-up must not pass over a run that is locked only because it is accepting a message.
		name: "a signal and the wake-up of blocked runs", prepare: blockedAndWaiting, code: approval,
		stopped: true, asleep: true, least: 4, // of a wake-up
		moves: []func(*contestant) string{to(signals("s", "1")), wakes},
		ends:  []string{"accepted | woken | signal.received run.unblocked wait.completed run.completed"},
	},
	{
		name: "a turn and reads", prepare: answeredRun, code: withdrawing, reads: true,
		moves: []func(*contestant) string{claimsDue, reads},
		ends:  []string{"turned | read | wait.completed hook.disposed wait.opened"},
	},
	{
		name: "cancelling and reads", prepare: answeredRun, code: withdrawing, reads: true,
		moves: []func(*contestant) string{to(cancels(false)), reads},
		ends:  []string{"accepted | read | run.cancel_requested hook.closed run.cancelled"},
	},
	{
		// The held one keeps the run locked, so that the second waits in the side lane while the third has its turn.
		name: "two signals and a turn", prepare: answeredRun, code: counting(3),
		moves: []func(*contestant) string{to(signals("s", "1")), to(signals("t", "2")), claimsDue},
		ends: []string{
			"accepted | accepted | turned | signal.received signal.received " + tookThree,
			"accepted | accepted | turned | signal.received wait.completed wait.opened wait.completed wait.opened " +
				"signal.received wait.completed run.completed",
			"accepted | accepted | turned | wait.completed wait.opened signal.received signal.received " +
				"wait.completed wait.opened wait.completed run.completed",
		},
	},
}
