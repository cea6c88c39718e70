package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
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

// host runs a command of a program with registrations in this process until the test ends. It returns what the process
// logs, and the address it serves at.
func host(t *testing.T, env map[string]string, args []string, registrations ...app.Registration) (*lockedBuffer, string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	log, ended := &lockedBuffer{}, make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, args, func(n string) string { return env[n] }, &lockedBuffer{}, log, registrations...)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	})
	eventually(t, args[0]+" is ready", func() bool {
		_, admin, found := strings.Cut(log.String(), `"admin_listen":"`)
		admin, _, _ = strings.Cut(admin, `"`)
		return found && ready("http://"+admin)()
	})
	_, listen, _ := strings.Cut(log.String(), `"listen":"`)
	listen, _, _ = strings.Cut(listen, `"`)
	return log, "http://" + listen
}

// A worker that has no workflow does steps for one whose process has no steps.
func TestWorkerDoesTheStepsOfOthers(t *testing.T) {
	t.Parallel()
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_STEP_QUEUES"] = "greetings=1"
	log, _ := host(t, env, []string{"worker"}, app.Registration{Steps: []app.Step{
		{Name: "greet", Do: greet, Settings: []engine.StepSetting{engine.InQueue("greetings")}},
	}})
	if !strings.Contains(log.String(), `"workflows":0,"steps":1,`) {
		t.Errorf("the worker logs %s", log)
	}
	_, gate := host(t, env, []string{"serve", "--open-api"}, app.Registration{Spec: oneStepSpec, Workflow: oneStep})
	call(t, http.StatusCreated, "POST", gate+"/v1/runs", `{"workflow":"one.step","run_id":"ada","input":"greet"}`)
	if r := call(t, http.StatusOK, "GET", gate+"/v1/runs/ada?wait=20s", ""); r.text("output") != "hello ada" {
		t.Errorf("the run came to %v", r.body)
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
			_, gate := host(t, env, []string{"serve", "--open-api"}, tt.registration)
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
