package app_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// sourcesOf is a file of one source of approvals, whose events are signed with secretText.
func sourcesOf(t *testing.T, more string) string {
	t.Helper()
	return secretsFile(t, `{"sources":{"shop":{"verify":"github","secrets":[{"id":"first","secret":"`+secretText+`"}],
		"run":"/run","id":"/id","signal":"/type","payload":"/data"`+more+`}}}`, 0o600)
}

func TestRefusedIngressSettings(t *testing.T) {
	t.Parallel()
	const file = "FLOWGATE_INGRESS_FILE"
	for name, tt := range map[string]struct{ setting, value, says string }{
		"a file that is not there": {file, filepath.Join(t.TempDir(), "none"), "cannot be read"},
		"a file that others read":  {file, secretsFile(t, `{"sources":{}}`, 0o644), "chmod 600"},
		"a file that is no JSON":   {file, secretsFile(t, `{"sources":`+secretText, 0o600), "JSON"},
		"a source without secrets": {file, secretsFile(t, `{"sources":{"a":{"verify":"stripe","run":"r","signal":"s"}}}`, 0o600), "/sources/a/secrets must be 1 to 3"},
		"a secret of a number":     {file, secretsFile(t, `{"sources":{"a":{"verify":"stripe","secrets":[{"id":"a","secret":["`+secretText+`"]}]}}}`, 0o600), "/sources/a/secrets/0/secret must be a text"},
		"an unknown member":        {file, secretsFile(t, `{"sources":{"a":{"verfy":"`+secretText+`"}}}`, 0o600), "/sources/a/verfy is not known here"},
		"no room":                  {"FLOWGATE_INBOX_MESSAGES", "0", "1 to 1000000"},
		"kept for no time":         {"FLOWGATE_INBOX_KEEP", "1m", "1h"},
	} {
		for _, args := range [][]string{{"serve"}, {"dev", "--data-dir", t.TempDir()}} {
			env := nowhere()
			env[tt.setting] = tt.value
			_, stderr, err := runWith(t, env, args...)
			refused, ok := errors.AsType[*app.SettingError](err)
			if !ok || refused.Setting != tt.setting || !strings.Contains(refused.Rule, tt.says) {
				t.Errorf("%s, %s: %v, want %s and …%s…", name, args[0], err, tt.setting, tt.says)
			}
			if err != nil && strings.Contains(stderr+err.Error(), "hunter2") {
				t.Errorf("%s: a secret was repeated: %v", name, err)
			}
		}
	}
}

