package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// oneStep does one step and ends with what came of it.
func oneStep(retry spec.RetryPolicy, opts ...engine.StepOption) workflow {
	return workflow{spec.WorkflowSpec{Name: "one-step", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		input, err := engine.Input[json.RawMessage](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		out, done, err := engine.StepOutput[json.RawMessage](ctx, "s")
		switch {
		case err != nil:
			return engine.Decision{}, err
		case done:
			return ctx.Complete(out), nil
		}
		return ctx.RunStep("s", "work", input, retry, opts...), nil
	}}
}

// stepRig is a rig with a step, before its Run.
func stepRig(t *testing.T, w workflow, fn engine.StepFunc) *rig {
	t.Helper()
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	if err := r.RegisterStep("work", fn); err != nil {
		t.Fatal(err)
	}
	return r.run()
}

func TestStepCompletes(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.NoRetry())
	r := stepRig(t, w, engine.TypedStep(func(_ context.Context, s *engine.Step, in int) (map[string]any, error) {
		return map[string]any{"twice": 2 * in, "attempt": s.Attempt, "run": s.RunID}, nil
	}))
	r.start(w, "a", 21)
	s := r.ended("a")
	if s.Status != engine.StatusCompleted || string(s.Output) != `{"attempt":1,"run":"a","twice":42}` {
		t.Fatalf("%s %s %s", s.Status, s.Output, s.Error)
	}
	want := []string{"run.started", "step.scheduled", "step.completed", "run.completed"}
	if got := r.types("a"); !slices.Equal(got, want) {
		t.Errorf("history %v, want %v", got, want)
	}
}

// The key is the same on every attempt, and a pause is kept.
func TestStepIsTriedAgain(t *testing.T) {
	t.Parallel()
	var keys []string
	w := oneStep(spec.FixedRetry(3, time.Millisecond))
	r := stepRig(t, w, func(_ context.Context, s *engine.Step) (any, error) {
		if keys = append(keys, s.IdempotencyKey); s.Attempt < 3 {
			return nil, errors.New("not yet")
		}
		return s.Attempt, nil
	})
	r.start(w, "a", nil)
	if s := r.ended("a"); string(s.Output) != "3" {
		t.Fatalf("%s %s %s", s.Status, s.Output, s.Error)
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("keys %v", keys)
	}
}

// A step that is used up fails its run, where the code does not branch, and lies among the dead letters.
func TestStepIsUsedUp(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	w := oneStep(spec.FixedRetry(2, 0))
	r := stepRig(t, w, func(context.Context, *engine.Step) (any, error) {
		attempts.Add(1)
		return nil, engine.Coded("down", errors.New("the other side is down"))
	})
	r.start(w, "a", nil)
	s := r.ended("a")
	if s.Status != engine.StatusFailed || s.Error != `step "s" failed (exhausted): the other side is down` {
		t.Fatalf("%s %q", s.Status, s.Error)
	}
	if n := attempts.Load(); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
	p, err := r.ListDeadLetters(r.ctx(), engine.LetterFilter{})
	if err != nil || len(p.Letters) != 1 {
		t.Fatalf("%v %v", p, err)
	}
	l := p.Letters[0]
	if l.RunID != "a" || l.StepID != "s" || l.Name != "work" || l.Reason != engine.FailedExhausted || l.Code != "down" ||
		l.Attempt != 2 || l.State != engine.LetterFailed {
		t.Errorf("%+v", l)
	}
	if _, err := r.ReplayDeadLetter(r.ctx(), l.ID, ""); !errors.Is(err, engine.ErrLetterDecided) {
		t.Errorf("replay of a failed step: %v", err)
	}
}

// A held step is replayed, and its run goes on as if nothing had been.
func TestHeldStepIsReplayed(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	w := oneStep(spec.NoRetry().WithHold())
	r := stepRig(t, w, func(context.Context, *engine.Step) (any, error) {
		if !up.Load() {
			return nil, errors.New("down")
		}
		return "done", nil
	})
	r.start(w, "a", nil)
	l := r.letter()
	if l.State != engine.LetterHeld {
		t.Fatalf("%+v", l)
	}
	up.Store(true)
	for _, want := range []engine.Verdict{engine.VerdictAccepted, engine.VerdictDuplicate} {
		if v, err := r.ReplayDeadLetter(r.ctx(), l.ID, "ops"); v != want || err != nil {
			t.Errorf("replay: %s %v, want %s", v, err, want)
		}
	}
	if s := r.ended("a"); string(s.Output) != `"done"` {
		t.Fatalf("%s %s %s", s.Status, s.Output, s.Error)
	}
	if _, err := r.DiscardDeadLetter(r.ctx(), l.ID, ""); !errors.Is(err, engine.ErrLetterDecided) {
		t.Errorf("discard of a replayed letter: %v", err)
	}
}

// letter waits for the one held step.
func (r *rig) letter() engine.DeadLetter {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		p, err := r.ListDeadLetters(r.ctx(), engine.LetterFilter{State: engine.LetterHeld})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(p.Letters) == 1 {
			return p.Letters[0]
		}
		if time.Now().After(deadline) {
			r.t.Fatal("no step is held")
		}
		<-time.After(2 * time.Millisecond)
	}
}

// A child's outcome is its parent's fact, and a call's is the caller's.
func TestChildAndCall(t *testing.T) {
	t.Parallel()
	child := workflow{
		spec.WorkflowSpec{Name: "child", Version: "1", Signals: []spec.Signal{{Name: "go"}}},
		func(ctx *engine.Context) (engine.Decision, error) {
			v, ok, err := engine.SignalPayload[string](ctx, "w")
			if err != nil || !ok {
				return ctx.WaitForSignal("w", "go"), err
			}
			return ctx.Complete("child says " + v), nil
		},
	}
	parent := workflow{spec.WorkflowSpec{Name: "parent", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		out, ok, err := engine.ChildOutput[string](ctx, "c")
		if err != nil || ok {
			return ctx.Complete(out), err
		}
		return ctx.Await(
			ctx.StartChild("c", "child", ctx.RunID()+"-child", nil),
			ctx.SignalRun("hello", ctx.RunID()+"-child", engine.OutgoingSignal{Name: "go", Payload: "hi"}),
		), nil
	}}
	r := newRig(t, child, parent)
	r.start(parent, "p", nil)
	if s := r.ended("p"); string(s.Output) != `"child says hi"` {
		t.Fatalf("%s %s %s %v", s.Status, s.Output, s.Error, r.types("p"))
	}
}
