package gateway

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
)

func TestSurface_start_and_start_again(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const body = `{"workflow":"test.door","version":"1","run_id":"r","input":{"stay":true},"labels":{"team":"a","x/y":""}}`
	first := s.call("POST", "/v1/runs", body)
	if first.status != 201 || first.text("outcome") != "accepted" || first.header.Get("Location") != "/v1/runs/r" {
		t.Fatalf("got %d %s", first.status, first.raw)
	}
	// Until the first heartbeat of the process nobody is known to have the code.
	delete(first.body, "blocked_reason")
	want := []string{
		"created_at", "generation", "history_length", "input", "labels", "outcome", "receipt", "request_id", "run_id",
		"status", "unread_signals", "updated_at", "verdict", "version", "waiting", "workflow",
	}
	if diff := cmp.Diff(want, keys(first.body)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again := s.call("POST", "/v1/runs", strings.Replace(body, `"version":"1",`, "", 1))
	if again.status != 200 || again.text("verdict") != "duplicate" || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again: got %d %s", again.status, again.raw)
	}
	if again.text("receipt/received_at") != first.text("receipt/received_at") {
		t.Error("again: another receipt")
	}
	checkDiffers(t, s.call("POST", "/v1/runs", strings.Replace(body, "true", "false", 1)), "run-conflict", "input")
	unnamed := s.call("POST", "/v1/runs", `{"workflow":"test.door"}`)
	if id := unnamed.text("run_id"); unnamed.status != 201 || len(id) != 36 || id[14] != '7' {
		t.Errorf("without an ID: got %d %s", unnamed.status, unnamed.raw)
	}
}

func TestSurface_start_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, want := range map[string]string{
		``:                                "400 invalid-argument /workflow",
		`{}`:                              "400 invalid-argument /workflow",
		`[]`:                              "400 malformed-payload ",
		`{"workflow":"test.door"`:         "400 malformed-payload ",
		`{"workflow":7}`:                  "400 invalid-argument /workflow",
		`{"workflow":""}`:                 "400 invalid-argument /workflow",
		`{"workflow":"a","version":""}`:   "400 invalid-argument /version",
		`{"workflow":"a","run_id":""}`:    "400 invalid-argument /run_id",
		`{"workflow":"a","inputs":1}`:     "400 invalid-argument /inputs",
		`{"workflow":"a","workflow":"a"}`: "400 malformed-payload ",
		`{"workflow":"test.door","input":{"a":[1,{"b":"\u0000"}]}}`: "400 malformed-payload /input/a/1/b",
		`{"workflow":"test.door","input":{"a":1,"a":2}}`:            "400 malformed-payload /input/a",
		`{"workflow":"test.door","input":1e400}`:                    "400 malformed-payload /input",
		`{"workflow":"test.door","input":[1]}`:                      "422 payload-schema /input",
		`{"workflow":"test.door","labels":{"A":"1"}}`:               "400 invalid-argument /labels",
		`{"workflow":"nothing"}`:                                    "404 not-found ",
	} {
		r := s.call("POST", "/v1/runs", body)
		place := ""
		if violations, _ := r.field("violations").([]any); len(violations) > 0 {
			place = fmt.Sprint(violations[0].(map[string]any)["field_path"])
		}
		if got := fmt.Sprintf("%d %s %s", r.status, r.text("code"), place); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	if items, _ := s.call("GET", "/v1/runs", "").field("items").([]any); len(items) != 0 {
		t.Errorf("refused starts left %d runs", len(items))
	}
}

func TestSurface_parameters_are_checked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	for _, path := range []string{
		"/v1/runs?limit=0", "/v1/runs?limit=201", "/v1/runs?limit=ten", "/v1/runs?limit=1&limit=2", "/v1/runs?cursor=junk",
		"/v1/runs?cursor=", "/v1/runs?status=sleeping", "/v1/runs?stauts=running", "/v1/runs?label=team", "/v1/runs?label=A=1",
		"/v1/runs?label=a=1&label=a=2", "/v1/runs/r/history?generation=0", "/v1/runs/r/history?generation=x",
		"/v1/runs/r/history?cursor=junk", "/v1/hooks?state=open", "/v1/hooks?older_than=-1s", "/v1/hooks?older_than=2",
		"/v1/hooks?run_id=r", "/v1/workflows?x=1", "/v1/runs/r?token=a",
	} {
		r := s.call("GET", path, "")
		checkProblem(t, r, 400, "invalid-argument")
		if violations, _ := r.field("violations").([]any); len(violations) != 1 {
			t.Errorf("%s: no violation is named", path)
		}
	}
	checkProblem(t, s.call("GET", "/v1/runs?limit=%zz", ""), 400, "malformed-request")
}

