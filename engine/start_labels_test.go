package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A caller goes on using what it handed in and what it was given, and no other caller notices.
func TestStartKeepsItsOwnLabels(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "once", Version: "1", Signals: []spec.Signal{{Name: "item"}}},
		func(c *engine.Context) (engine.Decision, error) {
			if _, ok, err := engine.SignalPayload[int](c, "item"); err != nil || !ok {
				return c.WaitForSignal("item", "item"), err
			}
			return c.Complete("done"), nil
		},
	}
	r := idle(t, testConfig(t, pgtest.New(t)), w).run()
	labels := spec.Labels{"customer": "one"}
	if _, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "once", RunID: "a", Labels: labels, Input: []byte(`"in"`)}); err != nil {
		t.Fatal(err)
	}
	labels["customer"] = "two"
	r.waiting("a", "item")
	ends := make(chan engine.Snapshot, 2)
	for range 2 {
		go func() {
			end, err := r.Wait(r.ctx(), "a")
			if err != nil {
				t.Error(err)
			}
			ends <- end
		}()
	}
	r.until("a", "waiting for twice", func(engine.Snapshot) bool { return r.Stats().Waiters == 2 })
	r.mustSend("a", "s", "item", 1)
	first := <-ends
	first.Labels["customer"] = "three"
	first.Input[0], first.Output[0] = 'x', 'x'
	second := <-ends
	want, err := r.Snapshot(r.ctx(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, second); diff != "" || want.Labels["customer"] != "one" {
		t.Error(diff, want.Labels)
	}
}
