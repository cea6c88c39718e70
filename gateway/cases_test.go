package gateway

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

// C31, X07: the second answer is a duplicate or a conflict, never an error of ours and never a silent success.
func TestC31_a_second_answer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	first := s.answer(token, `{"a":1}`)
	checkAccepted(t, first)
	checkDuplicate(t, s.answer(token, `{"a":1}`), first)
	checkDiffers(t, s.answer(token, `{"a":2}`), "hook-payload-conflict", "payload")
}

func TestX07_another_answer_to_an_answered_hook_is_a_conflict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	checkAccepted(t, s.answer(token, `{"approved":true}`))
	s.awaitStatus("r", engine.StatusCompleted)
	r := s.answer(token, `{"approved":false}`)
	checkDiffers(t, r, "hook-payload-conflict", "payload")
	if strings.Contains(r.raw, "approved") {
		t.Errorf("the conflict shows a payload: %s", r.raw)
	}
	if r := s.call("GET", "/v1/runs/r", ""); !strings.Contains(r.raw, `"output":{"approved":true}`) {
		t.Errorf("the stored answer changed: %s", r.raw)
	}
}

// C38, 36: an identity is what the caller says or an error, never something else silently.
func TestC38_idempotency_keys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	const path = "/v1/runs/r/signals/any%2Fthing"
	long := strings.Repeat("k", 255)
	for name, tc := range map[string]struct {
		query, header string // "-" for absent
		want          string // the signal's ID, or empty for a refusal
	}{
		"header":                    {"-", "h-1", "h-1"},
		"header with quotes":        {"-", `"h-2"`, `"h-2"`},
		"query":                     {"q-1", "-", "q-1"},
		"query with escapes":        {"q%2F+%C3%BC", "-", "q/ ü"},
		"header wins":               {"q-2", "h-3", "h-3"},
		"the longest":               {"-", long, long},
		"header empty":              {"-", "", ""},
		"header of spaces":          {"-", "  ", ""},
		"header too long":           {"-", long + "k", ""},
		"header not UTF-8":          {"-", "\xff", ""},
		"header with a tab":         {"-", "a\tb", ""},
		"query empty":               {"", "-", ""},
		"query of a space":          {"+", "-", ""},
		"query ends with a space":   {"a+", "-", ""},
		"query too long":            {long + "k", "-", ""},
		"query not UTF-8":           {"%FF", "-", ""},
		"query with NUL":            {"a%00", "-", ""},
		"query repeated":            {"a&idempotency_key=a", "-", ""},
		"bad query behind a header": {"", "h-4", ""},
		"bad header behind a query": {"q-3", "", ""},
	} {
		target, header := path, "X-None: 1"
		if tc.query != "-" {
			target += "?idempotency_key=" + tc.query
		}
		if tc.header != "-" {
			header = "Idempotency-Key: " + tc.header
		}
		r := s.one(post(target, header, "Content-Length: 1", "Connection: close", "", "1"))
		if tc.want == "" {
			if r.status != 400 || r.text("code") != "idempotency-key-invalid" {
				t.Errorf("%s: got %d %s", name, r.status, r.raw)
			}
			continue
		}
		if r.status != 202 || r.text("signal_id") != tc.want || r.text("receipt/signal_id") != tc.want {
			t.Errorf("%s: got %d %s", name, r.status, r.raw)
		}
	}
	checkProblem(t, s.one(post(path+"?idempotency_key=%zz", "Content-Length: 1", "Connection: close", "", "1")), 400, "malformed-request")
}

func TestC38_a_call_without_a_key_gets_an_ID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	ids := map[string]bool{}
	for range 3 {
		r := s.call("POST", "/v1/runs/r/signals/any%2Fthing", `1`)
		checkAccepted(t, r)
		ids[r.text("signal_id")] = true
	}
	if len(ids) != 3 {
		t.Errorf("got %v", ids)
	}
	for id := range ids {
		if len(id) != 36 || id[14] != '7' {
			t.Errorf("%s is no UUIDv7", id)
		}
		again := s.call("POST", "/v1/runs/r/signals/any%2Fthing", `1`, "Idempotency-Key", id)
		if again.text("verdict") != "duplicate" {
			t.Errorf("got %s", again.raw)
		}
	}
}

