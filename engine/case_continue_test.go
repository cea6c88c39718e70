package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// Continue-as-new loses nothing and forgets no identity.

// entity consumes one item per generation and carries on, until it has seen as many as "of".
type entity struct {
	Of   int   `json:"of"`
	Seen []int `json:"seen"`
}

var roller = workflow{
	spec.WorkflowSpec{Name: "roller", Version: "1", Signals: []spec.Signal{{Name: "item"}}},
	func(c *engine.Context) (engine.Decision, error) {
		in, err := engine.Input[entity](c)
		if err != nil {
			return engine.Decision{}, err
		}
		v, ok, err := engine.SignalPayload[int](c, "w")
		switch {
		case err != nil:
			return engine.Decision{}, err
		case !ok:
			return c.WaitForSignal("w", "item"), nil
		case !c.TimerFired("pause"):
			return c.Sleep("pause", 0), nil
		}
		in.Seen = append(in.Seen, v)
		if len(in.Seen) == in.Of {
			return c.Complete(in.Seen), nil
		}
		return c.ContinueAsNew(in), nil
	},
}

func TestC24_NothingIsLostAroundContinueAsNew(t *testing.T) {
	t.Parallel()
	n := 1000
	if testing.Short() {
		n = 100
	}
	r := newRig(t, roller)
	r.start(roller, "run", entity{Of: n})
	want := "["
	for i := range n {
		r.mustSend("run", spec.SignalID(engine.ID("s", i)), "item", i)
		want += fmt.Sprint(i)
		if i < n-1 {
			want += ","
		}
	}
	want += "]"
	s := r.until("run", "completed", func(s engine.Snapshot) bool { return s.Status == engine.StatusCompleted })
	if string(s.Output) != want {
		t.Errorf("consumed %.200s", s.Output)
	}
	if s.Generation != n || s.UnreadSignals != 0 {
		t.Errorf("ended in generation %d with %d unread", s.Generation, s.UnreadSignals)
	}
}

func TestC25_UnreadSignalsGoOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, roller)
	gate := r.beside()
	gate.start(roller, "run", entity{Of: 4})
	for i := range 3 {
		gate.mustSend("run", spec.SignalID(engine.ID("s", i)), "item", i)
	}
	r.until("run", "in generation 4", func(s engine.Snapshot) bool { return s.Generation == 4 && len(s.Waiting) == 1 })
	gate.mustSend("run", "last", "item", 3)
	if out := r.completed("run"); out != "[0,1,2,3]" {
		t.Errorf("output %s", out)
	}
	for i := range 3 {
		receipt, err := r.Receipt(r.ctx(), "run", spec.SignalID(engine.ID("s", i)))
		if err != nil || receipt.ConsumedBy == nil || receipt.ConsumedBy.Generation != i+1 {
			t.Errorf("signal %d: %+v, %v", i, receipt, err)
		}
	}
}

func TestC26_IdentityOutlivesGenerations(t *testing.T) {
	t.Parallel()
	r := newRig(t, roller)
	r.start(roller, "run", entity{Of: 3})
	first := r.mustSend("run", "E1", "item", 7)
	r.mustSend("run", "E2", "item", 8)
	r.until("run", "in generation 3", func(s engine.Snapshot) bool { return s.Generation == 3 })
	for range 3 {
		again := r.mustSend("run", "E1", "item", 7)
		first.Verdict = engine.VerdictDuplicate
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
	}
	if v := verdict(r.send("run", "E1", "item", 9)); v != engine.VerdictConflict {
		t.Errorf("another payload under the identity: %s", v)
	}
	r.mustSend("run", "E3", "item", 9)
	if out := r.completed("run"); out != "[7,8,9]" {
		t.Errorf("output %s", out)
	}
	if v := verdict(r.send("run", "E1", "item", 7)); v != engine.VerdictDuplicate {
		t.Errorf("after the end: %s", v)
	}
}

func TestC29_FullBacklogIsBusyAndPasses(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "gated", Version: "1", Signals: []spec.Signal{{Name: "item"}, {Name: "open"}}},
		func(c *engine.Context) (engine.Decision, error) {
			if c.HookState("gate") != engine.Answered {
				return c.CreateHook("gate"), nil
			}
			n := 0
			for ; ; n++ {
				if _, ok, err := engine.SignalPayload[int](c, engine.ID("w", n)); err != nil || !ok {
					break
				}
			}
			if n == 11 {
				return c.Complete(n), nil
			}
			return c.WaitForSignal(engine.ID("w", n), "item"), nil
		},
	}
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.Backlog = 10
	r := idle(t, cfg, w).run()
	r.start(w, "run", nil)
	for i := range 10 {
		r.mustSend("run", spec.SignalID(engine.ID("s", i)), "item", i)
	}
	_, err := r.send("run", "more", "item", 10)
	if !errors.Is(err, engine.ErrBacklogFull) || engine.VerdictOf(err) != engine.VerdictBusy {
		t.Errorf("the signal beyond the limit got %v", err)
	}
	if v := verdict(r.send("run", "s-3", "item", 3)); v != engine.VerdictDuplicate {
		t.Errorf("a known signal at the limit: %s", v)
	}
	r.waiting("run", "gate")
	if v := verdict(r.resume("run", "gate", nil)); v != engine.VerdictAccepted {
		t.Errorf("an answer at the limit: %s", v)
	}
	r.until("run", "read", func(s engine.Snapshot) bool { return s.UnreadSignals == 0 })
	if v := verdict(r.send("run", "more", "item", 10)); v != engine.VerdictAccepted {
		t.Errorf("the retry once there is room: %s", v)
	}
	if out := r.completed("run"); out != "11" {
		t.Errorf("output %s", out)
	}
}

func TestZeroTimersDoNotStarveOthers(t *testing.T) {
	t.Parallel()
	spin := workflow{
		spec.WorkflowSpec{Name: "spin", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) {
			if !c.TimerFired("t") {
				return c.Sleep("t", 0), nil
			}
			return c.ContinueAsNew(c.Generation()), nil
		},
	}
	r := newRig(t, spin, greet)
	r.start(spin, "spinning", nil)
	began := time.Now()
	r.start(greet, "run", nil)
	r.mustSend("run", "s", "hello", "x")
	r.completed("run")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("beside a spinning run another took %s", took)
	}
	if _, err := r.Terminate(r.ctx(), engine.CancelRequest{RunID: "spinning"}); err != nil {
		t.Errorf("a spinning run cannot be ended: %v", err)
	}
}
