package db

import (
	"context"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// duelToken is the token of a run's hook h.
func duelToken(run string) string { return run + "/h" }

// asks opens the hook h.
func asks(s *history.State) *history.CreateHook {
	return hookOn("h", duelToken(string(s.Key().RunID))).(*history.CreateHook)
}

// asking opens a hook, completes with its answer and fails when it ends otherwise.
func asking(s *history.State) history.Decision {
	switch h := s.Hook("h"); h.State {
	case "", history.StateActive:
		if s.CancelRequested() {
			return decide(&history.AcceptCancel{})
		}
		return decide(asks(s))
	case history.StateResumed:
		return decide(&history.Complete{Output: h.Payload})
	default:
		return decide(&history.Fail{Message: string(h.State)})
	}
}

// askingUntil is asking with a deadline.
func askingUntil(s *history.State) history.Decision {
	d := asking(s)
	if h, ok := d.Commands[0].(*history.CreateHook); ok {
		in := duelDeadline
		h.In = &in
	}
	return d
}

// withdrawing opens a hook and waits for a signal, which makes it dispose of the hook and wait for another signal.
func withdrawing(s *history.State) history.Decision {
	if status, _ := s.Wait("w"); status == history.WaitDone {
		return decide(&history.WithdrawHook{ID: "h"}, wait("w2"))
	}
	return decide(asks(s), wait("w"))
}

// carrying continues as new on a signal, with its hook open, and then completes with the answer.
func carrying(s *history.State) history.Decision {
	status, input := s.Wait("w")
	switch {
	case s.Generation() == 2:
		return asking(s)
	case status == history.WaitDone:
		return decide(&history.ContinueAsNew{Input: input})
	}
	return decide(asks(s), wait("w"))
}

// byToken answers a hook whose token is all that the caller has.
func byToken(text string) func(*contestant) string {
	return func(c *contestant) string {
		h, err := c.store.ResolveToken(context.Background(), []history.TokenDigest{digestOf(duelToken(c.run))})
		if err != nil {
			return verdictOf(history.Receipt{}, err)
		}
		return c.send(&history.ResumeHook{Run: h.Run, HookID: h.ID, Payload: payload(c.t, text), ByToken: true, Actor: "ada"})
	}
}

// cooperativeRun lets its code end it.
func cooperativeRun(r *ring, run string) {
	m := r.startOf(run)
	m.SpecDigest = coopSpec
	r.ok(m)
	r.turn(r.preparer())
}

// hookDuels are duels about one hook.
var hookDuels = []*duel{
	{
		name: "an answer and the turn at its deadline", code: askingUntil, stopped: true, grid: true,
		moves: []func(*contestant) string{to(answers("h", "1")), lately(claimsDue)},
		ends: []string{
			"accepted | turned | hook.resumed run.completed",
			"gone: expired | turned | hook.expired run.failed",
		},
	},
	{
		name: "a late answer and the turn at its deadline", code: askingUntil, stopped: true,
		moves: []func(*contestant) string{lately(to(answers("h", "1"))), lately(claimsDue)},
		ends:  []string{"gone: expired | turned | hook.expired run.failed"},
	},
	{
		name: "an answer and a late answer", code: askingUntil, stopped: true,
		moves: []func(*contestant) string{to(answers("h", "1")), lately(to(answers("h", "2")))},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed",
			"gone: expired | gone: expired | hook.expired run.failed",
		},
	},
	{
		name: "an answer and disposing late", code: askingUntil, stopped: true,
		moves: []func(*contestant) string{to(answers("h", "1")), lately(to(disposes("h")))},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed",
			"gone: expired | gone: expired | hook.expired run.failed",
		},
	},
	{
		name: "an answer and cancelling late", code: askingUntil, stopped: true,
		moves: []func(*contestant) string{to(answers("h", "1")), lately(to(cancels(false)))},
		ends: []string{
			"accepted | accepted | hook.resumed run.cancel_requested run.cancelled",
			"gone: expired | accepted | run.cancel_requested hook.expired run.cancelled",
		},
	},
	{
		name: "an answer and cancelling", code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), to(cancels(false))},
		ends: []string{
			"accepted | accepted | hook.resumed run.cancel_requested run.cancelled",
			"gone: cancelled | accepted | run.cancel_requested hook.closed run.cancelled",
		},
	},
	{
		name: "an answer and terminating", prepare: cooperativeRun, code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), to(cancels(true))},
		ends: []string{
			"accepted | accepted | hook.resumed run.cancel_requested run.cancelled",
			"gone: cancelled | accepted | run.cancel_requested hook.closed run.cancelled",
		},
	},
	{
		name: "an answer and the wish to cancel", prepare: cooperativeRun, code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), to(cancels(false))},
		ends: []string{
			"accepted | accepted | hook.resumed run.cancel_requested run.completed",
			"accepted | accepted | run.cancel_requested hook.resumed run.cancelled",
		},
	},
	{
		name: "an answer and disposing", code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), to(disposes("h"))},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed",
			"gone: disposed | accepted | hook.disposed run.failed",
		},
	},
	{
		name: "an answer and the turn that disposes", prepare: answeredRun, code: withdrawing, grid: true,
		moves: []func(*contestant) string{to(answers("h", "1")), claimsDue},
		ends: []string{
			"accepted | turned | hook.resumed wait.completed wait.opened facts.taken",
			"gone: disposed | turned | wait.completed hook.disposed wait.opened",
		},
	},
	{
		name: "an answer and continuing as new", prepare: answeredRun, code: carrying,
		moves: []func(*contestant) string{to(answers("h", "1")), claimsDue},
		ends: []string{
			"accepted | turned | hook.resumed wait.completed run.continued run.completed",
			"accepted | turned | wait.completed run.continued hook.resumed run.completed",
		},
	},
	{
		name: "one answer twice", code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), byToken("1e0")},
		ends: []string{
			"accepted | duplicate | hook.resumed run.completed",
			"duplicate | accepted | hook.resumed run.completed",
		},
	},
	{
		name: "two answers", code: asking,
		moves: []func(*contestant) string{to(answers("h", "1")), to(answers("h", "2"))},
		ends: []string{
			"accepted | conflict | hook.resumed run.completed",
			"conflict | accepted | hook.resumed run.completed",
		},
	},
	{
		name: "disposing twice", code: asking,
		moves: []func(*contestant) string{to(disposes("h")), to(disposes("h"))},
		ends: []string{
			"accepted | duplicate | hook.disposed run.failed",
			"duplicate | accepted | hook.disposed run.failed",
		},
	},
	{
		name: "cancelling twice", code: asking,
		moves: []func(*contestant) string{to(cancels(false)), to(cancels(true))},
		ends: []string{
			"accepted | duplicate | run.cancel_requested hook.closed run.cancelled",
			"duplicate | accepted | run.cancel_requested hook.closed run.cancelled",
		},
	},
	{
		// Whoever is handed a token before its commit may use it too early: it is unknown then, and works afterwards.
		name: "the turn that opens a hook and its answer by token", prepare: func(r *ring, run string) { r.ok(r.startOf(run)) },
		code: asking, grid: true, least: 2, // of a look-up in vain
		moves: []func(*contestant) string{claimsDue, byToken("1")},
		ends: []string{
			"turned | token not found | hook.created",
			"turned | accepted | hook.created hook.resumed run.completed",
		},
		check: (*ring).answerable,
	},
	{
		name: "the turn that opens a hook and its answer by ID", prepare: func(r *ring, run string) { r.ok(r.startOf(run)) },
		code:  asking,
		moves: []func(*contestant) string{claimsDue, to(answers("h", "1"))},
		ends: []string{
			"turned | hook not found | hook.created",
			"turned | accepted | hook.created hook.resumed run.completed",
		},
		check: (*ring).answerable,
	},
}

// answerable says that the hook of a run was answered or can be, by its token.
func (r *ring) answerable(run string) {
	r.t.Helper()
	h, err := r.ResolveToken(context.Background(), []history.TokenDigest{digestOf(duelToken(run))})
	if err != nil || h.Run.RunID != spec.RunID(run) {
		r.t.Errorf("%s: %+v %v", run, h, err)
		return
	}
	want := history.Accepted
	if h.State == history.StateResumed {
		want = history.Duplicate
	}
	m := &history.ResumeHook{Run: h.Run, HookID: h.ID, Payload: payload(r.t, "1"), ByToken: true}
	if receipt, err := r.Accept(context.Background(), m); err != nil || receipt.Verdict != want {
		r.t.Errorf("%s: %v %v, want %s", run, receipt.Verdict, err, want)
	}
	r.finish(run)
	if v := r.view(run); v.Status != history.Completed || string(v.Output) != "1" {
		r.t.Errorf("%s: %+v", run, v)
	}
}
