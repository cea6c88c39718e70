package httppost_test

import (
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// askInSlack opens a hook, tells a channel about it, and waits for the answer. A message that cannot be sent fails the run:
// nobody would answer.
func askInSlack(ctx *engine.Context) (engine.Decision, error) {
	type decision struct {
		Approved bool `json:"approved"`
	}
	answer, answered, err := engine.HookPayload[decision](ctx, "approval")
	if err != nil {
		return engine.Decision{}, err
	}
	if answered {
		return ctx.Complete(answer), nil
	}
	if failure, failed := ctx.StepFailed("notify"); failed {
		return ctx.Fail(failure), nil
	}
	retry := spec.ExponentialRetry(8, 5*time.Second, 10*time.Minute)
	return ctx.Await(
		ctx.CreateHook("approval", engine.ExpiresIn(72*time.Hour)),
		ctx.RunStep("notify", httppost.Name, toSlack("A trip to Lisbon"), retry),
	), nil
}

var _ engine.Workflow = askInSlack
