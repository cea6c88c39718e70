package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

var oneStepSpec = spec.WorkflowSpec{Name: "one.step", Version: "1"}

// oneStep does the step that its input names, and ends with the output.
func oneStep(ctx *engine.Context) (engine.Decision, error) {
	name, err := engine.Input[string](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	out, done, err := engine.StepOutput[json.RawMessage](ctx, "s")
	if done || err != nil {
		return ctx.Complete(out), err
	}
	return ctx.RunStep("s", name, map[string]string{"url": "http://example.com"}, spec.NoRetry()), nil
}

func greet(_ context.Context, s *engine.Step) (any, error) { return "hello " + string(s.RunID), nil }

// hosted is a command that runs in this process.
type hosted struct {
	log  *lockedBuffer
	url  string
	stop func() // returns when all of it has ended
}

// host runs a command of a program with registrations until it is stopped, by the end of the test at the latest.
func host(t *testing.T, env map[string]string, args []string, registrations ...app.Registration) hosted {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log, ended := &lockedBuffer{}, make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, args, func(n string) string { return env[n] }, &lockedBuffer{}, log, registrations...)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	})
	t.Cleanup(stop)
	eventually(t, args[0]+" is ready", func() bool {
		_, admin, found := strings.Cut(log.String(), `"admin_listen":"`)
		admin, _, _ = strings.Cut(admin, `"`)
		return found && ready("http://"+admin)()
	})
	_, listen, _ := strings.Cut(log.String(), `"listen":"`)
	listen, _, _ = strings.Cut(listen, `"`)
	return hosted{log: log, url: "http://" + listen, stop: stop}
}

// A worker that has no workflow does steps for one whose process has no steps.
func TestWorkerDoesTheStepsOfOthers(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_STEP_QUEUES"] = "greetings=1"
	worker := host(t, env, []string{"worker"}, app.Registration{Steps: []app.Step{
		{Name: "greet", Do: greet, Settings: []engine.StepSetting{engine.InQueue("greetings")}},
	}})
	if !strings.Contains(worker.log.String(), `"workflows":0,"steps":1,`) {
		t.Errorf("the worker logs %s", worker.log)
	}
	gate := host(t, env, []string{"serve", "--open-api"}, app.Registration{Spec: oneStepSpec, Workflow: oneStep}).url
	call(t, http.StatusCreated, "POST", gate+"/v1/runs", `{"workflow":"one.step","run_id":"ada","input":"greet"}`)
	if r := call(t, http.StatusOK, "GET", gate+"/v1/runs/ada?wait=20s", ""); r.text("output") != "hello ada" {
		t.Errorf("the run came to %v", r.body)
	}
}

// A queue of one does one step after the other, however many there are.
func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	const runs = 4
	var begun atomic.Int32
	release := make(chan struct{})
	one := func(ctx context.Context, _ *engine.Step) (any, error) {
		begun.Add(1)
		select {
		case <-release:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_STEP_QUEUES"] = "one=1"
	gate := host(t, env, []string{"serve", "--open-api"}, app.Registration{Spec: oneStepSpec, Workflow: oneStep, Steps: []app.Step{
		{Name: "one", Do: one, Settings: []engine.StepSetting{engine.InQueue("one")}},
	}}).url
	for i := range runs {
		call(t, http.StatusCreated, "POST", gate+"/v1/runs", fmt.Sprintf(`{"workflow":"one.step","run_id":"r%d","input":"one"}`, i))
		eventually(t, "the step is asked for", func() bool {
			r := call(t, http.StatusOK, "GET", fmt.Sprintf("%s/v1/runs/r%d", gate, i), "")
			return len(r.body["waiting"].([]any)) == 1
		})
	}
	for n := range int32(runs) {
		eventually(t, "a step begins", func() bool { return begun.Load() > n })
		if got := begun.Load(); got != n+1 {
			t.Fatalf("%d steps have begun when %d have ended", got, n)
		}
		release <- struct{}{}
	}
}

// http.post is there by itself, a host's own step of that name takes its place, and a process can be told not to post.
func TestWhoDoesHTTPPost(t *testing.T) {
	t.Parallel()
	workflow := app.Registration{Spec: oneStepSpec, Workflow: oneStep}
	own := workflow
	own.Steps = []app.Step{{Name: httppost.Name, Do: greet}}
	for name, tt := range map[string]struct {
		registration app.Registration
		concurrency  string
		status, says string
	}{
		"the built-in step": {workflow, "2", "failed", "invalid body: is missing"},
		"the host's":        {own, "2", "completed", "hello r"},
		"nobody":            {workflow, "0", "running", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := deployment(pgtest.URL(t))
			env["FLOWGATE_HTTP_POST_CONCURRENCY"] = tt.concurrency
			gate := host(t, env, []string{"serve", "--open-api"}, tt.registration).url
			call(t, http.StatusCreated, "POST", gate+"/v1/runs", `{"workflow":"one.step","run_id":"r","input":"http.post"}`)
			wait := "?wait=20s"
			if tt.status == "running" {
				eventually(t, "the step waits", func() bool {
					return len(call(t, http.StatusOK, "GET", gate+"/v1/runs/r", "").body["waiting"].([]any)) == 1
				})
				wait = "?wait=1s"
			}
			r := call(t, http.StatusOK, "GET", gate+"/v1/runs/r"+wait, "")
			if r.text("status") != tt.status || !strings.Contains(r.text("error")+r.text("output"), tt.says) {
				t.Errorf("the run came to %v", r.body)
			}
		})
	}
}

