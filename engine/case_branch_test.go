package engine_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// decideOn branches on the answer to one hook.
var decideOn = workflow{
	spec.WorkflowSpec{Name: "branches", Version: "1", Hooks: []spec.Hook{{Name: "h", Schema: json.RawMessage(
		`{"type":"object","required":["decision"],"properties":{"decision":{"enum":["approve","reject","escalate"]}}}`)}}},
	func(c *engine.Context) (engine.Decision, error) {
		v, ok, err := engine.HookPayload[struct{ Decision string }](c, "h")
		if err != nil || !ok {
			return c.CreateHook("h"), err
		}
		return c.Complete("took " + v.Decision), nil
	},
}

func TestC43_EveryBranchIsReached(t *testing.T) {
	t.Parallel()
	r := newRig(t, decideOn)
	for _, branch := range []string{"approve", "reject", "escalate"} {
		run := spec.RunID("run-" + branch)
		r.start(decideOn, run, nil)
		r.waiting(run, "h")
		var schema *engine.SchemaError
		if _, err := r.resume(run, "h", map[string]string{"decision": "perhaps"}); !errors.As(err, &schema) {
			t.Errorf("an unknown value: %v", err)
		}
		r.waiting(run, "h")
		if _, err := r.resume(run, "h", map[string]string{"decision": branch}); err != nil {
			t.Fatal(err)
		}
		if out := r.completed(run); out != `"took `+branch+`"` {
			t.Errorf("%s: %s", branch, out)
		}
	}
}

func TestC36_OneSignalOverTwoProcessesIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	collect := workflow{
		spec.WorkflowSpec{Name: "two", Version: "1", Signals: []spec.Signal{{Name: "go"}}},
		func(c *engine.Context) (engine.Decision, error) {
			for i := range 2 {
				if _, ok, err := engine.SignalPayload[any](c, engine.ID("w", i)); err != nil || !ok {
					return c.WaitForSignal(engine.ID("w", i), "go"), err
				}
			}
			return c.Complete("two"), nil
		},
	}
	r := newRig(t, collect)
	processes := []*rig{r, r.beside(collect)}
	r.start(collect, "run", nil)
	var accepted, duplicate atomic.Int64
	parallel(50, func(i int) {
		switch verdict(processes[i%2].send("run", "E1", "go", 1)) {
		case engine.VerdictAccepted:
			accepted.Add(1)
		case engine.VerdictDuplicate:
			duplicate.Add(1)
		}
	})
	if accepted.Load() != 1 || duplicate.Load() != 49 {
		t.Errorf("%d accepted, %d duplicates", accepted.Load(), duplicate.Load())
	}
	if s := r.waiting("run", "w-1"); s.Status != engine.StatusRunning || s.UnreadSignals != 0 {
		t.Errorf("one message was consumed otherwise than once: %+v", s)
	}
}

// The deadline holds at the door, also while no process is there to write down that it passed.
func TestC22_ADeadlineNeedsNobodyToNoticeIt(t *testing.T) {
	t.Parallel()
	short := workflow{
		spec.WorkflowSpec{Name: "short", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) {
			switch c.HookState("late") {
			case engine.None, engine.Open:
				return c.Await(c.CreateHook("late", engine.ExpiresIn(3*time.Second)), c.CreateHook("early", engine.ExpiresIn(time.Hour))), nil
			default:
				return c.Complete(c.HookState("late")), nil
			}
		},
	}
	sweeper := newRig(t, short)
	sweeper.start(short, "run", nil)
	sweeper.waiting("run", "late", "early")
	late, early := sweeper.link("run", "late").Token.Reveal(), sweeper.link("run", "early").Token.Reveal()
	sweeper.stop()
	door := sweeper.beside() // accepts, and has no code
	if _, err := door.callback(early, 1); err != nil {
		t.Fatalf("before the deadline: %v", err)
	}
	door.eventually("the deadline is past", func() bool {
		return door.asks(`select bool_or(clock_timestamp() >= expires_at) from hooks where hook_id = 'late'`)
	})
	before := len(door.events("run"))
	var closed *engine.HookClosedError
	if _, err := door.callback(late, 1); !errors.As(err, &closed) || closed.Cause != "expired" {
		t.Errorf("after the deadline: %v", err)
	}
	if n := len(door.events("run")); n != before {
		t.Errorf("the refusal left %d events", n-before)
	}
	door.beside(short)
	if out := door.completed("run"); out != `"expired"` {
		t.Errorf("output %s", out)
	}
	if h, err := door.Hook(door.ctx(), "run", "early"); err != nil || h.State != "resumed" {
		t.Errorf("the answer in time: %+v, %v", h, err)
	}
}