func signed(body string) string {
	m := hmac.New(sha256.New, []byte(secretText))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// captured is a file with a signed request.
func captured(t *testing.T, body string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "request.http")
	text := fmt.Sprintf("POST /ingress/shop HTTP/1.1\nHost: h\nX-Hub-Signature-256: %s\n%s\n%s", signed(body), strings.Join(lines, ""), body)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tables counts rows of whatever the command could change.
func tables(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), `select (select count(*) from inbox) * 1000000 + (select count(*) from events)`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A process of a deployment takes signed webhooks in, holds early ones over a restart, and delivers them; the command says
// beforehand what would become of each, and changes nothing.
func TestIngressOfADeployment(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	env := deployment(url)
	env["FLOWGATE_INGRESS_FILE"] = sourcesOf(t, `,"hold":"1h"`)
	post := func(gate *program, body string) reply {
		t.Helper()
		req, err := http.NewRequest("POST", gate.url+"/ingress/shop", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Hub-Signature-256", signed(body))
		r, err := do(&http.Client{Timeout: patience}, req)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	foresees := func(body, want string, code int) {
		t.Helper()
		before := tables(t, url)
		stdout, _, err := runWith(t, env, "ingress", "test", "shop", captured(t, body))
		text := stdout
		if err != nil {
			text += err.Error()
		}
		if app.ExitCode(err) != code || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, %s, want %d and …%s…", body, app.ExitCode(err), text, code, want)
		}
		if tables(t, url) != before {
			t.Error("the command changed something")
		}
	}
	const early = `{"id":"e1","run":"trip-1","type":"invoice.approved","data":{"status":"approved","reviewer":"ada"}}`
	foresees(early, "held for up to 1h0m0s, until its run is there", 0)
	gate := launch(t, env, "serve", "--open-api", "--examples")
	if r := post(gate, early); r.status != 202 || r.text("outcome") != "held" {
		t.Fatalf("got %+v", r)
	}
	foresees(early, "outcome    duplicate", 0)
	foresees(strings.Replace(early, "ada", "bob", 1), "differs in payload", 6)
	gate.kill()
	gate = launch(t, env, "serve", "--open-api", "--examples")
	call(t, http.StatusCreated, "POST", gate.url+"/v1/runs", `{"workflow":"billing.invoice-approval","run_id":"trip-1","input":{"invoice":"i","amount":1}}`)
	if r := call(t, http.StatusOK, "GET", gate.url+"/v1/runs/trip-1?wait=20s", ""); r.text("status") != "completed" {
		t.Errorf("got %+v", r)
	}
	foresees(early, "outcome    duplicate", 0)
	foresees(strings.Replace(early, `"e1"`, `"e2"`, 1), "outcome    ignored, run-ended", 0)
	if r := post(gate, early); r.status != 202 || r.text("outcome") != "duplicate" {
		t.Errorf("got %+v", r)
	}
	gate.stop(t)
	if strings.Contains(gate.logged(), "hunter2") || !strings.Contains(gate.logged(), `"sources":["shop"]`) {
		t.Errorf("the log has a secret, or no sources: %s", gate.logged())
	}
}

// The command without a database, on what is wrong with a request.
func TestIngressTest(t *testing.T) {
	t.Parallel()
	good := `{"id":"e1","run":"r","type":"paid","data":1}`
	file := sourcesOf(t, `,"when":{"/type":"paid"}`)
	stale := filepath.Join("..", "ingress", "testdata", "stripe", "good.http")
	recordedFile, err := os.ReadFile("../ingress/testdata/sources.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded := secretsFile(t, string(recordedFile), 0o600)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct {
		file string
		args []string
		code int
		says string
	}{
		"good":             {file, []string{"shop", captured(t, good)}, 0, `signal "paid" of run "r" in namespace "default"`},
		"its secret":       {file, []string{"shop", captured(t, good)}, 0, `valid, by secret "first"`},
		"its identity":     {file, []string{"shop", captured(t, good)}, 0, `"shop:e1"`},
		"no database":      {file, []string{"shop", captured(t, good)}, 0, "without FLOWGATE_DATABASE_URL"},
		"not wanted":       {file, []string{"shop", captured(t, strings.Replace(good, "paid", "sent", 1))}, 0, "ignored, unwanted"},
		"not mapped":       {file, []string{"shop", captured(t, `{"type":"paid"}`)}, 0, "/id is not there"},
		"no JSON":          {file, []string{"shop", captured(t, `{`)}, 2, "not valid JSON"},
		"another source":   {file, []string{"nobody", captured(t, good)}, 3, "no such source"},
		"another type":     {file, []string{"shop", captured(t, good, "Content-Type: text/plain\n")}, 2, "media type"},
		"flipped":          {file, []string{"shop", write(fmt.Sprintf("POST / HTTP/1.1\nX-Hub-Signature-256: %s\n\n{}", signed("[]")))}, 4, "mismatch"},
		"unsigned":         {file, []string{"shop", write("POST / HTTP/1.1\nHost: h\n\n{}")}, 4, "absent"},
		"no request":       {file, []string{"shop", write("{}\n\n")}, 2, "request line"},
		"no empty line":    {file, []string{"shop", write("POST / HTTP/1.1\nHost: h")}, 2, "no empty line"},
		"chunked":          {file, []string{"shop", captured(t, good, "Transfer-Encoding: chunked\n")}, 2, "chunked"},
		"short":            {file, []string{"shop", captured(t, good, "Content-Length: 1000\n")}, 2, "shorter"},
		"long":             {file, []string{"shop", captured(t, good, "Content-Length: 2\n")}, 2, "longer"},
		"no file":          {file, []string{"shop", filepath.Join(t.TempDir(), "none")}, 2, "cannot be read"},
		"no time":          {file, []string{"shop", captured(t, good), "--at=yesterday"}, 2, "2026-01-31T12:00:00Z"},
		"no sources":       {"", []string{"shop", captured(t, good)}, 2, "FLOWGATE_INGRESS_FILE"},
		"stale":            {recorded, []string{"stripe", stale, "--at=2026-06-01T00:00:00Z"}, 4, "say with --at when"},
		"when it was sent": {recorded, []string{"stripe", stale, "--at=2026-01-15T12:05:00Z"}, 0, `"stripe:evt_1"`},
		"before it was":    {recorded, []string{"stripe", stale, "--at=2026-01-15T11:54:59Z"}, 4, "future"},
		"a hook":           {recorded, []string{"pagerduty", "../ingress/testdata/pagerduty/good.http", "--at=2026-01-15T12:00:00Z"}, 0, `hook "approval" of run "order-1"`},
	} {
		stdout, stderr, err := runWith(t, map[string]string{"FLOWGATE_INGRESS_FILE": tt.file}, append([]string{"ingress", "test"}, tt.args...)...)
		text := stdout + stderr
		if err != nil {
			text += err.Error()
		}
		if app.ExitCode(err) != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("%s: exit code %d, %s, want %d and …%s…", name, app.ExitCode(err), text, tt.code, tt.says)
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s: a secret is shown", name)
		}
	}
}
