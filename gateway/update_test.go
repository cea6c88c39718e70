package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

const (
	laterPath     = "/v1/runs/r/updates/a%2Fb%20%C3%BC" // the update "a/b ü"
	updateAndPath = "/v1/workflows/test.door/update-with-start"
)

func (s *site) update(run, name, key, payload, wait string) reply {
	s.t.Helper()
	path := "/v1/runs/" + run + "/updates/" + name
	if wait != "" {
		path += "?wait=" + wait
	}
	return s.call("POST", path, payload, "Idempotency-Key", key)
}

func TestUpdate_is_answered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	first := s.update("r", "set", "u-1", `{ "n" : 1.50, "x":"<&>" }`, "30s")
	checkMessage(t, first, 200, "accepted", "accepted")
	if !strings.Contains(first.raw, `"result":{"n":1.50,"x":"<&>"}`) || first.text("state") != "completed" || first.text("run_id") != "r" ||
		first.text("update_id") != "u-1" || first.text("receipt/update_id") != "u-1" || first.text("receipt/run_id") != "r" {
		t.Errorf("got %s", first.raw)
	}
	for _, wait := range []string{"", "0s", "30s"} {
		again := s.update("r", "set", "u-1", `{"x":"<&>","n":1.5}`, wait)
		checkMessage(t, again, 200, "duplicate", "duplicate")
		if again.header.Get("Idempotent-Replayed") != "true" || fmt.Sprint(again.field("receipt")) != fmt.Sprint(first.field("receipt")) ||
			!strings.Contains(again.raw, `"result":{"n":1.50,"x":"<&>"}`) {
			t.Errorf("again: %s", again.raw)
		}
	}
	checkDiffers(t, s.update("r", "set", "u-1", `{"n":2}`, ""), "update-conflict", "payload")
	checkDiffers(t, s.update("r", "none", "u-1", `1`, ""), "update-conflict", "name", "payload")
	shown := s.call("GET", "/v1/runs/r/updates/u-1?wait=60s", "")
	if shown.status != 200 || shown.text("state") != "completed" || shown.text("name") != "set" || shown.text("source") != "api" ||
		shown.text("resolved_at") == "" || shown.text("verdict") != "accepted" || !strings.Contains(shown.raw, `"result":{"n":1.50,"x":"<&>"}`) {
		t.Errorf("got %d %s", shown.status, shown.raw)
	}
	checkHeaders(t, shown)
	head := s.one("HEAD /v1/runs/r/updates/u-1 HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n")
	if head.status != 200 || head.raw != "" {
		t.Errorf("HEAD: %d %q", head.status, head.raw)
	}
	made := s.call("POST", "/v1/runs/r/updates/set?wait=30s", `{"n":3}`)
	if id := made.text("update_id"); made.status != 200 || len(id) != 36 || id[14] != '7' {
		t.Errorf("without a key: %d %s", made.status, made.raw)
	}
	byQuery := s.call("POST", "/v1/runs/r/updates/set?wait=30s&idempotency_key=u-1", `{"n":1.5,"x":"<&>"}`)
	checkMessage(t, byQuery, 200, "duplicate", "duplicate")
}

func TestUpdate_is_rejected_by_the_workflow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	check := func(r reply) {
		t.Helper()
		checkProblem(t, r, 422, "update-rejected")
		if r.text("verdict") != "invalid" || r.field("retryable") != false || !strings.Contains(r.raw, `{"field_path":"","message":"less than nothing"}`) {
			t.Errorf("got %s", r.raw)
		}
	}
	check(s.update("r", "set", "u-1", `{"n":-1}`, "30s"))
	again := s.update("r", "set", "u-1", `{"n":-1}`, "")
	check(again)
	if again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("a repetition does not say that it is one")
	}
	check(s.call("GET", "/v1/runs/r/updates/u-1", ""))
	s.ends("r", "complete", engine.StatusCompleted)
	check(s.update("r", "set", "u-1", `{"n":-1}`, ""))
}

