package enginetest_test

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

// What a step, a child and a call come to is said by the test; what is closed takes no outcome.
func TestTasks(t *testing.T) {
	t.Parallel()
	r := enginetest.New(t, spec.WorkflowSpec{Name: "tasks", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		step, _ := c.StepFailed("bad")
		out, ok, err := engine.StepOutput[int](c, "good")
		child, ok2, err2 := engine.ChildOutput[string](c, "child")
		if step != nil && ok && ok2 && c.CallDelivered("call") {
			return c.Complete([]any{step.Code, out, child}), errors.Join(err, err2)
		}
		return c.Await(
			c.RunStep("bad", "b", 1, spec.NoRetry()), c.RunStep("good", "g", 2, spec.NoRetry()),
			c.StartChild("child", "w", "other", nil), c.SignalRun("call", "other", engine.OutgoingSignal{Name: "s"}),
		), nil
	})
	r.Start(nil)
	if name, input := r.StepInput("good"); name != "g" || string(input) != "2" {
		t.Errorf("step %q has the input %s", name, input)
	}
	r.DeliverCall("call")
	r.CompleteChild("child", "grown")
	r.FailStep("bad", "broken", "no luck")
	r.CompleteStep("good", 4)
	if got := string(r.Snapshot().Output); got != `["broken",4,"grown"]` {
		t.Errorf("completed with %s", got)
	}
}
