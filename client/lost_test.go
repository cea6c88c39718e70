package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// counts are the events of a run by type.
func counts(t *testing.T, c *client.Client, run string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for e, err := range c.History(t.Context(), spec.RunID(run), client.HistoryQuery{Limit: 3}) {
		check(t, err)
		found[e.Type]++
	}
	return found
}

// Every reply to the first request of a call is lost, after the gateway did what was asked. Each call goes well all the same,
// is sent twice, and has one effect.
func TestEveryChangeHasOneEffectWhenRepliesAreLost(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	lossy := newProxy(t, o.url)
	c, sure := o.client(lossy.URL, nil), o.client(o.url, nil)
	ctx := t.Context()

	twice := func(what, request string, duplicate, want bool, err error) {
		t.Helper()
		check(t, err)
		if n := lossy.requests(request); n != 2 {
			t.Errorf("%s: %d requests %s, want 2", what, n, request)
		}
		if duplicate != want {
			t.Errorf("%s: duplicate %t, want %t", what, duplicate, want)
		}
	}
	hookIsThere := func(run string) {
		t.Helper()
		eventually(t, func() bool {
			h, err := sure.Hook(ctx, spec.RunID(run), "ask")
			return err == nil && h.State == "active"
		})
	}

	// Two calls without a run ID are two runs, and each is one although it was sent twice.
	first, err := c.Start(ctx, client.StartRequest{Workflow: "test.desk"})
	twice("start", "POST /v1/runs", first.Duplicate(), true, err)
	second, err := c.Start(ctx, client.StartRequest{Workflow: "test.desk", RunID: "r", Labels: map[string]string{"a": "b"}})
	check(t, err)
	if first.RunID == second.RunID || first.RunID == "" || !second.Duplicate() {
		t.Errorf("run IDs %q and %q", first.RunID, second.RunID)
	}
	hookIsThere("r")

	sent, err := c.SendSignal(ctx, "r", "note", client.Message{Payload: raw(`{"n":1}`)})
	twice("signal", "POST /v1/runs/r/signals/note", sent.Duplicate(), true, err)
	_, err = c.SendSignal(ctx, "r", "note", client.Message{Payload: raw(`{"n":1}`)})
	check(t, err)
	if got := counts(t, sure, "r")["signal.received"]; got != 2 {
		t.Errorf("two calls are %d signals", got)
	}

	updated, err := c.SendUpdate(ctx, "r", "set", client.Message{Payload: raw(`[1]`)}, 20*time.Second)
	twice("update", "POST /v1/runs/r/updates/set", updated.Duplicate(), true, err)
	if string(updated.Result) != "[1]" || counts(t, sure, "r")["update.received"] != 1 {
		t.Errorf("result %s, events %v", updated.Result, counts(t, sure, "r"))
	}

	answered, err := c.ResumeHook(ctx, "r", "ask", raw(`{"approved":true}`))
	twice("resume", "POST /v1/runs/r/hooks/ask/resume", answered.Duplicate(), true, err)
	if counts(t, sure, "r")["hook.resumed"] != 1 {
		t.Errorf("events %v", counts(t, sure, "r"))
	}

	withSignal, err := c.SignalWithStart(ctx, client.SignalWithStartRequest{Start: client.StartRequest{Workflow: "test.desk"}, Name: "note"})
	twice("signal with start", "POST /v1/workflows/test.desk/signal-with-start", withSignal.Duplicate(), true, err)
	withUpdate, err := c.UpdateWithStart(ctx, client.UpdateWithStartRequest{
		Start: client.StartRequest{Workflow: "test.desk", RunID: "u"}, Name: "set",
	}, 0)
	twice("update with start", "POST /v1/workflows/test.desk/update-with-start", withUpdate.Duplicate(), true, err)
	if got := counts(t, sure, string(withSignal.RunID))["signal.received"] + counts(t, sure, "u")["update.received"]; got != 2 {
		t.Errorf("two messages with a start are %d", got)
	}

	// Links are the same on every call; four ways to answer and to withdraw with a token.
	for i, with := range []func(token string) (client.AcceptedMessage, error){
		func(token string) (client.AcceptedMessage, error) { return c.ResumeByToken(ctx, token, raw(`1`)) },
		func(token string) (client.AcceptedMessage, error) { return c.ResumeByLink(ctx, token, raw(`1`)) },
		func(token string) (client.AcceptedMessage, error) { return c.WithdrawByToken(ctx, token) },
		func(token string) (client.AcceptedMessage, error) { return c.DisposeHookByToken(ctx, token) },
		func(string) (client.AcceptedMessage, error) { return c.DisposeHook(ctx, "link-4", "ask") },
	} {
		run := fmt.Sprint("link-", i)
		_, err := sure.Start(ctx, client.StartRequest{Workflow: "test.desk", RunID: spec.RunID(run)})
		check(t, err)
		hookIsThere(run)
		link, err := c.HookLink(ctx, spec.RunID(run), "ask")
		check(t, err)
		again, err := sure.HookLink(ctx, spec.RunID(run), "ask")
		check(t, err)
		if link.URL != again.URL {
			t.Error("a lost reply made another link")
		}
		said, err := with(link.Token)
		check(t, err)
		all := counts(t, sure, run)
		if !said.Duplicate() || all["hook.resumed"]+all["hook.disposed"] != 1 {
			t.Errorf("way %d: %+v, events %v", i, said, all)
		}
	}

	// A cancellation, of a run that is over when it is sent again.
	cancelled, err := c.Cancel(ctx, "link-0", "no more")
	twice("cancel", "POST /v1/runs/link-0/cancel", cancelled.Duplicate(), true, err)
	terminated, err := c.Terminate(ctx, "link-1", "")
	twice("terminate", "POST /v1/runs/link-1/terminate", terminated.Duplicate(), true, err)
	for _, run := range []string{"link-0", "link-1"} {
		if got := counts(t, sure, run)["run.cancelled"]; got != 1 {
			t.Errorf("%s: %d ends", run, got)
		}
	}
	retried, err := c.Retry(ctx, "r")
	twice("retry", "POST /v1/runs/r/retry", retried.Duplicate(), false, err)

	made, err := c.Exchange(ctx, client.ExchangeRequest{Scopes: []string{"runs:read"}, Lifetime: time.Minute})
	twice("exchange", "POST /v1/token", false, false, err)
	if _, err := o.client(o.url, func(o *client.Options) { o.Token = made.AccessToken }).Cancel(ctx, "r", ""); !errors.Is(err, client.ErrDenied) {
		t.Errorf("the token may do more than it was made for: %v", err)
	}
	letters(t, o, c, sure, twice)
	if lossy.dropped < 20 {
		t.Errorf("only %d replies were lost", lossy.dropped)
	}
}

