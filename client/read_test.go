package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// Every read of a real gateway, with no member of an answer left out.
func TestReads(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.client(o.url, nil)
	ctx := t.Context()
	for i := range 5 {
		started, err := c.Start(ctx, client.StartRequest{
			Workflow: "test.desk", Version: "1", RunID: spec.RunID(fmt.Sprint("a/b ü", i)), Input: raw(`{"step":true}`),
			Labels: spec.Labels{"odd": fmt.Sprint(i % 2), "all": "a=b&c"},
		})
		check(t, err)
		strict(t, started.Raw, started)
		if started.Duplicate() || started.Status != "running" || started.Receipt.RunID != started.RunID {
			t.Errorf("started %+v", started)
		}
	}
	run := spec.RunID("a/b ü0")
	eventually(t, func() bool { _, err := c.Hook(ctx, run, "ask"); return err == nil })

	shown, err := c.Run(ctx, run, 0)
	check(t, err)
	strict(t, shown.Raw, shown)
	if shown.RunID != run || len(shown.Waiting) != 3 || shown.Ended() || shown.RequestID == "" {
		t.Errorf("run %+v", shown)
	}
	var found []spec.RunID
	for r, err := range c.Runs(ctx, client.RunQuery{Workflow: "test.desk", Status: "running", Labels: spec.Labels{"all": "a=b&c"}, Limit: 2}) {
		check(t, err)
		found = append(found, r.RunID)
	}
	if fmt.Sprint(found) != "[a/b ü4 a/b ü3 a/b ü2 a/b ü1 a/b ü0]" {
		t.Errorf("runs %v", found)
	}
	for r, err := range c.Runs(ctx, client.RunQuery{Limit: 1}) {
		if check(t, err); r.RunID != "a/b ü4" {
			t.Errorf("first run %s", r.RunID)
		}
		break // who has enough stops
	}
	page, err := c.RunsPage(ctx, client.RunQuery{Limit: 2, Labels: spec.Labels{"odd": "1"}})
	check(t, err)
	strict(t, page.Raw, page)
	events, err := c.HistoryPage(ctx, run, client.HistoryQuery{Generation: 1, Limit: 2})
	check(t, err)
	strict(t, events.Raw, events)
	explained, err := c.Explain(ctx, run)
	check(t, err)
	strict(t, explained.Raw, explained)
	if len(explained.Waiting) != 3 || len(explained.Because) == 0 {
		t.Errorf("explanation %+v", explained)
	}
	hooks(t, c, run)
	messages(t, c, run)

	eventually(t, func() bool {
		p, err := c.LettersPage(ctx, client.LetterQuery{Name: "work"})
		return err == nil && len(p.Items) == 5
	})
	letters, err := c.LettersPage(ctx, client.LetterQuery{State: "held", Limit: 2})
	check(t, err)
	strict(t, letters.Raw, letters)
	letter, err := c.Letter(ctx, letters.Items[0].ID)
	check(t, err)
	strict(t, letter.Raw, letter)
	none, err := c.LettersPage(ctx, client.LetterQuery{Kind: "message", Source: "x", Run: "r", Reason: "expired"})
	if err == nil && len(none.Items) != 0 {
		t.Errorf("messages %v", none.Items)
	}
	known, err := c.Workflows(ctx)
	check(t, err)
	strict(t, known.Raw, known)
	declared, err := c.Interface(ctx, "test.desk")
	check(t, err)
	strict(t, declared.Raw, declared)
	if len(known.Items) != 1 || len(declared.Signals) != 2 || declared.Queries[0].Name != "count" {
		t.Errorf("workflows %v, %+v", known.Items, declared)
	}
	refusals(t, o, c, run)
}

func hooks(t *testing.T, c *client.Client, run spec.RunID) {
	t.Helper()
	ctx := t.Context()
	h, err := c.Hook(ctx, run, "ask")
	check(t, err)
	strict(t, h.Raw, h)
	n := 0
	for one, err := range c.Hooks(ctx, client.HookQuery{RunID: run, State: "active", Limit: 1}) {
		check(t, err)
		if n++; one.HookID != "ask" || one.Subject != "a trip" {
			t.Errorf("hook %+v", one)
		}
	}
	old, err := c.HooksPage(ctx, client.HookQuery{OlderThan: time.Hour})
	check(t, err)
	strict(t, old.Raw, old)
	if n != 1 || len(old.Items) != 0 {
		t.Errorf("%d hooks, old ones %v", n, old.Items)
	}
	link, err := c.HookLink(ctx, run, "ask")
	check(t, err)
	strict(t, link.Raw, link)
	page, err := c.PageLink(ctx, run, "ask", "ada")
	check(t, err)
	strict(t, page.Raw, page)
	again, err := c.PageLink(ctx, run, "ask", "ada")
	if err != nil || again.URL != page.URL || page.Recipient != "ada" || page.URL == link.URL {
		t.Errorf("page %+v, error %v", page, err)
	}
}

