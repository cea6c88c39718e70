package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// asksPeople is a workflow with one hook; its input is the hook's metadata.
var asksPeople = workflow{
	spec: spec.WorkflowSpec{Name: "asks", Version: "1", Hooks: []spec.Hook{
		{Name: "h", Description: "d"}, {Name: "proved", Requires: spec.Credential}, {Name: "inside", Audience: spec.Internal},
	}},
	fn: func(c *engine.Context) (engine.Decision, error) {
		in, err := engine.Input[struct {
			Name string
			Meta spec.HookMetadata
			For  time.Duration
		}](c)
		if err != nil {
			return engine.Decision{}, err
		}
		switch c.HookState("h") {
		case engine.Answered:
			answer, _, err := engine.HookPayload[json.RawMessage](c, "h")
			return c.Complete(map[string]any{"by": c.HookActor("h"), "answer": answer}), err
		case engine.Expired:
			return c.Complete("expired"), nil
		}
		opts := []engine.HookOption{engine.Metadata(in.Meta), engine.As(in.Name)}
		if in.For > 0 {
			opts = append(opts, engine.ExpiresIn(in.For))
		}
		return c.CreateHook("h", opts...), nil
	},
}

type asksInput struct {
	Name string
	Meta spec.HookMetadata
	For  time.Duration
}

func (r *rig) asksFor(run spec.RunID, in asksInput) {
	r.t.Helper()
	if in.Name == "" {
		in.Name = "h"
	}
	r.start(asksPeople, run, in)
	r.waiting(run, "h")
}

func (r *rig) page(run spec.RunID, person string) engine.PageLink {
	r.t.Helper()
	l, err := r.PageLink(r.ctx(), run, "h", person)
	if err != nil {
		r.t.Fatalf("page of %s for %s: %v", run, person, err)
	}
	return l
}