// letters decides about dead letters through a lossy client.
func letters(t *testing.T, o *office, c, sure *client.Client, twice func(string, string, bool, bool, error)) {
	t.Helper()
	ctx := t.Context()
	held := func(run string) string {
		t.Helper()
		_, err := sure.Start(ctx, client.StartRequest{Workflow: "test.desk", RunID: spec.RunID(run), Input: raw(`{"step":true}`)})
		check(t, err)
		var id string
		eventually(t, func() bool {
			for l, err := range sure.Letters(ctx, client.LetterQuery{State: "held"}) {
				check(t, err)
				if string(l.RunID) == run {
					id = l.ID
				}
			}
			return id != ""
		})
		return id
	}
	away := held("away")
	discarded, err := c.DiscardLetter(ctx, away)
	twice("discard", "POST /v1/dead-letters/"+away+"/discard", discarded.Duplicate(), true, err)
	again := held("again")
	o.up.Store(true)
	replayed, err := c.ReplayLetter(ctx, again)
	twice("replay", "POST /v1/dead-letters/"+again+"/replay", replayed.Duplicate(), true, err)
	eventually(t, func() bool { return counts(t, sure, "again")["step.completed"] == 1 })
	if counts(t, sure, "away")["step.failed"] != 1 {
		t.Errorf("the step that was put away: %v", counts(t, sure, "away"))
	}
	_, err = sure.ReplayLetter(ctx, away)
	var p *client.Problem
	if !errors.Is(err, client.ErrConflict) || !errors.As(err, &p) || p.Code != "letter-decided" {
		t.Errorf("a decided letter: %v", err)
	}
}
