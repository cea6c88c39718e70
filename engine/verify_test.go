package engine_test

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// An engine verifies what all processes have stored, with its own code or without, and without being at work.
func TestVerify(t *testing.T) {
	t.Parallel()
	approvals := workflow{
		spec: spec.WorkflowSpec{Name: "approvals", Version: "1", Signals: []spec.Signal{{Name: "approved"}}},
		fn: func(ctx *engine.Context) (engine.Decision, error) {
			answer, ok, err := engine.SignalPayload[string](ctx, "w")
			if err != nil || ok {
				return ctx.Complete(answer), err
			}
			return ctx.Await(ctx.CreateHook("h"), ctx.WaitForSignal("w", "approved")), nil
		},
	}
	r := newRig(t, approvals)
	r.start(approvals, "done", nil)
	r.start(approvals, "waiting", nil)
	r.mustSend("done", "s1", "approved", "yes")
	r.completed("done")
	other := idle(t, testConfig(t, r.pool))
	verify := func(q engine.VerifyQuery) (all engine.Verified, last error) {
		for page, err := range other.Verify(r.ctx(), q) {
			all.Runs += page.Runs
			all.Events += page.Events
			all.Found = append(all.Found, page.Found...)
			last = err
		}
		return all, last
	}
	if all, err := verify(engine.VerifyQuery{}); err != nil || all.Runs != 2 || all.Events < 8 || len(all.Found) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := r.pool.Exec(r.ctx(), `update signals set consumed_by = null, consumed_generation = null`); err != nil {
		t.Fatal(err)
	}
	all, err := verify(engine.VerifyQuery{Namespace: spec.DefaultNamespace, Run: "done"})
	if err != nil || len(all.Found) != 2 || all.Found[0].Field != "consumed_by" || all.Found[0].ID != "s1" || all.Found[0].Run.RunID != "done" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := verify(engine.VerifyQuery{Namespace: "other", Run: "done"}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("%v, want no such run", err)
	}
}
