package gateway

import (
	"context"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// afterSteps opens a hook, does three steps, and only then waits for the answer.
func afterSteps(ctx *engine.Context) (engine.Decision, error) {
	for i := range 3 {
		id := engine.ID("s", i)
		if _, done, err := engine.StepOutput[string](ctx, id); err != nil {
			return engine.Decision{}, err
		} else if !done {
			return ctx.Await(ctx.CreateHook("approval"), ctx.RunStep(id, "work", nil, spec.NoRetry())), nil
		}
	}
	answer, answered, err := engine.HookPayload[string](ctx, "approval")
	if answered || err != nil {
		return ctx.Complete(answer), err
	}
	return ctx.WaitForHook("approval"), nil
}

// C70: steps between the making of a link and the wait for its answer do not answer it.
func TestC70_steps_between_a_link_and_its_wait(t *testing.T) {
	t.Parallel()
	eng := bareEngine(t, pgtest.URL(t), nil)
	gate := make(chan struct{})
	for _, err := range []error{
		eng.Register(spec.WorkflowSpec{Name: "test.patient", Version: "1"}, afterSteps),
		eng.RegisterStep("work", func(context.Context, *engine.Step) (any, error) { <-gate; return "done", nil }),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, eng)
	s := serveOn(t, eng, nil)
	s.call("POST", "/v1/runs", `{"workflow":"test.patient","run_id":"r"}`)
	s.call("POST", "/v1/runs", `{"workflow":"test.patient","run_id":"early"}`)
	token := func(run string) (text string) {
		await(t, "the hook is there", func() bool {
			text = s.call("POST", "/v1/runs/"+run+"/hooks/approval/token", "").text("token")
			return text != ""
		})
		return text
	}
	mine, early := token("r"), token("early")
	checkAccepted(t, s.answer(early, `"before the steps"`))
	close(gate)
	await(t, "all steps are done", func() bool {
		waiting, _ := s.call("GET", "/v1/runs/r", "").field("waiting").([]any)
		return len(waiting) == 1 && waiting[0].(map[string]any)["kind"] == "hook"
	})
	if r := s.call("GET", "/v1/runs/r/hooks/approval", ""); r.text("state") != "active" {
		t.Errorf("the hook is %s", r.raw)
	}
	s.awaitStatus("early", engine.StatusCompleted)
	checkAccepted(t, s.answer(mine, `"a person"`))
	s.awaitStatus("r", engine.StatusCompleted)
	if r := s.call("GET", "/v1/runs/r", ""); r.text("output") != "a person" {
		t.Errorf("got %s", r.raw)
	}
}
