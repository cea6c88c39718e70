package flow_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

var retry = spec.NoRetry()

func taskTwins() []twin {
	return []twin{
		{
			name: "charge or refund", steps: []string{"charge", "refund"}, signals: []string{"noise"},
			decisions: func(c *engine.Context) (decision, error) {
				charge := c.RunStep("charge", "pay.charge", 7, retry, engine.ScheduleToClose(20*time.Second))
				switch c.First("charge", "limit") {
				case "charge":
					v, _, err := engine.StepOutput[int](c, "charge")
					if err != nil {
						return decision{}, err
					}
					return c.Complete(v), nil
				case "limit":
					v, ok, err := engine.StepOutput[int](c, "refund")
					switch {
					case err != nil:
						return decision{}, err
					case ok:
						return c.Complete([]int{v}), nil
					}
					return c.Await(charge, c.RunStep("refund", "pay.refund", "all", retry)), nil
				}
				return c.Await(charge, c.Timer("limit", 5*time.Second)), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (any, error) {
				charge := flow.StartStep[int](w, "charge", "pay.charge", 7, retry, engine.ScheduleToClose(20*time.Second))
				switch first, err := flow.Race(w, charge, flow.NewTimer(w, "limit", 5*time.Second)); {
				case err != nil:
					return nil, err
				case first == charge:
					return charge.Await()
				}
				v, err := flow.Step[int](w, "refund", "pay.refund", "all", retry)
				return []int{v}, err
			}),
		},
		{
			name: "withdrawn step", steps: []string{"slow"},
			decisions: func(c *engine.Context) (decision, error) {
				switch c.First("slow", "limit") {
				case "slow":
					return c.Complete("in time"), nil
				case "limit":
					if !c.TimerFired("pause") {
						return c.Await(c.CancelStep("slow"), c.Sleep("pause", 3*time.Second)), nil
					}
					return c.Complete("late"), nil
				}
				return c.Await(c.RunStep("slow", "slow", nil, retry), c.Timer("limit", 4*time.Second)), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (string, error) {
				slow := flow.StartStep[raw](w, "slow", "slow", nil, retry)
				switch first, err := flow.Race(w, slow, flow.NewTimer(w, "limit", 4*time.Second)); {
				case err != nil:
					return "", err
				case first == slow:
					return "in time", nil
				}
				slow.Cancel()
				if _, err := slow.Await(); !errors.Is(err, flow.ErrWithdrawn) {
					return "", err
				}
				return "late", flow.Sleep(w, "pause", 3*time.Second)
			}),
		},
		{
			name: "withdrawn beside a rejection", steps: []string{"slow"}, signals: []string{"go"}, hooks: []string{"one", "x"},
			decisions: func(c *engine.Context) (decision, error) {
				one := c.CreateHook("one", engine.Token(sharedToken))
				if _, ok, _ := engine.SignalPayload[raw](c, "begin"); !ok {
					return c.Await(one, c.RunStep("slow", "slow", nil, retry), c.WaitForSignal("begin", "go")), nil
				}
				two, withdrawn := c.CreateHook("two", engine.Token(sharedToken)), c.CancelStep("slow")
				switch {
				case c.HookState("two") == engine.None:
					return c.Await(one, two, withdrawn), nil
				case !c.TimerFired("pause"):
					return c.Await(one, c.CreateHook("x"), c.Sleep("pause", 2*time.Second)), nil
				}
				return c.Complete(nil), nil
			},
			flow: flow.Func(func(w *flow.Workflow, _ any) (any, error) {
				flow.CreateHook(w, "one", engine.Token(sharedToken))
				slow := flow.StartStep[raw](w, "slow", "slow", nil, retry)
				if _, err := flow.WaitForSignal[raw](w, "begin", "go"); err != nil {
					return nil, err
				}
				two := flow.CreateHook(w, "two", engine.Token(sharedToken))
				slow.Cancel()
				if _, err := two.Await(); err == nil {
					return nil, errors.New("two was answered")
				}
				flow.CreateHook(w, "x")
				return nil, flow.Sleep(w, "pause", 2*time.Second)
			}),
		},
		{
			name: "saga", steps: []string{"reserve", "release"}, signals: []string{"paid"}, cancel: true,
			decisions: sagaDecisions, flow: flow.Func(saga),
		},
	}
}

var errUnpaid = errors.New("not paid")

func saga(w *flow.Workflow, _ any) (string, error) {
	place, err := flow.Step[int](w, "reserve", "reserve", "seat", retry)
	if err != nil {
		return "", err
	}
	flow.Compensate(w, func() error {
		_, err := flow.Step[raw](w, "release", "release", place, retry)
		return err
	})
	_, ok, err := flow.WaitForSignalTimeout[raw](w, "pay", "paid", 9*time.Second)
	if err == nil && !ok {
		err = errUnpaid
	}
	return "paid", err
}