// Requests that say everything by their path take no body, an empty object, and nothing else.
func TestSurface_bodies_without_fields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("r", doorInput{Hook: "ask"})
	for _, path := range []string{"/v1/runs/r/retry", "/v1/runs/r/hooks/h/token"} {
		for _, body := range []string{``, `{}`, ` { } `} {
			if r := s.call("POST", path, body); r.status/100 != 2 {
				t.Errorf("%s with %q: got %d %s", path, body, r.status, r.raw)
			}
		}
	}
	for _, path := range []string{"/v1/runs/r/retry", "/v1/runs/r/cancel", "/v1/runs/r/terminate", "/v1/runs/r/hooks/h/dispose", "/v1/runs/r/hooks/h/token"} {
		r := s.call("POST", path, `{"force":true}`)
		checkProblem(t, r, 400, "invalid-argument")
		if !strings.Contains(r.raw, `"field_path":"/force"`) {
			t.Errorf("the field is not named: %s", r.raw)
		}
		checkProblem(t, s.call("POST", path, `[]`), 400, "malformed-payload")
		checkProblem(t, s.call("POST", path, `{}`, "Content-Type", "text/plain"), 415, "unsupported-media-type")
		checkProblem(t, s.call("POST", path, ``, "Content-Encoding", "gzip"), 415, "unsupported-media-type")
	}
	if state := s.hookState("r"); state != "active" {
		t.Errorf("the hook is %s", state)
	}
	checkProblem(t, s.call("POST", "/v1/hooks/dispose", ``), 400, "invalid-argument")
	checkProblem(t, s.call("POST", "/v1/hooks/dispose", `{"token":7}`), 400, "invalid-argument")
}

func TestSurface_dispose_by_ids(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("r", doorInput{Hook: "ask"})
	first := s.call("POST", "/v1/runs/r/hooks/h/dispose", ``)
	checkMessage(t, first, 200, "disposed", "accepted")
	if first.text("receipt/run_id") != "r" || first.text("receipt/hook_id") != "h" {
		t.Errorf("the receipt is incomplete: %s", first.raw)
	}
	again := s.call("POST", "/v1/runs/r/hooks/h/dispose", `{}`)
	checkMessage(t, again, 200, "duplicate", "duplicate")
	if fmt.Sprint(again.field("receipt")) != fmt.Sprint(first.field("receipt")) {
		t.Errorf("another receipt: %s", again.raw)
	}
	hook := s.call("GET", "/v1/runs/r/hooks/h", "")
	if hook.text("state") != "disposed" || hook.text("kind") != "human_approval" || hook.text("subject") != "door" {
		t.Errorf("got %s", hook.raw)
	}
	for _, member := range []string{"age", "created_at", "data", "hook_id", "kind", "labels", "resolved_at", "run_id", "state", "subject", "verdict"} {
		if _, there := hook.body[member]; !there {
			t.Errorf("%s is missing in %s", member, hook.raw)
		}
	}
}

func TestSurface_signal_receipt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	checkAccepted(t, s.signal("r", "note", "a/b ü", `{"n":1}`))
	queued := s.call("GET", "/v1/runs/r/signals/a%2Fb%20%C3%BC", "")
	if queued.text("state") != "queued" || queued.text("name") != "note" || queued.text("source") != "api" || queued.text("signal_id") != "a/b ü" {
		t.Errorf("got %d %s", queued.status, queued.raw)
	}
	s.ends("r", "complete", engine.StatusCompleted)
	if r := s.call("GET", "/v1/runs/r/signals/a%2Fb%20%C3%BC", ""); r.text("state") != "unread_at_end" {
		t.Errorf("got %s", r.raw)
	}
	consumed := s.call("GET", "/v1/runs/r/signals/end-complete", "")
	if consumed.text("state") != "consumed" || consumed.text("consumed_by/wait_id") != "end" {
		t.Errorf("got %s", consumed.raw)
	}
}

