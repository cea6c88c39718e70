package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// leaving goes over into a second generation when it is asked to end, and ends there when it is told to.
var leaving = workflow{
	spec.WorkflowSpec{Name: "leaving", Version: "1", CooperativeCancel: true, Signals: []spec.Signal{{Name: "go"}}},
	func(c *engine.Context) (engine.Decision, error) {
		_, told, err := engine.SignalPayload[any](c, "go")
		switch {
		case err != nil:
			return engine.Decision{}, err
		case c.CancelRequested() && c.Generation() == 1:
			return c.ContinueAsNew(nil), nil
		case told:
			return c.Cancelled(), nil
		}
		return c.WaitForSignal("go", "go"), nil
	},
}

// cancelledAgain wants the receipt of the first request from these ways to ask again.
func (r *rig) cancelledAgain(when string, first engine.Receipt, ways ...func(engine.CancelRequest) (engine.Receipt, error)) {
	r.t.Helper()
	first.Verdict = engine.VerdictDuplicate
	for _, ask := range ways {
		again, err := ask(engine.CancelRequest{RunID: first.Run.RunID, Reason: "again"})
		if err != nil {
			r.t.Errorf("%s: %v", when, err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			r.t.Errorf("%s, another receipt (-first +again):\n%s", when, diff)
		}
	}
}

// A repeated cancel has the receipt of the first, before and after the end, and over continue-as-new.
func TestCancelAgainHasTheFirstReceipt(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet, leaving)
	cancel := func(req engine.CancelRequest) (engine.Receipt, error) { return r.Cancel(r.ctx(), req) }
	terminate := func(req engine.CancelRequest) (engine.Receipt, error) { return r.Terminate(r.ctx(), req) }
	accepted := func(ask func(engine.CancelRequest) (engine.Receipt, error), run spec.RunID) engine.Receipt {
		t.Helper()
		receipt, err := ask(engine.CancelRequest{RunID: run})
		if err != nil || receipt.Verdict != engine.VerdictAccepted || receipt.Sequence == 0 {
			t.Fatalf("%s: %+v, %v", run, receipt, err)
		}
		return receipt
	}
	r.start(greet, "at-once", nil)
	r.cancelledAgain("ended at once", accepted(cancel, "at-once"), cancel, terminate)

	for _, run := range []spec.RunID{"asked", "forced"} {
		r.start(leaving, run, nil)
		r.waiting(run, "go")
		first := accepted(cancel, run)
		r.cancelledAgain("asked", first, cancel)
		r.until(run, "continued", func(s engine.Snapshot) bool { return s.Generation == 2 })
		r.cancelledAgain("continued", first, cancel)
		if run == "asked" {
			r.mustSend(run, "s", "go", nil)
		} else if second := accepted(terminate, run); second.Sequence <= first.Sequence {
			t.Errorf("terminated as event %d, asked as event %d", second.Sequence, first.Sequence)
		}
		if s := r.ended(run); s.Status != engine.StatusCancelled {
			t.Fatalf("%s is %s", run, s.Status)
		}
		r.cancelledAgain("ended", first, cancel, terminate)
	}
}
