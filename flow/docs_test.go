package flow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// TestDocs: every piece of Go in docs/flow.md stands in example_test.go, which compiles and is run below.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/flow.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("%d pieces of Go found", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(string(code), block) {
			t.Errorf("not in example_test.go:\n%s", block)
		}
	}
}

func TestExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	day, hour := func(run *enginetest.Run) { run.Advance(24 * time.Hour) }, func(run *enginetest.Run) { run.Advance(time.Hour) }
	send := func(name string, payload any) func(run *enginetest.Run) {
		return func(run *enginetest.Run) { run.Signal(name, payload) }
	}
	yes := func(run *enginetest.Run) { run.Resume("approval", Vote{true}) }
	done := func(step spec.StepID, id string) func(run *enginetest.Run) {
		return func(run *enginetest.Run) { run.CompleteStep(step, Booking{id}) }
	}
	full := func(step spec.StepID) func(run *enginetest.Run) {
		return func(run *enginetest.Run) { run.FailStep(step, "", "full") }
	}
	type steps = []func(run *enginetest.Run)
	for want, tc := range map[string]struct {
		fn    engine.Workflow
		steps steps
	}{
		`completed "c1"`:                      {flow.Func(Checkout), steps{send("payment.captured", Capture{"c1"})}},
		"failed order 7 was not paid in time": {flow.Func(Checkout), steps{hour}},
		`completed "approved true on day 3"`:  {flow.Func(Remind), steps{day, day, yes}},
		`completed "nobody answered"`:         {flow.Func(Remind), steps{day, day, day}},
		`completed ["apple","pear"]`:          {flow.Func(Cart), steps{send("item.added", "apple"), send("item.added", "pear"), send("checked.out", nil)}},
		"failed the cart was abandoned":       {flow.Func(Cart), steps{send("item.added", "apple"), day}},
		`completed "f1 and h1"`:               {flow.Func(Trip), steps{done("book-flight", "f1"), done("book-hotel", "h1")}},
		`failed step "book-hotel" failed (exhausted): full`: {flow.Func(Trip), steps{
			done("book-flight", "f1"), full("book-hotel"), done("cancel-flight", "f1"),
		}},
		`failed step "book-flight" failed (exhausted): full`: {flow.Func(Trip), steps{full("book-flight")}},
		"cancelled ": {flow.Func(Trip), steps{
			done("book-flight", "f1"), (*enginetest.Run).Cancel, done("book-hotel", "h1"), done("cancel-hotel", "h1"), done("cancel-flight", "f1"),
		}},
	} {
		s := spec.WorkflowSpec{Name: "docs", Version: "1", CooperativeCancel: true}
		for _, name := range []string{"payment.captured", "item.added", "checked.out"} {
			s.Signals = append(s.Signals, spec.Signal{Name: name})
		}
		run := enginetest.New(t, s, tc.fn)
		run.Start(Order{"7"})
		for _, step := range tc.steps {
			step(run)
		}
		end := run.Snapshot()
		if got := string(end.Status) + " " + string(end.Output) + end.Error; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCounterLivesOverGenerations(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, spec.WorkflowSpec{Name: "counter", Version: "1", Signals: []spec.Signal{{Name: "add"}}}, flow.Func(Counter))
	run.Start(0)
	run.Hold()
	for range 2500 {
		run.Signal("add", 1)
	}
	run.Release()
	if s := run.Snapshot(); s.Generation != 3 || string(s.Input) != "2000" || s.Waiting[0].ID != "add-500" {
		t.Errorf("generation %d with input %s waits for %v", s.Generation, s.Input, s.Waiting)
	}
}