func sagaDecisions(c *engine.Context) (decision, error) {
	place, reserved, err := engine.StepOutput[int](c, "reserve")
	switch {
	case err != nil:
		return decision{}, err
	case !reserved && c.CancelRequested():
		return c.Cancelled(), nil
	case !reserved:
		return c.RunStep("reserve", "reserve", "seat", retry), nil
	}
	_, paid, _ := engine.SignalPayload[raw](c, "pay")
	switch late := c.WaitTimedOut("pay"); {
	case paid:
		return c.Complete("paid"), nil
	case late || c.CancelRequested():
		cause := flow.ErrCancelled
		if late {
			cause = errUnpaid
		}
		_, released, err := engine.StepOutput[raw](c, "release")
		switch {
		case err != nil:
			return c.Fail(errors.Join(cause, fmt.Errorf("compensation: %w", err))), nil
		case !released:
			return c.RunStep("release", "release", place, retry), nil
		case late:
			return c.Fail(cause), nil
		}
		return c.Cancelled(), nil
	}
	return c.WaitForSignal("pay", "paid", engine.Timeout(9*time.Second)), nil
}

// TestChildrenAndCallsHaveTwins: a child is awaited, one message is sent on the way and one with the end.
func TestChildrenAndCallsHaveTwins(t *testing.T) {
	t.Parallel()
	note := engine.OutgoingSignal{Name: "note", Payload: "hello"}
	w := twin{
		name: "family",
		decisions: func(c *engine.Context) (decision, error) {
			first := c.SignalRun("first", "other", note)
			v, ok, err := engine.ChildOutput[int](c, "kid")
			failure, failed := c.CallFailed("first")
			switch {
			case err != nil:
				return decision{}, err
			case !ok:
				return c.Await(c.StartChild("kid", "kids", "kid-1", 3, engine.WhenParentEnds(engine.Terminate)), first), nil
			case failed:
				return decision{}, failure
			case !c.CallDelivered("first"):
				return first, nil
			}
			return c.All(c.RequestCancel("last", "other", "done"), c.Complete(v)), nil
		},
		flow: flow.Func(func(w *flow.Workflow, _ any) (int, error) {
			kid := flow.StartChild[int](w, "kid", "kids", "kid-1", 3, engine.WhenParentEnds(engine.Terminate))
			first := flow.SignalRun(w, "first", "other", note)
			v, err := kid.Await()
			if err != nil {
				return 0, err
			}
			if err := first.Await(); err != nil {
				return 0, err
			}
			flow.RequestCancel(w, "last", "other", "done")
			return v, nil
		}),
	}
	type steps = []func(run *enginetest.Run)
	deliver := func(run *enginetest.Run) { run.DeliverCall("first") }
	born := func(run *enginetest.Run) { run.CompleteChild("kid", 4) }
	for want, ops := range map[string]steps{
		"completed 4":  {born, deliver},
		"completed  4": {deliver, born},
		`failed child "kid" failed (failed): ill`: {func(run *enginetest.Run) {
			run.FailChild("kid", engine.FailedChild, "ill")
		}},
		`failed call "first" failed (target_unknown)`: {born, func(run *enginetest.Run) { run.FailCall("first", engine.FailedTargetUnknown) }},
	} {
		play := func(fn engine.Workflow) []string {
			run := enginetest.New(t, w.spec(), fn)
			run.Start(nil)
			for _, op := range ops {
				op(run)
			}
			s := run.Snapshot()
			if got := fmt.Sprintf("%s %s%s", s.Status, s.Output, s.Error); got != want && fmt.Sprintf("%s  %s", s.Status, s.Output) != want {
				t.Errorf("%s, want %s", got, want)
			}
			return run.Events()
		}
		if diff := cmp.Diff(play(w.decisions), play(w.flow)); diff != "" {
			t.Errorf("%s: the histories differ: %s", want, diff)
		}
	}
}

func TestStepsOfAFunction(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[int](w, "s", "double", 4, retry)
	})
	run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[int](w, "s", "double", 5, retry)
	}))
	run.ExpectBlocked()
	run.CompleteStep("s", 8)
	contains(t, "another input of what settled", run.BlockedReason(), "nondeterminism", `step "s" has two inputs`)
	run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[string](w, "s", "double", 4, retry)
	}))
	run.Retry()
	contains(t, "an output that does not fit", run.BlockedReason(), "error", `output of step "s"`, "does not fit type string")
	run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[int](w, "s", "double", 4, retry)
	}))
	run.Retry()
	output(t, run, "8")

	failed := start(t, func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[int](w, "s", "double", 4, retry)
	})
	failed.FailStep("s", "", "no")
	if got := failed.Failure(); got != `step "s" failed (exhausted): no` {
		t.Errorf("failure %q", got)
	}
	forgotten := blocked(t, func(w *flow.Workflow, _ any) (any, error) {
		flow.StartStep[int](w, "s", "double", 4, retry)
		return nil, nil
	})
	contains(t, "a step that nobody awaits", forgotten, `step "s" is asked for beside an ending`)
	gaveUp := start(t, func(w *flow.Workflow, _ any) (any, error) {
		flow.StartStep[int](w, "s", "double", 4, retry)
		return nil, errBusiness
	})
	if got := gaveUp.Failure(); got != "no stock" {
		t.Errorf("failure %q", got)
	}
	unfit := blocked(t, func(w *flow.Workflow, _ any) (any, error) {
		return flow.Step[int](w, "s", "double", func() {}, retry)
	})
	contains(t, "an input without JSON", unfit, `RunStep("s")`, "have no JSON form")
}
