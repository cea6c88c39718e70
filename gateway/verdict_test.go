package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// The tests of this file are the table of verdicts over HTTP: one row each.

func TestVerdict_first_delivery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})

	r := s.answer(token, `{"ok":true}`)
	checkAccepted(t, r)
	for _, id := range []string{"run_id", "hook_id", "receipt/run_id", "receipt/hook_id"} {
		if r.field(id) != nil {
			t.Errorf("who holds a token only is told %s", id)
		}
	}

	r = s.signal("r", "note", "n-1", `{"n":1}`)
	checkAccepted(t, r)
	if r.field("ok") != true || r.field("signal_delivered") != true || r.text("signal_id") != "n-1" {
		t.Errorf("the body of a signal is incomplete: %s", r.raw)
	}
	if r.text("receipt/run_id") != "r" || r.text("receipt/signal_id") != "n-1" {
		t.Errorf("the receipt of a signal is incomplete: %s", r.raw)
	}

	s.open("r2", doorInput{Hook: "internal"})
	r = s.call("POST", "/v1/runs/r2/hooks/h/resume", `1`)
	checkAccepted(t, r)
	if r.text("receipt/run_id") != "r2" || r.text("receipt/hook_id") != "h" {
		t.Errorf("the receipt of a hook is incomplete: %s", r.raw)
	}
}

func TestVerdict_same_identity_and_equal_payload_is_a_duplicate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	note := s.signal("r", "note", "n-1", `{"n":1,"m":[2]}`)
	checkAccepted(t, note)
	answer := s.answer(token, `{"b":1,"a":"ü"}`)
	checkAccepted(t, answer)

	again := func() {
		t.Helper()
		repeated := s.signal("r", "note", "n-1", ` {"m" : [2.0], "n":1e0}`)
		checkDuplicate(t, repeated, note)
		if repeated.field("signal_delivered") != false {
			t.Error("a repeated signal says that it was delivered")
		}
		checkDuplicate(t, s.answer(token, `{"a":"\u00fc","b":1.0}`), answer)
		byIDs := s.call("POST", "/v1/runs/r/hooks/h/resume", `{"b":1,"a":"ü"}`)
		if byIDs.text("verdict") != "duplicate" || byIDs.field("receipt/sequence") != answer.field("receipt/sequence") {
			t.Errorf("by IDs: got %s", byIDs.raw)
		}
	}
	again()
	s.awaitStatus("r", engine.StatusCompleted)
	again()
}

func TestVerdict_same_identity_and_another_payload_or_name_is_a_conflict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "strict", Stay: true})
	checkAccepted(t, s.signal("r", "note", "n-1", `{"n":1}`))
	checkAccepted(t, s.answer(token, `{"decision":"approve"}`))

	for range 2 {
		checkDiffers(t, s.signal("r", "note", "n-1", `{"n":"1"}`), "signal-conflict", "payload")
		checkDiffers(t, s.signal("r", "end", "n-1", `{"n":1}`), "signal-conflict", "name")
		checkDiffers(t, s.signal("r", "undeclared", "n-1", `{"n":2}`), "signal-conflict", "name", "payload")
		checkDiffers(t, s.answer(token, `{"decision":"reject"}`), "hook-payload-conflict", "payload")
		checkDiffers(t, s.answer(token, `"breaks the schema"`), "hook-payload-conflict", "payload")
		checkDiffers(t, s.call("POST", "/v1/runs/r/hooks/h/resume", `null`), "hook-payload-conflict", "payload")
		s.call("POST", "/v1/runs/r/cancel", "")
	}
}

func TestVerdict_a_closed_hook_says_how_it_closed(t *testing.T) {
	t.Parallel()
	s := newSite(t)

	disposed := s.open("disposed", doorInput{Hook: "ask"})
	s.signal("disposed", "end", "e", `"dispose"`)
	await(t, "the hook is disposed of", func() bool { return s.hookState("disposed") == "disposed" })
	checkClosed(t, s.answer(disposed, `1`), "disposed")

	expired := s.open("expired", doorInput{Hook: "ask", Expires: 1, Token: "host-token-of-the-expired-hook"})
	checkClosed(t, s.answer(expired, `1`), "expired")

	cancelled := s.open("cancelled", doorInput{Hook: "ask"})
	checkAccepted(t, s.call("POST", "/v1/runs/cancelled/cancel", `{}`))
	checkClosed(t, s.answer(cancelled, `1`), "cancelled")

	ended := s.open("ended", doorInput{Hook: "ask"})
	s.ends("ended", "complete", engine.StatusCompleted)
	checkClosed(t, s.answer(ended, `1`), "run_ended")
	checkClosed(t, s.call("POST", "/v1/runs/ended/hooks/h/resume", `1`), "run_ended")
}

func TestVerdict_a_new_signal_for_an_ended_run_is_gone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	s.ends("r", "complete", engine.StatusCompleted)
	checkProblem(t, s.signal("r", "note", "late", `{"n":1}`), 410, "run-ended")
	checkProblem(t, s.signal("r", "undeclared", "late", `1`), 410, "run-ended")
}