// C69: identifiers at and beyond their limits, and separators that could make two of them one.
func TestC69_identifiers_of_every_size_and_spelling(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := []string{
		"a", strings.Repeat("r", 255), "a/b", "a%2Fb", "a::b", "a b", "ü", "u\u0308", "😀", "a+b", "..", ".", "a?b#c", "signals", "*",
		"a;b", "a&b=c", `a"b\c`, "history",
	}
	for i, id := range good {
		r := s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.door","run_id":%s}`, quote(t, id)))
		if r.status != 201 || r.text("run_id") != id {
			t.Errorf("%q: got %d %s", id, r.status, r.raw)
			continue
		}
		if want := "/v1/runs/" + url.PathEscape(id); r.header.Get("Location") != want {
			t.Errorf("%q: Location %q, want %q", id, r.header.Get("Location"), want)
		}
		path := escaped(id)
		if r := s.call("GET", "/v1/runs/"+path, ""); r.text("run_id") != id {
			t.Errorf("%q: read %d %s", id, r.status, r.raw)
		}
		if r := s.call("POST", "/v1/runs/"+path+"/signals/any%2Fthing", fmt.Sprint(i), "Idempotency-Key", "k"); r.text("receipt/run_id") != id {
			t.Errorf("%q: signalled %d %s", id, r.status, r.raw)
		}
	}
	for _, id := range []string{"", strings.Repeat("r", 256), strings.Repeat("r", 1<<14), " a", "a ", "a\u0000", "a\nb", "\u200b", "\u202e"} {
		checkProblem(t, s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.door","run_id":%s}`, quote(t, id))), 400, "invalid-argument")
		if id != "" && len(id) < 1000 {
			checkProblem(t, s.call("GET", "/v1/runs/"+escaped(id), ""), 400, "invalid-argument")
			checkProblem(t, s.call("POST", "/v1/runs/a/signals/"+escaped(id), "1"), 400, "invalid-argument")
			checkProblem(t, s.call("POST", "/v1/runs/a/hooks/"+escaped(id)+"/resume", "1"), 400, "invalid-argument")
		}
	}
	for _, path := range []string{"%zz", "%", "a%2", "%ff", "%c3%28"} {
		r := s.one("GET /v1/runs/" + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		checkProblem(t, r, 400, "invalid-argument")
		if !strings.Contains(r.raw, `"field_path":"/run_id"`) {
			t.Errorf("%s: the field is not named: %s", path, r.raw)
		}
	}
}

// escaped percent-encodes every byte, so that dots are not resolved by the client.
func escaped(id string) string {
	var b strings.Builder
	for i := range len(id) {
		fmt.Fprintf(&b, "%%%02X", id[i])
	}
	return b.String()
}

func quote(t *testing.T, s string) string {
	t.Helper()
	text, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// C72, X17: one table for every kind of end, and what was accepted before stays acknowledged.
func TestC72_messages_to_runs_that_ended(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ends := map[string]func(run string){
		"completed":  func(run string) { s.ends(run, "complete", engine.StatusCompleted) },
		"failed":     func(run string) { s.ends(run, "fail", engine.StatusFailed) },
		"cancelled":  func(run string) { checkAccepted(t, s.call("POST", "/v1/runs/"+run+"/cancel", `{"reason":"test"}`)) },
		"terminated": func(run string) { checkAccepted(t, s.call("POST", "/v1/runs/"+run+"/terminate", ``)) },
	}
	causes := map[string]string{"completed": "run_ended", "failed": "run_ended", "cancelled": "cancelled", "terminated": "cancelled"}
	for name, end := range ends {
		open, answered := name+"-open", name+"-answered"
		openToken := s.open(open, doorInput{Hook: "ask"})
		answeredToken := s.open(answered, doorInput{Hook: "ask", Stay: true})
		answer := s.answer(answeredToken, `1`)
		note := s.signal(answered, "note", "n", `{"n":1}`)
		checkAccepted(t, answer)
		checkAccepted(t, note)
		end(open)
		end(answered)

		checkClosed(t, s.answer(openToken, `1`), causes[name])
		checkClosed(t, s.call("POST", "/v1/runs/"+open+"/hooks/h/resume", `1`), causes[name])
		checkClosed(t, s.call("POST", "/v1/runs/"+open+"/hooks/h/dispose", ``), causes[name])
		checkClosed(t, s.call("POST", "/v1/runs/"+open+"/hooks/h/token", ``), causes[name])
		checkProblem(t, s.signal(open, "note", "new", `{"n":1}`), 410, "run-ended")
		checkProblem(t, s.call("POST", "/v1/runs/"+open+"/retry", ``), 410, "run-ended")

		checkDuplicate(t, s.answer(answeredToken, `1`), answer)
		checkDuplicate(t, s.signal(answered, "note", "n", `{"n":1}`), note)
		checkDiffers(t, s.answer(answeredToken, `2`), "hook-payload-conflict", "payload")
		checkDiffers(t, s.signal(answered, "note", "n", `{"n":2}`), "signal-conflict", "payload")
		checkProblem(t, s.call("POST", "/v1/runs/"+answered+"/hooks/h/dispose", ``), 409, "hook-already-resumed")
	}
}

func TestC72_messages_to_a_continued_run(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.open("r", doorInput{Hook: "ask"})
	note := s.signal("r", "note", "n", `{"n":1}`)
	checkAccepted(t, note)
	checkAccepted(t, s.signal("r", "end", "e", `"again"`))
	await(t, "the next generation began", func() bool {
		return fmt.Sprint(s.call("GET", "/v1/runs/r", "").field("generation")) == "2"
	})
	checkDuplicate(t, s.signal("r", "note", "n", `{"n":1}`), note)
	answer := s.answer(token, `1`)
	checkAccepted(t, answer)
	checkDuplicate(t, s.answer(token, `1`), answer)
}

func TestC72_cancelling_again(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("cancelled", doorInput{})
	s.start("completed", doorInput{})
	first := s.call("POST", "/v1/runs/cancelled/cancel", `{}`)
	checkAccepted(t, first)
	for _, verb := range []string{"cancel", "terminate"} {
		again := s.call("POST", "/v1/runs/cancelled/"+verb, `{}`)
		if again.status != 202 || again.text("verdict") != "duplicate" || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: got %d %s", verb, again.status, again.raw)
		}
		if again.text("receipt/received_at") != first.text("receipt/received_at") {
			t.Errorf("%s: another receipt: %s", verb, again.raw)
		}
	}
	s.ends("completed", "complete", engine.StatusCompleted)
	checkProblem(t, s.call("POST", "/v1/runs/completed/cancel", `{}`), 410, "run-ended")
	checkProblem(t, s.call("POST", "/v1/runs/nobody/cancel", `{}`), 404, "not-found")
}

// X16: an empty or broken name is the caller's mistake, not a fault of ours.
func TestX16_signal_names(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	checkProblem(t, s.call("POST", "/v1/runs/r/signals/", `1`), 404, "not-found")
	checkProblem(t, s.call("POST", "/v1/runs/r/signals/%20", `1`), 400, "invalid-argument")
	checkProblem(t, s.call("POST", "/v1/runs/r/signals/undeclared", `1`), 422, "signal-not-declared")
}

func TestX17_nobody_to_answer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	checkProblem(t, s.answer(junkToken, `1`), 404, "not-found")
	checkProblem(t, s.call("POST", "/v1/runs/nobody/hooks/h/resume", `1`), 404, "not-found")
	token := s.open("r", doorInput{Hook: "ask"})
	s.ends("r", "fail", engine.StatusFailed)
	checkClosed(t, s.answer(token, `1`), "run_ended")
}