func (r *rig) shown(l engine.PageLink) engine.ApprovalPage {
	r.t.Helper()
	p, err := r.ApprovalPage(r.ctx(), l.Token.Reveal(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) decides(l engine.PageLink, approved bool, comment string) (engine.Receipt, error) {
	r.t.Helper()
	return r.AnswerPage(r.ctx(), engine.PageAnswer{
		Token: l.Token.Reveal(), Approved: approved, Comment: comment, Shown: r.shown(l).Shown,
	})
}

// A page's link is the same on every call and in every process, one for each person, and no other than the page's: a hook's
// token opens no page, and a page's token answers no hook.
func TestPageLink(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	other := r.beside(asksPeople)
	r.asksFor("run", asksInput{Meta: spec.HumanApproval("x").WithRule(1, 3)})
	ada := r.page("run", "ada")
	if text := ada.URL.Reveal(); !strings.HasPrefix(text, "https://flow.example.com/approvals/fha_") || !strings.HasSuffix(text, ada.Token.Reveal()) {
		t.Errorf("link %s", text)
	}
	var links [8]string
	parallel(len(links), func(i int) {
		e := []*rig{r, other}[i%2]
		l, err := e.PageLink(r.ctx(), "run", "h", "bob")
		if err != nil {
			t.Error(err)
			return
		}
		links[i] = l.URL.Reveal()
	})
	for _, l := range links {
		if l != links[0] || l == "" || l == ada.URL.Reveal() {
			t.Errorf("bob's links: %q, %q", l, links[0])
		}
	}
	hook := r.link("run", "h").Token.Reveal()
	if _, err := r.ApprovalPage(r.ctx(), hook, nil); !errors.Is(err, engine.ErrTokenNotFound) {
		t.Errorf("a hook's token opens a page: %v", err)
	}
	if _, err := r.callback(ada.Token.Reveal(), true); !errors.Is(err, engine.ErrTokenNotFound) {
		t.Errorf("a page's token answers a hook: %v", err)
	}
	if shown := fmt.Sprintf("%v %+v %#v", ada, ada, ada); strings.Contains(shown, ada.Token.Reveal()) {
		t.Errorf("it is printed: %s", shown)
	}
}

// Who may not have a page is told why.
func TestPageLink_refusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	r.asksFor("run", asksInput{})
	r.asksFor("proved", asksInput{Name: "proved"})
	r.asksFor("answered", asksInput{})
	if _, err := r.resume("answered", "h", true); err != nil {
		t.Fatal(err)
	}
	r.start(asksPeople, "brief", asksInput{Name: "h", For: time.Millisecond})
	r.ended("brief")
	for _, tc := range []struct {
		run    spec.RunID
		hook   spec.HookID
		person string
		want   engine.Verdict
		field  string
	}{
		{"run", "h", "", engine.VerdictInvalid, "recipient"},
		{"run", "h", " ada", engine.VerdictInvalid, "recipient"},
		{"run", "h", "a\u202eb", engine.VerdictInvalid, "recipient"},
		{"run", "h", strings.Repeat("a", 256), engine.VerdictInvalid, "recipient"},
		{"run", "h", "key:k1", engine.VerdictInvalid, "recipient"},
		{"run", "h", "source:slack", engine.VerdictInvalid, "recipient"},
		{"proved", "h", "ada", engine.VerdictInvalid, "hook_id"},
		{"run", "other", "ada", engine.VerdictUnknown, ""},
		{"nobody", "h", "ada", engine.VerdictUnknown, ""},
		{"answered", "h", "ada", engine.VerdictConflict, ""},
		{"brief", "h", "ada", engine.VerdictGone, ""},
	} {
		_, err := r.PageLink(r.ctx(), tc.run, tc.hook, tc.person)
		invalid, _ := errors.AsType[*engine.InvalidError](err)
		if engine.VerdictOf(err) != tc.want || tc.field != "" && (invalid == nil || invalid.Field != tc.field) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
	other, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.PageLink(r.ctx(), "run", "h", "ada"); engine.VerdictOf(err) != engine.VerdictUnknown {
		t.Errorf("another namespace: %v", err)
	}
	cfg := testConfig(t, r.pool)
	cfg.PublicURL = ""
	if _, err := idle(t, cfg).PageLink(r.ctx(), "run", "h", "ada"); !errors.Is(err, engine.ErrNoPublicURL) {
		t.Errorf("without a public URL: %v", err)
	}
}

// C87: several people have pages of one hook only where its rule says that one of so many is enough, and no more than those.
func TestC87_several_people_need_a_rule(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	for name, tc := range map[string]struct {
		meta spec.HookMetadata
		room int
	}{
		"none": {spec.HumanApproval("x"), 1},
		"1of3": {spec.HumanApproval("x").WithRule(1, 3), 3},
		"2of3": {spec.HumanApproval("x").WithRule(2, 3), 1},
	} {
		run := spec.RunID(name)
		r.asksFor(run, asksInput{Meta: tc.meta})
		var made atomic.Int64
		parallel(8, func(i int) {
			_, err := r.PageLink(r.ctx(), run, "h", fmt.Sprint("person", i))
			switch invalid, _ := errors.AsType[*engine.InvalidError](err); {
			case err == nil:
				made.Add(1)
			case invalid == nil || invalid.Field != "recipient":
				t.Error(err)
			}
		})
		if int(made.Load()) != tc.room {
			t.Errorf("%s: %d pages, want %d", name, made.Load(), tc.room)
		}
	}
}

// A decision answers the hook as the person it is for; the same again is the same, and another one changes nothing.
func TestAnswerPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	r.asksFor("run", asksInput{Meta: spec.HumanApproval("x").WithRule(1, 2), Name: "inside"})
	ada, bob := r.page("run", "ada"), r.page("run", "bob")
	if p := r.shown(ada); p.Decision != nil || p.Hook.State != "active" || p.Recipient != "ada" || p.Namespace != spec.DefaultNamespace {
		t.Errorf("%+v", p)
	}
	var receipts [10]engine.Receipt
	parallel(len(receipts), func(i int) {
		var err error
		if receipts[i], err = r.decides(ada, true, "fine"); err != nil {
			t.Error(err)
		}
	})
	accepted := 0
	for _, receipt := range receipts {
		if receipt.Verdict == engine.VerdictAccepted {
			accepted++
		}
		if receipt.Sequence != receipts[0].Sequence {
			t.Errorf("%+v", receipt)
		}
	}
	if accepted != 1 {
		t.Errorf("%d decisions", accepted)
	}
	for name, again := range map[string]func() (engine.Receipt, error){
		"the other":         func() (engine.Receipt, error) { return r.decides(ada, false, "fine") },
		"another comment":   func() (engine.Receipt, error) { return r.decides(ada, true, "") },
		"of another person": func() (engine.Receipt, error) { return r.decides(bob, true, "fine") },
	} {
		if v := verdict(again()); v != engine.VerdictConflict {
			t.Errorf("%s: %s", name, v)
		}
	}
	if out := r.completed("run"); out != `{"answer":{"approved":true,"reviewer":"ada","comment":"fine"},"by":"ada"}` {
		t.Errorf("output %s", out)
	}
	if v := verdict(r.decides(ada, true, "fine")); v != engine.VerdictDuplicate {
		t.Errorf("after the end: %s", v)
	}
	d := r.shown(bob).Decision
	if d == nil || d.Approved == nil || !*d.Approved || d.By != "ada" || d.Own || d.Comment != "fine" || !r.shown(ada).Decision.Own {
		t.Errorf("bob sees %+v", d)
	}
	for _, e := range r.events("run") {
		if e.Type == "hook.resumed" && !bytes.Contains(e.Data, []byte(`"source":"page"`)) {
			t.Errorf("%s", e.Data)
		}
	}
}

// What was seen is what is approved: a decision on a page that shows something else by now is not taken.
func TestAnswerPage_on_something_else(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	for field, change := range map[string]string{
		"subject": `{"subject":"y"}`, "data": `{"data":{"amount":2}}`, "label": `{"labels":{"k":"v"}}`, "rule": `{"rule":{"needed":1,"of":2}}`,
	} {
		run := spec.RunID(field)
		r.asksFor(run, asksInput{Meta: spec.HumanApproval("x").WithData("amount", 1)})
		ada := r.page(run, "ada")
		shown := r.shown(ada)
		if again := r.shown(ada); again.Shown != shown.Shown {
			t.Error("a page is not itself")
		}
		sql := `update hooks h set metadata = metadata || $2::jsonb from runs r where r.id = h.run and r.run_id = $1`
		if _, err := r.pool.Exec(r.ctx(), sql, field, change); err != nil {
			t.Fatal(err)
		}
		req := engine.PageAnswer{Token: ada.Token.Reveal(), Approved: true, Shown: shown.Shown}
		if _, err := r.AnswerPage(r.ctx(), req); !errors.Is(err, engine.ErrPageChanged) {
			t.Errorf("%s: %v", field, err)
		}
		if v := verdict(r.decides(ada, true, "")); v != engine.VerdictAccepted {
			t.Errorf("%s, on the page as it is: %s", field, v)
		}
	}
}

func TestAnswerPage_comments(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksPeople)
	r.asksFor("run", asksInput{})
	ada := r.page("run", "ada")
	for _, bad := range []string{strings.Repeat("c", engine.MaxPageComment+1), "a\x00", "a\xff", "see " + ada.URL.Reveal(), r.link("run", "h").Token.Reveal()} {
		_, err := r.decides(ada, true, bad)
		if invalid, ok := errors.AsType[*engine.InvalidError](err); !ok || invalid.Field != "comment" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if v := verdict(r.decides(ada, true, strings.Repeat("ü", engine.MaxPageComment/2))); v != engine.VerdictAccepted {
		t.Errorf("of full length: %s", v)
	}
}
