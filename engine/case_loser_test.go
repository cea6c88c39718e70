package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

// Time-outs, losers, and what they must not leave behind.

// fourth lets three waits time out and waits with a fourth.
var fourth = workflow{
	spec.WorkflowSpec{Name: "fourth", Version: "1", Signals: []spec.Signal{{Name: "n"}}},
	func(c *engine.Context) (engine.Decision, error) {
		for i := range 3 {
			if !c.WaitTimedOut(engine.ID("w", i)) {
				return c.WaitForSignal(engine.ID("w", i), "n", engine.Timeout(20*time.Millisecond)), nil
			}
		}
		v, ok, err := engine.SignalPayload[string](c, "w-3")
		if err != nil || !ok {
			return c.WaitForSignal("w-3", "n"), err
		}
		return c.Complete(v), nil
	},
}

func TestC12_LoserDoesNotEat(t *testing.T) {
	t.Parallel()
	r := newRig(t, fourth)
	r.start(fourth, "run", nil)
	r.waiting("run", "w-3")
	r.mustSend("run", "s", "n", "heard")
	if out := r.completed("run"); out != `"heard"` {
		t.Errorf("output %s", out)
	}
}

func TestC13_RehearsalAndEngineWriteOneHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, fourth)
	r.start(fourth, "run", nil)
	r.waiting("run", "w-3")
	r.mustSend("run", "s", "n", "heard")
	r.completed("run")

	run := enginetest.New(t, fourth.spec, fourth.fn)
	run.Start(nil)
	run.Advance(time.Second)
	run.SignalAs("s", "n", "heard")
	run.Result()

	if diff := cmp.Diff(run.Types(), r.types("run")); diff != "" {
		t.Errorf("types of events, rehearsal against engine:\n%s", diff)
	}
	var onEngine []string
	for _, e := range r.events("run") {
		onEngine = append(onEngine, e.Type+" "+timeless(t, e.Data))
	}
	var rehearsed []string
	for _, line := range run.Events() {
		var at, offset, kind string
		if _, err := fmt.Sscan(line, &at, &offset, &kind); err != nil {
			t.Fatal(err)
		}
		data := line[len(at)+len(offset)+len(kind)+3:]
		rehearsed = append(rehearsed, kind+" "+timeless(t, []byte(data)))
	}
	if diff := cmp.Diff(rehearsed, onEngine); diff != "" {
		t.Errorf("events, rehearsal against engine:\n%s", diff)
	}
}

// timeless drops what differs between two runs of one story: times, and the digest of the stored spec.
func timeless(t *testing.T, data []byte) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "deadline")
	delete(fields, "opened_at")
	delete(fields, "spec_digest")
	return string(encode(t, fields))
}

func TestC17_TimersFireInTime(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "nap", Version: "1", Signals: []spec.Signal{{Name: "n"}}},
		func(c *engine.Context) (engine.Decision, error) {
			ms, err := engine.Input[int](c)
			if err != nil {
				return engine.Decision{}, err
			}
			if !c.WaitTimedOut("w") {
				return c.WaitForSignal("w", "n", engine.Timeout(time.Duration(ms)*time.Millisecond)), nil
			}
			return c.Complete(nil), nil
		},
	}
	r := newRig(t, w)
	sizes := []int{1, 50, 200, 700, 1000, 1700, 2500, 5000}
	for _, ms := range sizes {
		r.start(w, spec.RunID(engine.ID("run", ms)), ms)
	}
	var late []time.Duration
	for _, ms := range sizes {
		id := spec.RunID(engine.ID("run", ms))
		r.completed(id)
		events := r.events(id)
		due := events[1].At.Add(time.Duration(ms) * time.Millisecond)
		late = append(late, events[2].At.Sub(due))
	}
	slices.Sort(late)
	if worst := late[len(late)-1]; late[0] < 0 || worst > 2*time.Second {
		t.Errorf("timers fired between %s and %s late; at most 2 s is promised", late[0], worst)
	}
	if median := late[len(late)/2]; median > 50*time.Millisecond {
		t.Errorf("half of the timers fired more than %s late", median)
	}

	long := enginetest.New(t, w.spec, w.fn)
	long.Start(65_000)
	long.Advance(65*time.Second - time.Microsecond)
	if got := long.Status(); got != engine.StatusRunning {
		t.Errorf("before its deadline the run is %s", got)
	}
	long.Advance(time.Microsecond)
	long.Result()
}

func TestC21_LoserEndsWithTheRace(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "any-of", Version: "1", Signals: []spec.Signal{{Name: "paid"}, {Name: "void"}}},
		func(c *engine.Context) (engine.Decision, error) {
			if first := c.First("w-paid", "w-void"); first != "" {
				return c.Complete(first), nil
			}
			return c.Await(c.WaitForSignal("w-paid", "paid"), c.WaitForSignal("w-void", "void")), nil
		},
	}
	r := newRig(t, w)
	r.start(w, "run", nil)
	r.waiting("run", "w-paid", "w-void")
	r.mustSend("run", "1", "paid", nil)
	if out := r.completed("run"); out != `"w-paid"` {
		t.Errorf("output %s", out)
	}
	want := []string{
		"run.started", "wait.opened", "wait.opened", "signal.received", "wait.completed", "wait.withdrawn", "run.completed",
	}
	if diff := cmp.Diff(want, r.types("run")); diff != "" {
		t.Error(diff)
	}
	events := r.events("run")
	if !events[4].At.Equal(events[6].At) {
		t.Error("the loser ended in another commit than the race")
	}
	if _, err := r.send("run", "2", "void", nil); !errors.Is(err, engine.ErrRunEnded) {
		t.Errorf("a message for the loser got %v", err)
	}

	// Both messages are there before the first turn: one is consumed, the other stays unread.
	gate := r.beside()
	gate.start(w, "both", nil)
	gate.mustSend("both", "1", "void", nil)
	_, err := gate.send("both", "2", "paid", nil)
	if out := r.completed("both"); out != `"w-void"` {
		t.Errorf("output %s", out)
	}
	if err != nil {
		return // the run was quicker
	}
	if receipt, err := r.Receipt(r.ctx(), "both", "2"); err != nil || receipt.State != engine.SignalUnread {
		t.Errorf("receipt of the loser's message %+v, %v", receipt, err)
	}
}