func TestSurface_workflows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := s.call("GET", "/v1/workflows", "")
	if !strings.HasPrefix(all.raw, `{"items":[{"name":"test.door","version":"1","description":"Opens one hook."}]`) {
		t.Errorf("got %s", all.raw)
	}
	shown := s.call("GET", "/v1/workflows/test.door/interface", "")
	var names []string
	signals, _ := shown.field("signals").([]any)
	for _, signal := range signals {
		names = append(names, fmt.Sprintf("%v %v", keys(signal.(map[string]any)), signal.(map[string]any)["name"]))
	}
	want := []string{"[name] any/thing", "[name] end", "[arg_schema description name] note"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []string{"[arg_schema name] a/b ü", "[name] do", "[description name response_schema] hook"}
	names = nil
	queries, _ := shown.field("queries").([]any)
	for _, query := range queries {
		names = append(names, fmt.Sprintf("%v %v", keys(query.(map[string]any)), query.(map[string]any)["name"]))
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []string{"[description name] a/b ü", "[arg_schema description name response_schema] set"}
	names = nil
	updates, _ := shown.field("updates").([]any)
	for _, update := range updates {
		names = append(names, fmt.Sprintf("%v %v", keys(update.(map[string]any)), update.(map[string]any)["name"]))
	}
	if diff := cmp.Diff(want, names); diff != "" || shown.text("verdict") != "accepted" {
		t.Errorf("(-want +got)\n%s\n%s", diff, shown.raw)
	}
	checkProblem(t, s.call("GET", "/v1/workflows/test.none/interface", ""), 404, "not-found")
}

func TestSurface_a_blocked_run_takes_messages_and_is_retried(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	checkAccepted(t, s.signal("r", "end", "e", `"block"`))
	s.awaitStatus("r", engine.StatusBlocked)
	if s.call("GET", "/v1/runs/r", "").text("blocked_reason") == "" {
		t.Error("the reason is missing")
	}
	checkAccepted(t, s.answer(token, `1`))
	checkAccepted(t, s.signal("r", "note", "n", `{"n":1}`))
	r := s.call("POST", "/v1/runs/r/retry", ``)
	if r.status != 202 || r.text("outcome") != "accepted" || r.text("receipt/run_id") != "r" {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	checkAccepted(t, s.call("POST", "/v1/runs/r/cancel", ``))
}

// Every time in a body is written in one way, whatever part of the system it comes from.
func TestSurface_times_are_written_in_one_way(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("r", doorInput{Hook: "ask", Expires: time.Hour, Stay: true})
	bodies := []reply{
		s.call("GET", "/v1/runs/r", ""),
		s.call("GET", "/v1/runs/r/hooks/h", ""),
		s.call("POST", "/v1/runs/r/hooks/h/token", ""),
		s.call("POST", "/v1/runs/r/hooks/h/resume", "1"),
		s.signal("r", "end", "e", `"complete"`),
		s.call("GET", "/v1/runs/r/signals/e", ""),
		s.call("GET", "/v1/runs/r/hooks", ""),
	}
	s.awaitStatus("r", engine.StatusCompleted)
	bodies = append(bodies, s.call("GET", "/v1/runs/r", ""), s.call("GET", "/v1/runs", ""))
	for _, r := range bodies {
		found := anyTime.FindAllStringSubmatch(r.raw, -1)
		if len(found) == 0 {
			t.Errorf("no time in %s", r.raw)
		}
		for _, at := range found {
			if !microseconds.MatchString(at[1]) || at[1] < "2020" {
				t.Errorf("%s in %s", at[1], r.raw)
			}
		}
	}
	events, _ := s.call("GET", "/v1/runs/r/history", "").field("events").([]any)
	for _, e := range events {
		if at, _ := e.(map[string]any)["at"].(string); !microseconds.MatchString(at) || at < "2020" {
			t.Errorf("at: got %q", at)
		}
	}
}

var anyTime = regexp.MustCompile(`"(\d{4}-\d\d-\d\dT[^"]*)"`)

var microseconds = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)

func TestStamp_is_RFC_3339_with_microseconds_in_UTC(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.FixedZone("x", 3600)),
	} {
		text, err := json.Marshal(stamp(at))
		if err != nil {
			t.Fatal(err)
		}
		if !microseconds.MatchString(strings.Trim(string(text), `"`)) {
			t.Errorf("got %s", text)
		}
	}
}
