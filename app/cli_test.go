package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
)

// A run from its start to its end, for people.
func TestCommandsForPeople(t *testing.T) {
	t.Parallel()
	c := newTerminal(t)
	c.run("no runs", "run", "list")
	c.run("test.counter…1…Ends as it is told.", "workflow", "list")
	c.run("workflow…test.counter 1…signal…end…signal…note", "workflow", "interface", "test.counter")
	c.run("run r 1 is started…flowgate run get 'r 1'", "run", "start", "test.counter", "--run", "r 1", "--label", "team=b", "--label", "x=y=z")
	c.run("had been started before", "run", "start", "test.counter", "--run=r 1", "--label=team=b", "--label=x=y=z")
	c.await("hook", "run", "get", "r 1")
	c.run(`r 1…test.counter 1…running…team=b x=y=z…it waits for…hook…ask…signal…end`, "run", "get", "r 1")
	c.run("RUN…WORKFLOW…STATUS…r 1…test.counter 1…running…team=b", "run", "list", "--label=team=b", "--status=running", "--workflow", "test.counter")
	c.run("no runs", "run", "list", "--label", "team=c")
	c.run(`r 1…ask…active…A trip\x1b[2J`, "hook", "list", "--state", "active", "--label", "team=a", "--run", "r 1", "--older-than=0s")
	c.run(`ask…active…A trip\x1b[2J\x1b]0;pwned\x07\u202e\u009b31m\u2028`, "hook", "get", "r 1", "ask")
	if link := strings.TrimSpace(c.run("", "hook", "link", "r 1", "ask")); !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/callbacks/flow/hooks/fhk_\w+$`).MatchString(link) {
		t.Errorf("link %q", link)
	}
	if link := strings.TrimSpace(c.run("", "hook", "link", "r 1", "ask", "--recipient", "ada")); !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/approvals/fha_\w+$`).MatchString(link) {
		t.Errorf("page %q", link)
	}
	c.run("signal n-1 is accepted", "signal", "send", "r 1", "note", "--idempotency-key", "n-1", "-d", `{"text":"\u001b[2J"}`)
	c.run("n-1 had been accepted before", "signal", "send", "r 1", "note", "--idempotency-key=n-1", "--data", `{"text":"\u001b[2J"}`)
	c.run("n-1…note…queued", "signal", "get", "r 1", "n-1")
	c.run("hook ask is answered", "hook", "resume", "r 1", "ask", "-d", "true")
	c.run("answered so before", "hook", "resume", "r 1", "ask", "-d", " true ")
	c.run("run r 1 of test.counter 1 is running…it waits for…signal…end…unread signals…note…1…flowgate signal send 'r 1' end", "run", "explain", "r 1")
	c.run("SEQ…run.started…hook.created…signal.received…hook.resumed", "run", "history", "r 1", "--limit=200")
	c.run("more: --cursor 1.2", "run", "history", "r 1", "--limit", "2")
	c.run("run r 1 is tried again now", "run", "retry", "r 1")
	c.run(`completed…output…"well"`, "signal", "send", "r 1", "end", "-d", `"well"`, "--wait")
	c.run("ended", "run", "get", "r 1", "--wait", "--timeout=20s")

	c.run("is started", "run", "start", "test.counter", "--run", "r2")
	c.await("ask", "hook", "list", "--run", "r2")
	c.run("hook ask is withdrawn", "hook", "dispose", "r2", "ask")
	c.run("withdrawn before", "hook", "dispose", "r2", "ask")
	c.run("run r2 is cancelled", "run", "cancel", "r2", "--reason", "no more")
	c.run("asked for before", "run", "terminate", "r2")
	c.run("more: --cursor…", "run", "list", "--limit", "1")
	c.run("no dead letters", "deadletter", "list", "--kind", "message")
	c.run("", "audit", "list", "--run", "r 1", "--since", "2020-01-01T00:00:00Z", "--kind", "signal")
}