func messages(t *testing.T, c *client.Client, run spec.RunID) {
	t.Helper()
	ctx := t.Context()
	sent, err := c.SendSignal(ctx, run, "note", client.Message{ID: "evt ü", Payload: raw(`{"x":1}`)})
	check(t, err)
	strict(t, sent.Raw, sent)
	receipt, err := c.Signal(ctx, run, "evt ü")
	check(t, err)
	strict(t, receipt.Raw, receipt)
	if receipt.State != "queued" || !sent.Delivered || receipt.Sequence != sent.Receipt.Sequence {
		t.Errorf("signal %+v, receipt %+v", sent, receipt)
	}
	updated, err := c.SendUpdate(ctx, run, "set", client.Message{ID: "u"}, 20*time.Second)
	check(t, err)
	strict(t, updated.Raw, updated)
	update, err := c.Update(ctx, run, "u", time.Second)
	check(t, err)
	strict(t, update.Raw, update)
	if string(update.Result) != "null" || update.State != "completed" {
		t.Errorf("update %+v", update)
	}
	for _, arg := range []json.RawMessage{nil, raw("null")} {
		asked, err := c.Query(ctx, run, "count", arg)
		check(t, err)
		strict(t, asked.Raw, asked)
		if string(asked.Result) != "1" {
			t.Errorf("query: %s", asked.Result)
		}
	}
}

// refusals are one of each verdict of a real gateway.
func refusals(t *testing.T, o *office, c *client.Client, run spec.RunID) {
	t.Helper()
	ctx := t.Context()
	for name, tt := range map[string]struct {
		err, is error
		code    string
	}{
		"conflict": {second(c.SendSignal(ctx, run, "note", client.Message{ID: "evt ü", Payload: raw(`2`)})), client.ErrConflict, "signal-conflict"},
		"unknown":  {second(c.Run(ctx, "nobody", 0)), client.ErrUnknown, "not-found"},
		"invalid":  {second(c.SendSignal(ctx, run, "nothing", client.Message{})), client.ErrInvalid, "signal-not-declared"},
		"denied":   {second(o.client(o.url, func(o *client.Options) { o.Token = "wrong" }).Run(ctx, run, 0)), client.ErrDenied, "unauthorized"},
		"oauth":    {second(c.Exchange(ctx, client.ExchangeRequest{Credential: "wrong"})), client.ErrDenied, "invalid_request"},
	} {
		var p *client.Problem
		if !errors.Is(tt.err, tt.is) || !errors.As(tt.err, &p) || p.Code != tt.code {
			t.Errorf("%s: error %v", name, tt.err)
		}
		for _, other := range []error{client.ErrConflict, client.ErrUnknown, client.ErrInvalid, client.ErrDenied, client.ErrGone, client.ErrBusy} {
			if !errors.Is(tt.is, other) && errors.Is(tt.err, other) {
				t.Errorf("%s: also %v", name, other)
			}
		}
	}
	var p *client.Problem
	if err := second(c.SendSignal(ctx, run, "note", client.Message{ID: "evt ü"})); !errors.As(err, &p) || fmt.Sprint(p.Differs) != "[payload]" {
		t.Errorf("differs %v", p)
	}
}

// The audit trail says what was asked for, and an explanation what was refused.
func TestAudit(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.client(o.url, nil)
	ctx := t.Context()
	_, err := c.Start(ctx, client.StartRequest{Workflow: "test.desk", RunID: "r"})
	check(t, err)
	_, err = c.SendSignal(ctx, "r", "note", client.Message{ID: "n"})
	check(t, err)
	if _, err := c.SendSignal(ctx, "r", "Note", client.Message{ID: "m"}); !errors.Is(err, client.ErrInvalid) {
		t.Fatal(err)
	}
	var trail []string
	eventually(t, func() bool {
		trail = nil
		for e, err := range c.Audit(ctx, client.AuditQuery{RunID: "r", Since: time.Now().Add(-time.Hour), Limit: 1}) {
			check(t, err)
			trail = append(trail, fmt.Sprint(e.Kind, " ", e.Identity, " ", e.Verdict))
		}
		return len(trail) == 3
	})
	if got := fmt.Sprint(trail); got != "[signal m invalid signal n accepted start r accepted]" {
		t.Errorf("trail %v", trail)
	}
	refused, err := c.AuditPage(ctx, client.AuditQuery{Kind: "signal", Verdict: client.Invalid})
	check(t, err)
	strict(t, refused.Raw, refused)
	x, err := c.Explain(ctx, "r")
	check(t, err)
	strict(t, x.Raw, x)
	if len(refused.Items) != 1 || len(x.Refusals) != 1 || len(x.NearMisses) != 1 || x.NearMisses[0].Meant != "note" {
		t.Errorf("refused %v, explanation %+v", refused.Items, x)
	}
	if _, err := c.AuditPage(ctx, client.AuditQuery{RunID: "nobody"}); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

// Wait ends with the run, and with the context.
func TestWait(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.client(o.url, nil)
	ctx := t.Context()
	_, err := c.Start(ctx, client.StartRequest{Workflow: "test.desk", RunID: "r"})
	check(t, err)
	type seen struct {
		run client.Run
		err error
	}
	ended := make(chan seen, 1)
	go func() {
		r, err := c.Wait(ctx, "r")
		ended <- seen{r, err}
	}()
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := c.Wait(short, "r")
	if !errors.Is(err, context.DeadlineExceeded) || r.Status != "running" {
		t.Errorf("run %s, error %v", r.Status, err)
	}
	_, err = c.SendSignal(ctx, "r", "end", client.Message{Payload: raw(`"well"`)})
	check(t, err)
	got := <-ended
	if got.err != nil || got.run.Status != "completed" || string(got.run.Output) != `"well"` {
		t.Errorf("run %+v, error %v", got.run, got.err)
	}
	if _, err := c.SendSignal(ctx, "r", "note", client.Message{}); !errors.Is(err, client.ErrGone) {
		t.Errorf("a message to a run that ended: %v", err)
	}
	if _, err := c.Wait(ctx, "nobody"); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}