// What does not exist, is not for this surface or belongs to another tenant is one answer, byte for byte but for the
// request's ID.
func TestVerdict_unknown_things_are_one_answer(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	s := serveOn(t, eng, nil)
	internal := s.open("internal", doorInput{Hook: "internal"})
	foreign, err := eng.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Start(t.Context(), engine.StartRequest{
		Workflow: "test.door", RunID: "foreign", Input: []byte(`{"hook":"ask"}`),
	}); err != nil {
		t.Fatal(err)
	}
	var link engine.Link
	await(t, "the foreign hook is there", func() bool {
		link, err = foreign.HookLink(t.Context(), "foreign", "h")
		return err == nil
	})

	want := anonymous(s.answer(junkToken, `1`))
	if !strings.Contains(want, `"not-found"`) {
		t.Fatal(want)
	}
	replies := map[string]reply{
		"malformed token":  s.answer("short", `1`),
		"truncated token":  s.answer(internal[:52], `1`),
		"internal hook":    s.answer(internal, `1`),
		"unknown bearer":   s.call("POST", "/callbacks/flow/hooks", `1`, "Authorization", "Bearer "+junkToken),
		"withdrawal":       s.call("DELETE", "/callbacks/flow/hooks/"+junkToken, ""),
		"internal by body": s.call("POST", "/v1/hooks/dispose", `{"token":"`+junkToken+`"}`),
		"foreign token":    s.call("POST", "/v1/hooks/dispose", `{"token":"`+link.Token.Reveal()+`"}`),
		"unknown run":      s.signal("nobody", "note", "k", `{"n":1}`),
		"foreign run":      s.signal("foreign", "note", "k", `{"n":1}`),
		"foreign hook":     s.call("POST", "/v1/runs/foreign/hooks/h/resume", `1`),
		"unknown hook":     s.call("POST", "/v1/runs/internal/hooks/x/resume", `1`),
		"dispose":          s.call("POST", "/v1/runs/internal/hooks/x/dispose", ``),
		"mint":             s.call("POST", "/v1/runs/foreign/hooks/h/token", ``),
		"snapshot":         s.call("GET", "/v1/runs/foreign", ``),
		"history":          s.call("GET", "/v1/runs/foreign/history", ``),
		"hooks":            s.call("GET", "/v1/runs/foreign/hooks", ``),
		"receipt":          s.call("GET", "/v1/runs/internal/signals/x", ``),
		"cancel":           s.call("POST", "/v1/runs/foreign/cancel", ``),
		"retry":            s.call("POST", "/v1/runs/foreign/retry", ``),
		"workflow":         s.call("POST", "/v1/runs", `{"workflow":"nothing"}`),
		"version":          s.call("POST", "/v1/runs", `{"workflow":"test.door","version":"7"}`),
		"interface":        s.call("GET", "/v1/workflows/nothing/interface", ``),
		"no route":         s.call("GET", "/v2", ``),
	}
	for name, r := range replies {
		checkProblem(t, r, 404, "not-found")
		if got := anonymous(r); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	if state := s.hookState("internal"); state != "active" {
		t.Errorf("the internal hook is %s", state)
	}
}

// anonymous is a reply without its request ID and the time.
func anonymous(r reply) string {
	id := r.header.Get("X-Request-Id")
	headers := r.header.Clone()
	headers.Del("X-Request-Id")
	headers.Del("Date")
	return fmt.Sprint(r.status, headers, strings.ReplaceAll(r.raw, id, "ID"))
}

func TestVerdict_undeclared_names_and_broken_schemas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "strict"})

	checkProblem(t, s.signal("r", "undeclared", "k", `1`), 422, "signal-not-declared")
	r := s.signal("r", "note", "k", `{"n":"one"}`)
	checkProblem(t, r, 422, "payload-schema")
	if !strings.Contains(r.raw, `"field_path":"/n"`) {
		t.Errorf("the place is not named: %s", r.raw)
	}
	checkProblem(t, s.answer(token, `{"decision":"perhaps"}`), 422, "payload-schema")
	checkProblem(t, s.call("POST", "/v1/runs", `{"workflow":"test.door","input":[1]}`), 422, "payload-schema")
	if state := s.hookState("r"); state != "active" {
		t.Errorf("a refused answer left the hook %s", state)
	}
	// Nothing was kept of what was refused.
	checkAccepted(t, s.signal("r", "note", "k", `{"n":1}`))
	checkAccepted(t, s.answer(token, `{"decision":"reject"}`))
}

func TestVerdict_backlog(t *testing.T) {
	t.Parallel()
	eng := engineOn(t, pgtest.URL(t), func(c *engine.Config) { c.Limits.Backlog = 2 })
	s := serveOn(t, eng, nil)
	s.start("r", doorInput{})
	first := s.signal("r", "note", "1", `{"n":1}`)
	checkAccepted(t, first)
	checkAccepted(t, s.signal("r", "note", "2", `{"n":2}`))
	checkProblem(t, s.signal("r", "note", "3", `{"n":3}`), 429, "signal-backlog-full")
	checkDuplicate(t, s.signal("r", "note", "1", `{"n":1}`), first)
}