func TestCommandsOnDeadLetters(t *testing.T) {
	t.Parallel()
	c := newTerminal(t)
	c.run("is started", "run", "start", "test.counter", "--run", "r", "-d", `{"step":true}`)
	c.await("held", "deadletter", "list")
	out := c.run("LETTER…RUN…r…step work…held", "deadletter", "list", "--state=held", "--name=work")
	id := strings.Fields(strings.Split(out, "\n")[1])[0]
	c.run("it waits for…step…s…work…held…dead letters…"+id+"…flowgate deadletter replay "+id, "run", "explain", "r")
	c.run(`work…held…says…down [2J ]0;pwned \u202e`, "deadletter", "get", id)
	c.run("is tried again", "deadletter", "replay", id)
	eventually(t, "another letter", func() bool {
		out, err := c.try("deadletter", "list", "--state", "held")
		if err != nil || !strings.Contains(out, "step work") {
			return false
		}
		id = strings.Fields(strings.Split(out, "\n")[1])[0]
		return true
	})
	c.run("is put away", "deadletter", "discard", id)
	c.run("decided before", "deadletter", "discard", id)
	c.fails(6, "letter-decided", "deadletter", "replay", id)
	c.fails(3, "not-found", "deadletter", "get", "none")
}

// What programs get is the gateway's answer.
func TestCommandsForPrograms(t *testing.T) {
	t.Parallel()
	c := newTerminal(t)
	if started := c.object("run", "start", "test.counter", "--run", "r"); started["run_id"] != "r" || started["outcome"] != "accepted" {
		t.Errorf("started %v", started)
	}
	c.await(`"hook"`, "run", "get", "r", "--json")
	if hook := c.object("hook", "get", "r", "ask"); hook["subject"] != "A trip"+hostileText || hook["verdict"] != "accepted" {
		t.Errorf("hook %v", hook)
	}
	if sent := c.object("signal", "send", "r", "note", "-d", `"`+"\u202e"+`"`); sent["signal_delivered"] != true {
		t.Errorf("sent %v", sent)
	}
	for _, args := range [][]string{
		{"run", "list"},
		{"run", "history", "r"},
		{"hook", "list"},
		{"hook", "link", "r", "ask"},
		{"workflow", "list"},
		{"workflow", "interface", "test.counter"},
		{"deadletter", "list"},
		{"run", "retry", "r"},
		{"hook", "resume", "r", "ask"},
	} {
		if body := c.object(args...); body["verdict"] != "accepted" {
			t.Errorf("%v: %v", args, body)
		}
	}
	out, err := c.try("hook", "resume", "r", "ask", "-d", "1", "--json")
	if app.ExitCode(err) != 6 || !strings.Contains(out, `"code":"hook-payload-conflict"`) || !strings.Contains(out, `"differs":["payload"]`) {
		t.Errorf("a conflict: %s, %v", out, err)
	}
	c.run("", "signal", "send", "r", "end", "-d", `"fail"`)
	out, err = c.try("run", "get", "r", "--wait", "--json")
	if app.ExitCode(err) != 9 || !strings.Contains(out, `"status":"failed"`) || !strings.Contains(err.Error(), `no luck`) {
		t.Errorf("a failed run: %s, %v", out, err)
	}
}