func TestUpdate_is_open_until_it_is_answered_or_orphaned(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	first := s.call("POST", laterPath, `[1]`, "Idempotency-Key", "u-1")
	checkMessage(t, first, 202, "accepted", "accepted")
	if first.text("state") != "open" || first.field("result") != nil {
		t.Errorf("got %s", first.raw)
	}
	began := time.Now()
	if r := s.call("GET", "/v1/runs/r/updates/u-1?wait=200ms", ""); r.status != 202 || r.text("state") != "open" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("answered after %s", took)
	}
	again := s.call("POST", laterPath+"?wait=50ms", `[1.0]`, "Idempotency-Key", "u-1")
	checkMessage(t, again, 202, "duplicate", "duplicate")

	parked := make(chan reply, 2)
	for _, path := range []string{"/v1/runs/r/updates/u-1?wait=60s", "/v1/runs/r/updates/u-2?wait=60s"} {
		if strings.Contains(path, "u-2") {
			s.start("r2", doorInput{})
			checkMessage(t, s.call("POST", strings.Replace(laterPath, "/r/", "/r2/", 1), `2`, "Idempotency-Key", "u-2"), 202, "accepted", "accepted")
			path = strings.Replace(path, "/r/", "/r2/", 1)
		}
		go func() {
			r, err := s.try("GET", path, "")
			if err != nil {
				t.Errorf("wait: %v", err)
			}
			parked <- r
		}()
	}
	await(t, "both are parked", func() bool { return s.gw.waiters.used.Load() == 2 })
	began = time.Now()
	checkAccepted(t, s.signal("r", "any%2Fthing", "s", `1`))
	if r := <-parked; r.status != 200 || r.text("state") != "completed" || !strings.Contains(r.raw, `"result":null`) {
		t.Errorf("answered: %d %s", r.status, r.raw)
	}
	checkAccepted(t, s.call("POST", "/v1/runs/r2/cancel", ``))
	orphaned := <-parked
	checkProblem(t, orphaned, 410, "update-orphaned")
	if took := time.Since(began); orphaned.text("cause") != "cancelled" || took > 10*time.Second {
		t.Errorf("after %s: %s", took, orphaned.raw)
	}
	checkProblem(t, s.call("POST", "/v1/runs/r2/updates/a%2Fb%20%C3%BC", `2`, "Idempotency-Key", "u-2"), 410, "update-orphaned")
	checkProblem(t, s.update("r2", "set", "u-9", `{"n":1}`, ""), 410, "run-ended")
}

