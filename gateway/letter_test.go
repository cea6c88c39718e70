package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// letterSite is a site whose runs do one step, which fails while it is told to.
type letterSite struct {
	*site
	up atomic.Bool
}

func newLetterSite(t *testing.T) *letterSite {
	t.Helper()
	l := &letterSite{}
	eng := bareEngine(t, pgtest.URL(t), nil)
	work := func(context.Context, *engine.Step) (any, error) {
		if !l.up.Load() {
			return nil, engine.Coded("down", errors.New("the other side is down"))
		}
		return "done", nil
	}
	for _, err := range []error{
		eng.Register(spec.WorkflowSpec{Name: "test.step", Version: "1"}, stepOnce),
		eng.RegisterStep("work", work), eng.RegisterStep("toil", work),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, eng)
	l.site = serveOn(t, eng, nil)
	return l
}

// stepOnce does the step of its input; hold keeps it open when it is used up.
func stepOnce(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[struct {
		Name string `json:"name"`
		Hold bool   `json:"hold"`
	}](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	out, done, err := engine.StepOutput[string](ctx, "s")
	if done || err != nil {
		return ctx.Complete(out), err
	}
	retry := spec.NoRetry()
	if in.Hold {
		retry = retry.WithHold()
	}
	return ctx.RunStep("s", in.Name, nil, retry), nil
}

// fail starts a run whose step fails, and returns the path of its dead letter.
func (l *letterSite) fail(run, name string, hold bool) string {
	l.t.Helper()
	body := fmt.Sprintf(`{"workflow":"test.step","run_id":%q,"input":{"name":%q,"hold":%t}}`, run, name, hold)
	if r := l.call("POST", "/v1/runs", body); r.status != http.StatusCreated {
		l.t.Fatalf("start: got %d %s", r.status, r.raw)
	}
	path := ""
	await(l.t, "the letter of "+run, func() bool {
		items, _ := l.call("GET", "/v1/dead-letters?limit=1", "").field("items").([]any)
		if len(items) == 1 && items[0].(map[string]any)["run_id"] == run {
			path = fmt.Sprint("/v1/dead-letters/", items[0].(map[string]any)["letter_id"])
		}
		return path != ""
	})
	return path
}

// decided checks the answer to a decision about a letter.
func (l *letterSite) decided(r reply, verdict string) {
	l.t.Helper()
	if r.status != http.StatusAccepted || r.text("verdict") != verdict || r.text("outcome") != verdict || r.text("letter_id") == "" ||
		r.text("request_id") != r.header.Get("X-Request-Id") {
		l.t.Errorf("got %d %s, want 202 %s", r.status, r.raw, verdict)
	}
	if again := r.header.Get("Idempotent-Replayed") == "true"; again != (verdict == "duplicate") {
		l.t.Errorf("Idempotent-Replayed: got %t with %s", again, verdict)
	}
}

func TestLetters_replay(t *testing.T) {
	t.Parallel()
	l := newLetterSite(t)
	path := l.fail("a", "work", true)
	shown := l.call("GET", path, "")
	want := []string{
		"attempt", "code", "created_at", "generation", "letter_id", "message", "name", "reason", "run_id", "state", "step_id", "verdict",
		"workflow",
	}
	if diff := cmp.Diff(want, keys(shown.body)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if shown.text("state") != "held" || shown.text("reason") != "exhausted" || shown.text("code") != "down" {
		t.Errorf("got %s", shown.raw)
	}
	if at := shown.text("created_at"); len(at) != len("2026-01-01T00:00:00.000000Z") {
		t.Errorf("created_at: got %s", at)
	}
	l.up.Store(true)
	l.decided(l.call("POST", path+"/replay", "{}"), "accepted")
	l.decided(l.call("POST", path+"/replay", ""), "duplicate")
	l.awaitStatus("a", engine.StatusCompleted)
	l.decided(l.call("POST", path+"/replay", ""), "duplicate")
	checkProblem(t, l.call("POST", path+"/discard", ""), 409, "letter-decided")
	if r := l.call("GET", path, ""); r.text("state") != "replayed" || r.text("resolved_at") == "" {
		t.Errorf("got %s", r.raw)
	}
}

func TestLetters_discard(t *testing.T) {
	t.Parallel()
	l := newLetterSite(t)
	held := l.fail("a", "work", true)
	l.decided(l.call("POST", held+"/discard", ""), "accepted")
	l.decided(l.call("POST", held+"/discard", ""), "duplicate")
	l.awaitStatus("a", engine.StatusFailed)
	if r := l.call("GET", "/v1/runs/a", ""); !strings.Contains(r.text("error"), "discarded") {
		t.Errorf("the run says %s", r.raw)
	}
	checkProblem(t, l.call("POST", held+"/replay", ""), 409, "letter-decided")

	failed := l.fail("b", "work", false)
	checkProblem(t, l.call("POST", failed+"/replay", ""), 409, "letter-decided")
	l.decided(l.call("POST", failed+"/discard", ""), "accepted")
	if r := l.call("GET", failed, ""); r.text("state") != "discarded" {
		t.Errorf("got %s", r.raw)
	}

	closed := l.fail("c", "work", true)
	checkAccepted(t, l.call("POST", "/v1/runs/c/cancel", ""))
	checkProblem(t, l.call("POST", closed+"/replay", ""), 410, "task-closed")
	l.decided(l.call("POST", closed+"/discard", ""), "accepted")
}

func TestLetters_list(t *testing.T) {
	t.Parallel()
	l := newLetterSite(t)
	for i, name := range []string{"work", "toil", "work", "toil", "work"} {
		l.fail(fmt.Sprint("r", i), name, i%2 == 0)
	}
	for query, want := range map[string]string{
		"":                       "[r4 r3 r2 r1 r0]",
		"limit=2":                "[r4 r3 r2 r1 r0]",
		"state=held&limit=1":     "[r4 r2 r0]",
		"state=failed&name=toil": "[r3 r1]",
		"state=failed&name=work": "[]",
		"state=discarded":        "[]",
		"name=nobody&limit=200":  "[]",
	} {
		if got := idsOf(t, l.site, "/v1/dead-letters?"+query, "run_id"); fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
}

func TestLetters_hostile(t *testing.T) {
	t.Parallel()
	l := newLetterSite(t)
	path := l.fail("a", "work", true)
	for _, query := range []string{
		"state=open", "state=", "state=held&state=failed", "name=", "name=%20a", "name=" + strings.Repeat("n", 256), "cursor=junk", "cursor=",
		"limit=0", "limit=201", "limit=-1", "limit=x", "run_id=a", "cursor=9223372036854775808", "name=a%00b",
	} {
		checkProblem(t, l.call("GET", "/v1/dead-letters?"+query, ""), 400, "invalid-argument")
	}
	for _, id := range []string{"0", "-1", "01", "+1", "1.0", "x", "9223372036854775807", "9223372036854775808", "1e1", "0x1", "%31%30%30"} {
		for _, ask := range []string{"", "/replay", "/discard"} {
			method := "POST"
			if ask == "" {
				method = "GET"
			}
			checkProblem(t, l.call(method, "/v1/dead-letters/"+id+ask, ""), 404, "not-found")
		}
	}
	for _, id := range []string{"%20", "1%0A", "%ff", strings.Repeat("1", 256)} {
		checkProblem(t, l.call("GET", "/v1/dead-letters/"+id, ""), 400, "invalid-argument")
	}
	for _, decision := range []string{"/replay", "/discard"} {
		checkProblem(t, l.call("POST", path+decision, `{"force":true}`), 400, "invalid-argument")
		checkProblem(t, l.call("POST", path+decision, `[]`), 400, "malformed-payload")
		checkProblem(t, l.call("POST", path+decision, `{`), 400, "malformed-payload")
		checkProblem(t, l.call("POST", path+decision, `{}`, "Content-Type", "text/plain"), 415, "unsupported-media-type")
		checkProblem(t, l.call("POST", path+decision, strings.Repeat(" ", 1<<20)), 413, "payload-too-large")
		checkProblem(t, l.call("GET", path+decision, ""), 405, "method-not-allowed")
	}
	checkProblem(t, l.call("DELETE", path, ""), 405, "method-not-allowed")
	checkProblem(t, l.call("GET", path+"?x=1", ""), 400, "invalid-argument")
	if r := l.call("GET", path, ""); r.text("state") != "held" {
		t.Errorf("refusals left the letter %s", r.raw)
	}
}

// A letter of another namespace is as unknown as one that is not.
func TestLetters_of_others_are_unknown(t *testing.T) {
	t.Parallel()
	l := newLetterSite(t)
	other, err := l.gw.engine.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Start(t.Context(), engine.StartRequest{
		Workflow: "test.step", RunID: "theirs", Input: json.RawMessage(`{"name":"work","hold":true}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var theirs string
	await(t, "their letter", func() bool {
		p, err := other.ListDeadLetters(t.Context(), engine.LetterFilter{})
		if err == nil && len(p.Letters) == 1 {
			theirs = "/v1/dead-letters/" + p.Letters[0].ID
		}
		return theirs != ""
	})
	checkProblem(t, l.call("GET", theirs, ""), 404, "not-found")
	checkProblem(t, l.call("POST", theirs+"/replay", ""), 404, "not-found")
	checkProblem(t, l.call("POST", theirs+"/discard", ""), 404, "not-found")
	if got := idsOf(t, l.site, "/v1/dead-letters", "run_id"); len(got) != 0 {
		t.Errorf("the list shows %v", got)
	}
}