// A process that stops ends its posts and waits for them. They do not count as failed: the next process posts again.
func TestAStopEndsPosts(t *testing.T) {
	t.Parallel()
	begun, cut := make(chan struct{}), make(chan struct{})
	var requests atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // from here on the server sees the caller leave
		close(begun)
		<-r.Context().Done()
		close(cut)
	}))
	t.Cleanup(receiver.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(receiver.URL, "http://"), ":")
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_HTTP_POST_ALLOW_HTTP"], env["FLOWGATE_HTTP_POST_PORTS"] = "true", port
	env["FLOWGATE_HTTP_POST_INTERNAL_NETWORKS"] = "127.0.0.1/32"
	once := app.Registration{Spec: postOnceSpec, Workflow: postOnce}
	first := host(t, env, []string{"serve", "--open-api"}, once)
	call(t, http.StatusCreated, "POST", first.url+"/v1/runs", fmt.Sprintf(`{"workflow":"post.once","run_id":"p","input":%q}`, receiver.URL))
	eventually(t, "the post is under way", func() bool { return isClosed(begun) })
	first.stop()
	eventually(t, "the post is cut off", func() bool { return isClosed(cut) })
	second := host(t, env, []string{"serve", "--open-api"}, once)
	r := call(t, http.StatusOK, "GET", second.url+"/v1/runs/p?wait=20s", "")
	if r.text("status") != "completed" || r.text("output") != "attempt 2" {
		t.Errorf("the run came to %v", r.body)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var postOnceSpec = spec.WorkflowSpec{Name: "post.once", Version: "1"}

// postOnce posts to the URL of its input, with one attempt that may fail, and ends with the number of the one that did not.
func postOnce(ctx *engine.Context) (engine.Decision, error) {
	url, err := engine.Input[string](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	out, done, err := engine.StepOutput[httppost.Output](ctx, "p")
	if done || err != nil {
		return ctx.Complete(fmt.Sprintf("attempt %d", out.Attempt)), err
	}
	return ctx.RunStep("p", httppost.Name, httppost.Input{URL: url, Body: 1}, spec.NoRetry()), nil
}

// A step that a program has twice, and one without function, keep it from starting.
func TestBadStepsAreRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for name, tt := range map[string]struct {
		steps []app.Step
		says  string
	}{
		"twice":       {[]app.Step{{Name: "a", Do: greet}, {Name: "a", Do: greet}}, `"a"`},
		"no function": {[]app.Step{{Name: "a"}}, "needs a function"},
		"no name":     {[]app.Step{{Do: greet}}, "name"},
		"bad queue":   {[]app.Step{{Name: "a", Do: greet, Settings: []engine.StepSetting{engine.InQueue(" ")}}}, "queue"},
	} {
		i, err := app.Start(t.Context(), app.Local{
			DatabaseURL: url, Dir: t.TempDir(), Registrations: []app.Registration{{Steps: tt.steps}},
		})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want …%s…", name, err, tt.says)
		}
		if err == nil {
			_ = i.Close()
		}
	}
}
