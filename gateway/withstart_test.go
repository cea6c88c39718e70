package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

const withStartPath = "/v1/workflows/test.door/signal-with-start"

func TestSignalWithStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"run_id":"r","version":"1","input":{"stay":true},"labels":{"team":"a"},"signal":{"name":"note","id":"n-1","payload":{"n": 1}}}`
	first := s.call("POST", withStartPath, body)
	checkMessage(t, first, 201, "accepted", "accepted")
	if first.field("started_fresh") != true || first.field("signal_delivered") != true || first.text("run_id") != "r" ||
		first.text("signal_id") != "n-1" || first.text("receipt/signal_id") != "n-1" || first.header.Get("Location") != "/v1/runs/r" {
		t.Errorf("got %s", first.raw)
	}
	again := s.call("POST", withStartPath, strings.Replace(body, "1}", "1.0}", 1))
	checkMessage(t, again, 200, "duplicate", "duplicate")
	if again.field("started_fresh") != false || again.field("signal_delivered") != false || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %s", again.raw)
	}
	if fmt.Sprint(again.field("receipt")) != fmt.Sprint(first.field("receipt")) {
		t.Errorf("another receipt: %s", again.raw)
	}
	alone := s.signal("r", "note", "n-1", `{"n":1}`)
	checkDuplicate(t, alone, first)
	attached := s.call("POST", withStartPath, `{"run_id":"r","input":{"hook":"ask"},"signal":{"name":"note","payload":{"n":2}}}`, "Idempotency-Key", "n-2")
	checkMessage(t, attached, 200, "accepted", "accepted")
	if attached.field("started_fresh") != false || attached.text("signal_id") != "n-2" {
		t.Errorf("got %s", attached.raw)
	}
	made := s.call("POST", withStartPath+"?idempotency_key=n-4", `{"run_id":"r","signal":{"name":"note","id":"n-3","payload":{"n":3}}}`)
	if made.text("signal_id") != "n-4" {
		t.Errorf("the key of the request does not win: %s", made.raw)
	}
	made = s.call("POST", withStartPath, `{"run_id":"r","signal":{"name":"any/thing"}}`)
	if id := made.text("signal_id"); made.status != 200 || len(id) != 36 || id[14] != '7' {
		t.Errorf("without an ID: %d %s", made.status, made.raw)
	}
	checkDiffers(t, s.call("POST", withStartPath, `{"run_id":"r","signal":{"name":"note","id":"n-1","payload":{"n":2}}}`), "signal-conflict", "payload")
	checkProblem(t, s.call("POST", "/v1/workflows/none/signal-with-start", `{"run_id":"q","signal":{"name":"a"}}`), 404, "not-found")
	checkDiffers(t, s.call("POST", "/v1/workflows/none/signal-with-start", `{"run_id":"r","signal":{"name":"a"}}`), "run-conflict", "workflow")
	checkAccepted(t, s.call("POST", "/v1/runs/r/cancel", ``))
	checkProblem(t, s.call("POST", withStartPath, `{"run_id":"r","signal":{"name":"note","id":"n-9","payload":{"n":2}}}`), 410, "run-ended")
	checkMessage(t, s.call("POST", withStartPath, body), 200, "duplicate", "duplicate")
}

func TestSignalWithStart_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, want := range map[string]string{
		``:                            "400 invalid-argument /run_id",
		`[]`:                          "400 malformed-payload ",
		`{"run_id":"r"}`:              "400 invalid-argument /signal",
		`{"signal":{}}`:               "400 invalid-argument /run_id",
		`{"run_id":7}`:                "400 invalid-argument /run_id",
		`{"run_id":"r","x":1}`:        "400 invalid-argument /x",
		`{"run_id":"r","run_id":"r"}`: "400 malformed-payload ",
		`{"run_id":"r","workflow":"test.door","signal":{"name":"note"}}`:                   "400 invalid-argument /workflow",
		`{"run_id":"r","version":"","signal":{"name":"note"}}`:                             "400 invalid-argument /version",
		`{"run_id":"r","labels":{"A":"1"},"signal":{"name":"note"}}`:                       "400 invalid-argument /labels",
		`{"run_id":"r","signal":null}`:                                                     "400 malformed-payload /signal",
		`{"run_id":"r","signal":"note"}`:                                                   "400 malformed-payload /signal",
		`{"run_id":"r","signal":{}}`:                                                       "400 invalid-argument /signal/name",
		`{"run_id":"r","signal":{"name":7}}`:                                               "400 invalid-argument /signal/name",
		`{"run_id":"r","signal":{"name":""}}`:                                              "400 invalid-argument /signal/name",
		`{"run_id":"r","signal":{"name":"note","name":"note"}}`:                            "400 malformed-payload /signal",
		`{"run_id":"r","signal":{"name":"note","id":""}}`:                                  "400 invalid-argument /signal/id",
		`{"run_id":"r","signal":{"name":"note","id":"a\u0000"}}`:                           "400 invalid-argument /signal/id",
		`{"run_id":"r","signal":{"name":"note","key":"a"}}`:                                "400 invalid-argument /signal/key",
		`{"run_id":"r","signal":{"name":"note","payload":{"n":1e400}}}`:                    "400 malformed-payload /signal/payload/n",
		`{"run_id":"r","signal":{"name":"note","payload":{"a":1,"a":2}}}`:                  "400 malformed-payload /signal/payload/a",
		`{"run_id":"r","signal":{"name":"note","payload":"\ud800"}}`:                       "400 malformed-payload /signal/payload",
		`{"run_id":"r","signal":{"name":"note","payload":{"n":"x"}}}`:                      "422 payload-schema /signal/payload/n",
		`{"run_id":"r","signal":{"name":"none","payload":1}}`:                              "422 signal-not-declared ",
		`{"run_id":"r","input":[1],"signal":{"name":"note","payload":{"n":1}}}`:            "422 payload-schema /input",
		`{"run_id":"r","input":{"a":"\u0000"},"signal":{"name":"note","payload":{"n":1}}}`: "400 malformed-payload /input/a",
		`{"run_id":"r","version":"9","signal":{"name":"note","payload":{"n":1}}}`:          "404 not-found ",
	} {
		r := s.call("POST", withStartPath, body)
		place := ""
		if violations, _ := r.field("violations").([]any); len(violations) > 0 {
			place = fmt.Sprint(violations[0].(map[string]any)["field_path"])
		}
		if got := fmt.Sprintf("%d %s %s", r.status, r.text("code"), place); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	checkProblem(t, s.call("POST", withStartPath, `{"run_id":"r","signal":{"name":"note"}}`, "Idempotency-Key", " "), 400, "idempotency-key-invalid")
	checkProblem(t, s.call("POST", withStartPath, `{}`, "Content-Type", "text/plain"), 415, "unsupported-media-type")
	checkProblem(t, s.call("POST", withStartPath, `"`+strings.Repeat("x", 300<<10)+`"`), 413, "payload-too-large")
	checkProblem(t, s.call("GET", withStartPath, ``), 405, "method-not-allowed")
	if items, _ := s.call("GET", "/v1/runs", "").field("items").([]any); len(items) != 0 {
		t.Errorf("refused signals left %d runs", len(items))
	}
}

// A crowd of equal calls: one of them started the run and delivered its signal.
func TestSignalWithStart_crowd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const callers = 30
	replies := make([]reply, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			replies[i], _ = s.try("POST", withStartPath, `{"run_id":"r","input":{"stay":true},"signal":{"name":"note","id":"n","payload":{"n":1}}}`)
		})
	}
	all.Wait()
	fresh, delivered := 0, 0
	for _, r := range replies {
		if r.status/100 != 2 {
			t.Errorf("got %d %s", r.status, r.raw)
		}
		if r.field("started_fresh") == true && r.status == 201 {
			fresh++
		}
		if r.field("signal_delivered") == true && r.text("verdict") == string(engine.VerdictAccepted) {
			delivered++
		}
	}
	if fresh != 1 || delivered != 1 {
		t.Errorf("%d started it and %d delivered, want 1 and 1", fresh, delivered)
	}
}