// Each verdict is an exit code, and so is a bad end of a run that was waited for.
func TestCommandExitCodes(t *testing.T) {
	t.Parallel()
	c := newTerminal(t)
	c.run("", "run", "start", "test.counter", "--run", "r")
	c.run("", "run", "start", "test.counter", "--run", "blocked")
	c.run("", "signal", "send", "r", "note", "--idempotency-key", "n", "-d", "1")
	c.fails(6, "signal-conflict", "signal", "send", "r", "note", "--idempotency-key", "n", "-d", "2")
	c.fails(6, "run-conflict", "run", "start", "test.counter", "--run", "r", "-d", "{}")
	c.fails(3, "not-found", "run", "get", "nobody")
	c.fails(3, "not-found", "run", "start", "nothing")
	c.fails(3, "not-found", "hook", "link", "r", "none")
	c.fails(2, "recipient", "hook", "link", "r", "ask", "--recipient=")
	c.fails(2, "signal-not-declared", "signal", "send", "r", "Note", "-d", "1")
	c.fails(2, "invalid-argument", "run", "list", "--status", "happy")
	c.fails(2, "invalid-argument", "run", "cancel", "r", "--reason", "two\nlines")
	c.fails(5, "has not ended in 300ms: it is running", "run", "get", "r", "--wait", "--timeout", "300ms")
	c.run("", "signal", "send", "blocked", "end", "-d", `"block"`)
	c.await("blocked by the test", "run", "get", "blocked")
	c.run("blocked…flowgate run explain blocked", "run", "get", "blocked")
	c.run("run blocked of test.counter 1 is blocked…blocked by the test…attempts…flowgate run retry blocked", "run", "explain", "blocked")
	c.fails(3, "not-found", "run", "explain", "nobody")
	c.fails(9, `run blocked is cancelled`, "run", "cancel", "blocked", "--wait")
	c.fails(9, `no luck [2J ]0;pwned \u202e\u009b31m`, "signal", "send", "r", "end", "-d", `"fail"`, "--wait")
	c.fails(7, "run-ended", "signal", "send", "r", "note")
	c.env["FLOWGATE_TOKEN"] = "fhe_wrong"
	c.fails(4, "FLOWGATE_TOKEN gives the credential", "run", "get", "r")
	c.fails(4, "invalid_request", "token", "exchange")
}

func TestCommandArguments(t *testing.T) {
	t.Parallel()
	asked := false
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(gateway.Close)
	c := &terminal{t: t, env: map[string]string{"FLOWGATE_URL": gateway.URL}}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(strings.Repeat(" ", 5<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ says, line string }{
		{"--idempotency-key must not be empty", "signal send r s --idempotency-key="},
		{"--run must not be empty", "run start w --run="},
		{"must be JSON", "run start w -d hunter2"},
		{"must be JSON", "hook resume r h -d -"},
		{"no such file", "signal send r s -d @/nowhere"},
		{"more than", "signal send r s -d @" + large},
		{"key=value", "run list --label novalue"},
		{"key=value", "run start w --label a=1 --label a=2"},
		{"--limit", "run list --limit 201"},
		{"--limit", "run history r --limit -1"},
		{"--older-than", "hook list --older-than=-1s"},
		{"--since", "audit list --since yesterday"},
		{"--timeout", "run get r --timeout=-1s"},
		{"run_id", "run get " + strings.Repeat("x", 256)},
		{"FLOWGATE_TOKEN", "token exchange"},
		{"expected", "run get"},
		{"does not take", "run get r hunter2"},
		{"must be one of", "completion tcsh"},
	} {
		c.stdin = "hunter2"
		c.fails(2, tt.says, strings.Fields(tt.line)...)
		if _, err := c.try(strings.Fields(tt.line)...); err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats a value: %v", tt.line, err)
		}
	}
	c.env["FLOWGATE_URL"] = "ftp://u:hunter2@gate"
	if _, err := c.try("run", "get", "r"); app.ExitCode(err) != 2 || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("a bad URL: %v", err)
	}
	if asked {
		t.Error("a gateway was asked")
	}
}

// A payload comes from the line, from a file or from the standard input.
func TestCommandPayloads(t *testing.T) {
	t.Parallel()
	c := newTerminal(t)
	c.run("", "run", "start", "test.counter", "--run", "r")
	file := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(file, []byte("{\"n\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.stdin = `{"n":1.0}`
	c.run("is accepted", "signal", "send", "r", "note", "--idempotency-key", "k", "-d", `{"n":1}`)
	c.run("before", "signal", "send", "r", "note", "--idempotency-key", "k", "-d", "@"+file)
	c.run("before", "signal", "send", "r", "note", "--idempotency-key", "k", "-d", "-")
	c.fails(6, "signal-conflict", "signal", "send", "r", "note", "--idempotency-key", "k")
}

// Nobody there is told in time, and in words.
func TestCommandWithoutGateway(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	c := &terminal{t: t, env: map[string]string{"FLOWGATE_URL": gone.URL}}
	_, err := c.try("run", "list")
	if _, ok := errors.AsType[*app.RefusedError](err); !ok || app.ExitCode(err) != 5 || !strings.Contains(err.Error(), "FLOWGATE_URL does not answer") {
		t.Errorf("error %v", err)
	}
}
