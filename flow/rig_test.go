package flow_test

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// testSpec is the contract of the workflows of most tests.
var testSpec = spec.WorkflowSpec{
	Name: "flow.test", Version: "1",
	Signals: []spec.Signal{{Name: "go"}, {Name: "item"}, {Name: "stop"}},
}

// cooperative is testSpec for workflows that clean up when they are cancelled.
var cooperative = func() spec.WorkflowSpec {
	s := testSpec
	s.Name, s.CooperativeCancel = "flow.cooperative", true
	return s
}()

// straight is a function under test, with the types that most have.
type straight = func(w *flow.Workflow, in any) (any, error)

func start(t *testing.T, fn straight, opts ...enginetest.Option) *enginetest.Run {
	t.Helper()
	run := enginetest.New(t, testSpec, flow.Func(fn), opts...)
	run.Start(nil)
	return run
}

// blocked starts a run that is blocked at once, and gives the reason.
func blocked(t *testing.T, fn straight) string {
	t.Helper()
	run := enginetest.New(t, testSpec, flow.Func(fn))
	run.ExpectBlocked()
	run.Start(nil)
	return run.BlockedReason()
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q does not say %q", what, text, part)
		}
	}
}

func output(t *testing.T, run *enginetest.Run, want string) {
	t.Helper()
	if got := string(run.Result()); got != want {
		t.Errorf("output %s, want %s", got, want)
	}
}

func await(w *flow.Workflow, id, name string) error {
	_, err := flow.WaitForSignal[raw](w, id, name)
	return err
}

var _ engine.Workflow = flow.Func[any, any](nil)
