package app_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

var postsSpec = spec.WorkflowSpec{Name: "leak.posts", Version: "1", Input: json.RawMessage(`{"type":"object"}`)}

// posts asks for an answer to its hook by a post of its input, and ends with what came of the post.
func posts(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[json.RawMessage](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	out, done, err := engine.StepOutput[json.RawMessage](ctx, "post")
	if done || err != nil {
		return ctx.Complete(out), err
	}
	return ctx.Await(ctx.CreateHook("answer"), ctx.RunStep("post", httppost.Name, in, spec.FixedRetry(2, 0))), nil
}

// echo is an endpoint that repeats all that it is sent, in each of its answers.
type echo struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // requests, whole
}

func newEcho() *echo {
	e := &echo{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		said, err := json.Marshal(map[string]any{"path": r.URL.Path, "header": r.Header, "body": json.RawMessage(body), "text": string(body)})
		if err != nil {
			return
		}
		e.mu.Lock()
		e.seen = append(e.seen, string(said))
		e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Echo", r.URL.Path+" "+r.Header.Get("Authorization"))
		if strings.HasPrefix(r.URL.Path, "/fail") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(said)
	}))
	return e
}

func (e *echo) requests() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.seen, "\n")
}

// configurePosts has the processes post to an endpoint of the test, with secrets that are searched for.
func (v *vault) configurePosts() {
	v.t.Helper()
	v.echo = newEcho()
	v.t.Cleanup(v.echo.Close)
	at, err := url.Parse(v.echo.URL)
	if err != nil {
		v.t.Fatal(err)
	}
	path, failing, credential, signing := mark(base62, 24), mark(base62, 24), mark(base62, 32), mark(base62, 32)
	v.sent = []string{path, failing, credential}
	encoded := base64.StdEncoding.EncodeToString([]byte(signing))
	for _, secret := range []string{path, failing, credential, signing, encoded} {
		v.search.add(bearer, secret)
	}
	file := filepath.Join(v.t.TempDir(), "secrets.json")
	text := fmt.Sprintf(`{"endpoints":{"ok":{"url":"%s/%s","auth":"cred","sign_with":"sig"},"fail":{"url":"%s/fail/%s","auth":"cred"},
		"gone":{"url":"http://127.0.0.1:1/%s"}},"credentials":{"cred":{"hosts":["127.0.0.1"],"value":"Bearer %s"}},
		"signing":{"sig":{"hosts":["127.0.0.1"],"secrets":["whsec_%s"]}}}`, at, path, at, failing, path, credential, encoded)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	v.env["FLOWGATE_HTTP_POST_SECRETS_FILE"] = file
	v.env["FLOWGATE_HTTP_POST_ALLOW_HTTP"] = "true"
	v.env["FLOWGATE_HTTP_POST_PORTS"] = "1,443," + at.Port()
	v.env["FLOWGATE_HTTP_POST_INTERNAL_NETWORKS"] = "127.0.0.0/8"
}

// post has http.post send what it knows in every way that ends a step, and reads what the runs say about it.
func (v *vault) post() {
	v.t.Helper()
	const asking = `"body":{"ask":"see {hook:answer}"},"links":["answer"],"capture_headers":["X-Echo"]`
	for i, tt := range []struct{ input, status, says string }{
		{`{"to":"ok",` + asking + `}`, "completed", "[redacted]"},
		{`{"to":"fail",` + asking + `}`, "failed", "http_5xx"},
		{`{"to":"gone",` + asking + `}`, "failed", "network"},
		{`{"to":"none",` + asking + `}`, "failed", "not_configured"},
		{`{"url":"https://169.254.169.254/",` + asking + `}`, "failed", "target"},
		{`{"url":"https://example.com/","auth":"cred","timeout":"100ms",` + asking + `}`, "failed", "target"},
		{`{"to":"ok","links":["nobody"],"body":"{hook:nobody}"}`, "failed", "link"},
		{`{"to":"ok","body":1,"sign_with":7}`, "failed", "input"},
	} {
		run := fmt.Sprintf("run-post-%d-%s", i, mark(base62, 16))
		v.search.add(control, run)
		v.start(fmt.Sprintf(`{"workflow":"leak.posts","run_id":%q,"input":%s}`, run, tt.input))
		r := call(v.t, http.StatusOK, "GET", v.api("/v1/runs/"+run+"?wait=20s"), "")
		text, err := json.Marshal(r.body)
		if err != nil {
			v.t.Fatal(err)
		}
		v.readRun(run)
		letters := call(v.t, http.StatusOK, "GET", v.api("/v1/runs/"+run+"/history"), "")
		events, err := json.Marshal(letters.body)
		if err != nil {
			v.t.Fatal(err)
		}
		if all := string(text) + string(events); r.text("status") != tt.status || !strings.Contains(all, tt.says) {
			v.t.Errorf("post %d: status %s, want %s with %s: %.300s", i, r.text("status"), tt.status, tt.says, text)
		}
	}
	got := v.echo.requests()
	for i, secret := range v.sent {
		if !strings.Contains(got, secret) {
			v.t.Errorf("secret %d of http.post was not sent", i)
		}
	}
	_, rest, linked := strings.Cut(got, "/callbacks/flow/hooks/fhk_")
	if !linked || !strings.Contains(got, "Webhook-Signature") {
		v.t.Fatal("http.post sent no link, or no signature")
	}
	for ; linked; _, rest, linked = strings.Cut(rest, "/callbacks/flow/hooks/fhk_") {
		v.search.add(bearer, rest[:49])
	}
}