func TestUpdate_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	for _, tc := range []struct {
		method, path, body string
		headers            []string
		want               string
	}{
		{"POST", "/v1/runs/nobody/updates/set", `{"n":1}`, nil, "404 not-found unknown "},
		{"POST", "/v1/runs/r/updates/none", `1`, nil, "422 update-not-declared invalid "},
		{"POST", "/v1/runs/r/updates/note", `{"n":1}`, nil, "422 update-not-declared invalid "},
		{"POST", "/v1/runs/r/updates/", `1`, nil, "404 not-found unknown "},
		{"POST", "/v1/runs/r/updates/%20", `1`, nil, "400 invalid-argument invalid /name"},
		{"POST", "/v1/runs/r/updates/%FF", `1`, nil, "400 invalid-argument invalid /name"},
		{"POST", "/v1/runs/r/updates/..%2Fcancel", `1`, nil, "422 update-not-declared invalid "},
		{"POST", "/v1/runs/r/updates/set?wait=61s", `{"n":1}`, nil, "400 invalid-argument invalid /wait"},
		{"POST", "/v1/runs/r/updates/set?wait=soon", `{"n":1}`, nil, "400 invalid-argument invalid /wait"},
		{"POST", "/v1/runs/r/updates/set?wait=1s&wait=1s", `{"n":1}`, nil, "400 invalid-argument invalid /wait"},
		{"POST", "/v1/runs/r/updates/set?timeout=1s", `{"n":1}`, nil, "400 invalid-argument invalid /timeout"},
		{"POST", "/v1/runs/r/updates/set?idempotency_key=", `{"n":1}`, nil, "400 idempotency-key-invalid invalid "},
		{"POST", "/v1/runs/r/updates/set", `{"n":1}`, []string{"Idempotency-Key", ""}, "400 idempotency-key-invalid invalid "},
		{"POST", "/v1/runs/r/updates/set", `{"n":1}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}, "400 idempotency-key-invalid invalid "},
		{"POST", "/v1/runs/r/updates/set", ``, nil, "400 malformed-payload invalid "},
		{"POST", "/v1/runs/r/updates/set", `{"n":1,"n":1}`, nil, "400 malformed-payload invalid /n"},
		{"POST", "/v1/runs/r/updates/set", `{"n":1e400}`, nil, "400 malformed-payload invalid /n"},
		{"POST", "/v1/runs/r/updates/set", `"\ud800"`, nil, "400 malformed-payload invalid "},
		{"POST", "/v1/runs/r/updates/set", strings.Repeat("[", 66) + strings.Repeat("]", 66), nil, "400 malformed-payload invalid " + strings.Repeat("/0", 64)},
		{"POST", "/v1/runs/r/updates/set", `{"n":"x"}`, nil, "422 payload-schema invalid /n"},
		{"POST", "/v1/runs/r/updates/set", `{"n":1}`, []string{"Content-Type", "text/plain"}, "415 unsupported-media-type invalid "},
		{"POST", "/v1/runs/r/updates/set", `{"n":1}`, []string{"Content-Encoding", "gzip"}, "415 unsupported-media-type invalid "},
		{"POST", "/v1/runs/r/updates/set", `"` + strings.Repeat("x", 300<<10) + `"`, nil, "413 payload-too-large invalid "},
		{"PUT", "/v1/runs/r/updates/set", `1`, nil, "405 method-not-allowed invalid "},
		{"DELETE", "/v1/runs/r/updates/u", ``, nil, "405 method-not-allowed invalid "},
		{"GET", "/v1/runs/r/updates/u", ``, nil, "404 not-found unknown "},
		{"GET", "/v1/runs/nobody/updates/u?wait=60s", ``, nil, "404 not-found unknown "},
		{"GET", "/v1/runs/r/updates/%00", ``, nil, "400 invalid-argument invalid /update_id"},
		{"GET", "/v1/runs/r/updates/u?wait=2m", ``, nil, "400 invalid-argument invalid /wait"},
		{"GET", "/v1/runs/r/updates/u?x=1", ``, nil, "400 invalid-argument invalid /x"},
	} {
		r := s.call(tc.method, tc.path, tc.body, tc.headers...)
		place := ""
		if found, _ := r.field("violations").([]any); len(found) > 0 {
			place = fmt.Sprint(found[0].(map[string]any)["field_path"])
		}
		if got := fmt.Sprintf("%d %s %s %s", r.status, r.text("code"), r.text("verdict"), place); got != tc.want {
			t.Errorf("%s %.60s %.40s: got %s, want %s", tc.method, tc.path, tc.body, got, tc.want)
		}
	}
	await(t, "the run has its two events, and no other", func() bool {
		events, _ := s.call("GET", "/v1/runs/r/history", "").field("events").([]any)
		return len(events) == 2
	})
}

func TestUpdateWithStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"run_id":"r","input":{"stay":true},"update":{"name":"set","id":"u-1","payload":{"n":1}}}`
	first := s.call("POST", updateAndPath+"?wait=30s", body)
	checkMessage(t, first, 201, "accepted", "accepted")
	if first.field("started_fresh") != true || first.text("state") != "completed" || !strings.Contains(first.raw, `"result":{"n":1}`) ||
		first.text("run_id") != "r" || first.header.Get("Location") != "/v1/runs/r" || first.text("receipt/update_id") != "u-1" {
		t.Errorf("got %s", first.raw)
	}
	again := s.call("POST", updateAndPath, body)
	checkMessage(t, again, 200, "duplicate", "duplicate")
	if again.field("started_fresh") != false || again.text("state") != "completed" {
		t.Errorf("got %s", again.raw)
	}
	attached := s.call("POST", updateAndPath, `{"run_id":"r","update":{"name":"a/b ü","id":"u-2"}}`)
	checkMessage(t, attached, 202, "accepted", "accepted")
	if attached.field("started_fresh") != false || attached.text("state") != "open" {
		t.Errorf("got %s", attached.raw)
	}
	checkProblem(t, s.call("POST", updateAndPath+"?wait=30s", `{"run_id":"q","update":{"name":"set","id":"u","payload":{"n":-1}}}`), 422, "update-rejected")
	if r := s.call("GET", "/v1/runs/q", ""); r.text("status") != "running" {
		t.Errorf("an update that its workflow rejects was accepted before: %s", r.raw)
	}
	for text, want := range map[string]string{
		`{"run_id":"n"}`: "400 invalid-argument /update",
		`{"run_id":"n","signal":{"name":"note"}}`:                    "400 invalid-argument /signal",
		`{"run_id":"n","update":{}}`:                                 "400 invalid-argument /update/name",
		`{"run_id":"n","update":{"name":"set","id":" "}}`:            "400 invalid-argument /update/id",
		`{"run_id":"n","update":{"name":"none"}}`:                    "422 update-not-declared ",
		`{"run_id":"n","update":{"name":"set","payload":{"n":"x"}}}`: "422 payload-schema /update/payload/n",
		`{"run_id":"n","input":7,"update":{"name":"a/b ü"}}`:         "422 payload-schema /input",
	} {
		r := s.call("POST", updateAndPath, text)
		place := ""
		if violations, _ := r.field("violations").([]any); len(violations) > 0 {
			place = fmt.Sprint(violations[0].(map[string]any)["field_path"])
		}
		if got := fmt.Sprintf("%d %s %s", r.status, r.text("code"), place); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	checkProblem(t, s.call("GET", "/v1/runs/n", ""), 404, "not-found")
	checkProblem(t, s.call("POST", updateAndPath+"?wait=61s", body), 400, "invalid-argument")
}

// A crowd sends one update: it is done once, and everybody is told its result.
func TestUpdate_crowd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const callers = 30
	replies := make([]reply, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			replies[i], _ = s.try("POST", updateAndPath+"?wait=30s", `{"run_id":"r","update":{"name":"set","id":"u","payload":{"n":1}}}`)
		})
	}
	all.Wait()
	fresh, accepted := 0, 0
	for _, r := range replies {
		if r.status/100 != 2 || r.text("state") != "completed" || !strings.Contains(r.raw, `"result":{"n":1}`) {
			t.Errorf("got %d %s", r.status, r.raw)
		}
		if r.field("started_fresh") == true {
			fresh++
		}
		if r.text("outcome") == "accepted" {
			accepted++
		}
	}
	if fresh != 1 || accepted != 1 {
		t.Errorf("%d started it and %d were accepted, want 1 and 1", fresh, accepted)
	}
}

// Who waits when a drain begins is told the present state, not made to wait for the end of the process.
func TestUpdate_waits_end_with_a_drain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	parked := make(chan reply, 1)
	go func() {
		r, _ := s.try("POST", laterPath+"?wait=60s", `1`, "Idempotency-Key", "u")
		parked <- r
	}()
	await(t, "it is parked", func() bool { return s.gw.waiters.used.Load() == 1 })
	if err := s.stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
	if r := <-parked; r.status != 202 || r.text("state") != "open" || r.text("outcome") != "accepted" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
}
