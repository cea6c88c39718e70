package workflows_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/examples/workflows"
	"github.com/flowgate-go/flowgate/spec"
)

type object = map[string]any

func result(t *testing.T, run *enginetest.Run, want string) {
	t.Helper()
	if got := string(run.Result()); got != want {
		t.Errorf("output %s, want %s\nstatus %s", got, want, run.Status())
	}
}

func TestInvoiceApproval(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, workflows.InvoiceSpec, workflows.InvoiceApproval)
	run.Start(nil)
	var schema *engine.SchemaError
	if _, err := run.TrySignal("s", workflows.InvoiceApproved, object{"by": "ada"}); !errors.As(err, &schema) {
		t.Errorf("a payload without reviewer: %v", err)
	}
	run.Signal(workflows.InvoiceApproved, object{"reviewer": "ada"})
	result(t, run, `{"status":"approved","reviewer":"ada"}`)
}

func TestApprovalHook(t *testing.T) {
	t.Parallel()
	for want, settle := range map[string]func(run *enginetest.Run){
		`{"status":"approved","reviewer":"ada"}`: func(run *enginetest.Run) {
			run.Resume("approval", object{"approved": true, "reviewer": "ada"})
		},
		`{"status":"rejected"}`:  func(run *enginetest.Run) { run.Resume("approval", object{"approved": false}) },
		`{"status":"withdrawn"}`: func(run *enginetest.Run) { run.Dispose("approval") },
		`{"status":"expired"}`:   func(run *enginetest.Run) { run.Advance(90 * time.Second) },
	} {
		run := enginetest.New(t, workflows.ApprovalSpec, workflows.ApprovalHook)
		run.Start(object{"subject": "Invoice 7", "expires_in": "90s", "labels": object{"team": "finance"}})
		h := run.Hook("approval")
		if h.Subject != "Invoice 7" || h.Kind != spec.KindApproval || h.Labels["team"] != "finance" || h.ExpiresAt == nil || h.Route == nil {
			t.Errorf("hook %+v", h)
		}
		settle(run)
		result(t, run, want)
	}
}

func TestApprovalHook_refuses_a_bad_input(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]object{
		"no subject":   {},
		"bad duration": {"subject": "x", "expires_in": "soon"},
		"bad label":    {"subject": "x", "labels": object{"team": 1}},
	} {
		run := enginetest.New(t, workflows.ApprovalSpec, workflows.ApprovalHook)
		var schema *engine.SchemaError
		if err := run.TryStart(in); !errors.As(err, &schema) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	for _, in := range []object{{"count": 5}, {"count": 5, "continue_every": 2}, {"count": 5, "continue_every": 1}} {
		run := enginetest.New(t, workflows.CollectSpec, workflows.Collect)
		run.Start(in)
		for i := range 5 {
			run.SignalAs(spec.SignalID(fmt.Sprint("s", i)), "item", object{"n": i})
		}
		result(t, run, `{"items":[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4}]}`)
	}
	empty := enginetest.New(t, workflows.CollectSpec, workflows.Collect)
	empty.Start(object{"count": 0})
	result(t, empty, `{"items":[]}`)
}

func TestRace(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, workflows.RaceSpec, workflows.Race)
	run.Start(object{"rounds": 4, "timeout": "1s"})
	run.Advance(time.Second)
	run.Signal("go", 1)
	run.Advance(time.Second)
	run.Signal("go", object{"fast": true})
	result(t, run, `{"results":["timeout",1,"timeout",{"fast":true}]}`)
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	yes, no := object{"approved": true}, object{"approved": false}
	for name, tc := range map[string]struct {
		votes []any // name, vote, name, vote …; nil withdraws
		want  string
	}{
		"enough":     {[]any{"c", yes, "a", yes}, `{"status":"approved","approved_by":["a","c"]}`},
		"impossible": {[]any{"b", yes, "a", no, "c", no}, `{"status":"rejected","approved_by":["b"]}`},
		"withdrawn":  {[]any{"a", nil, "b", nil}, `{"status":"rejected","approved_by":[]}`},
		"nobody":     {nil, `{"status":"rejected","approved_by":[]}`},
	} {
		play := func(s spec.WorkflowSpec, fn engine.Workflow) []string {
			run := enginetest.New(t, s, fn)
			run.Start(object{"needed": 2, "approvers": []string{"a", "b", "c"}, "expires_in": "1m"})
			for i := 0; i < len(tc.votes); i += 2 {
				id := spec.HookID("approver-" + tc.votes[i].(string))
				if tc.votes[i+1] == nil {
					run.Dispose(id)
					continue
				}
				run.Resume(id, tc.votes[i+1])
			}
			run.Advance(time.Minute)
			if got := string(run.Result()); got != tc.want {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
			return run.Events()[1:] // the first names the spec
		}
		decisions, straight := play(workflows.QuorumSpec, workflows.Quorum), play(workflows.StraightQuorumSpec, workflows.StraightQuorum)
		if diff := cmp.Diff(decisions, straight); diff != "" {
			t.Errorf("%s: the histories differ: %s", name, diff)
		}
	}
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, workflows.CheckoutSpec, workflows.Checkout)
	run.Start(object{"order_id": "7"})
	run.Signal(workflows.PaymentCaptured, object{"capture_id": "c1"})
	result(t, run, `{"status":"captured","capture_id":"c1"}`)
	late := enginetest.New(t, workflows.CheckoutSpec, workflows.Checkout)
	late.Start(object{"order_id": "7"})
	late.Advance(time.Hour)
	result(t, late, `{"status":"timed_out"}`)
}

func TestEach_visits_valid_specs(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	workflows.Each(func(s spec.WorkflowSpec, fn engine.Workflow) {
		if err := s.Validate(); err != nil || fn == nil || names[s.Name] {
			t.Errorf("%s: %v", s.Name, err)
		}
		names[s.Name] = true
	})
	if len(names) != 7 {
		t.Errorf("%d workflows", len(names))
	}
}
