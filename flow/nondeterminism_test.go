package flow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// steps is a function that takes its awaits one after the other.
func steps(awaits ...func(w *flow.Workflow) error) straight {
	return func(w *flow.Workflow, _ any) (any, error) {
		for _, wait := range awaits {
			if err := wait(w); err != nil {
				return nil, err
			}
		}
		return "end", nil
	}
}

func signal(id, name string) func(w *flow.Workflow) error {
	return func(w *flow.Workflow) error { return await(w, id, name) }
}

func sleep(id string) func(w *flow.Workflow) error {
	return func(w *flow.Workflow) error { return flow.Sleep(w, id, time.Hour) }
}

func answer(id string, opts ...engine.HookOption) func(w *flow.Workflow) error {
	return func(w *flow.Workflow) error {
		_, err := flow.CreateHook(w, id, opts...).Await()
		return err
	}
}

// race is won by the signal of a, or by a deadline.
func race(w *flow.Workflow) error {
	_, err := flow.Race(w, flow.Signal[raw](w, "a", "go"), flow.NewTimer(w, "limit", time.Hour))
	return err
}

// work is a step beside a wait.
func work(w *flow.Workflow) error {
	flow.StartStep[raw](w, "s", "work", nil, retry)
	return await(w, "b", "stop")
}

// TestChangedCodeIsFoundOut: code that takes another way than the history blocks the run, also where what it names is
// settled already, and the run goes on once the code is back.
func TestChangedCodeIsFoundOut(t *testing.T) {
	t.Parallel()
	ab := steps(signal("a", "go"), signal("b", "stop"))
	for name, tc := range map[string]struct {
		before, after straight
		want          string
	}{
		"another ID for what is open": {ab, steps(signal("a", "go"), signal("c", "stop")), `the history has wait "b", which the code has not named`},
		"another ID for what settled": {ab, steps(signal("x", "go"), signal("b", "stop")), `the history goes on with wait "a", which the code has not named`},
		"another signal of what settled": {
			ab, steps(signal("a", "item"), signal("b", "stop")), `wait "a" is for signal "go" in the history and for "item" in the code`,
		},
		"another signal of what is open": {ab, steps(signal("a", "go"), signal("b", "item")), `wait "b" is for signal "stop"`},
		"another kind":                   {ab, steps(sleep("a"), signal("b", "stop")), `ID "a" is a wait in the history and a timer in the code`},
		"the other way round":            {ab, steps(signal("b", "stop"), signal("a", "go")), `the history goes on with wait "a", which the code has not named`},
		"one more before":                {ab, steps(sleep("x"), signal("a", "go"), signal("b", "stop")), `the history goes on with wait "a"`},
		"one more beside": {ab, steps(func(w *flow.Workflow) error {
			flow.CreateHook(w, "x")
			return await(w, "a", "go")
		}, signal("b", "stop")), `the code names hook "x" at a place where the history does not have it`},
		"one more in the race": {ab, steps(race, signal("b", "stop")), `the code names timer "limit" at a place where the history does not have it`},
		"one less in the race": {steps(race, signal("b", "stop")), ab, `the history has timer "limit", which the code has not named`},
		"the end before":       {ab, steps(), "the code returns at a place where the history goes on"},
		"the end here":         {ab, steps(signal("a", "go")), `the history has wait "b", which the code has not named`},
		"named and not waited for": {ab, steps(func(w *flow.Workflow) error {
			flow.Signal[raw](w, "a", "go")
			return nil
		}, signal("b", "stop")), `the history goes on with wait "a", for which the code does not wait`},
		"a step that is gone": {steps(signal("a", "go"), work), steps(signal("a", "go")), `the history has step "s", which the code has not named`},
		"another step of the ID": {
			steps(signal("a", "go"), work), steps(signal("a", "go"), func(w *flow.Workflow) error {
				flow.StartStep[raw](w, "s", "other", nil, retry)
				return await(w, "b", "stop")
			}), `step "s" has the name "work" and "other"`,
		},
		"another token of what settled": {
			steps(answer("h", engine.Token(sharedToken)), signal("b", "stop")),
			steps(answer("h", engine.Token(sharedToken+"x")), signal("b", "stop")), `hook "h" has another token`,
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			run := start(t, tc.before)
			if _, err := run.TryResume("h", nil); err != nil {
				run.Signal("go", nil)
			}
			events := len(run.Events())
			run.Deploy(flow.Func(tc.after))
			run.ExpectBlocked()
			run.Signal("item", nil)
			contains(t, name, run.BlockedReason(), "nondeterminism", tc.want)
			if added := run.Events()[events:]; len(added) != 2 {
				t.Errorf("the blocked turn kept %q", added)
			}
			run.Deploy(flow.Func(tc.before))
			run.Retry()
			run.Signal("stop", nil)
			output(t, run, `"end"`)
		})
	}
}

// The last call of a run compares too, though it waits for nothing any more.
func TestChangedCodeIsFoundOutAtTheEnd(t *testing.T) {
	t.Parallel()
	run := start(t, steps(answer("h", engine.Token(sharedToken)), signal("b", "stop")))
	run.Resume("h", nil)
	run.Deploy(flow.Func(steps(answer("h", engine.Token(sharedToken+"x")), signal("b", "stop"))))
	run.ExpectBlocked()
	run.Signal("stop", nil)
	contains(t, "reason", run.BlockedReason(), "nondeterminism", `hook "h" has another token`)
}

// What comes after the place that runs have reached may change.
func TestCodeMayChangeAhead(t *testing.T) {
	t.Parallel()
	run := start(t, steps(signal("a", "go"), signal("b", "stop")))
	run.Signal("go", nil)
	run.Deploy(flow.Func(steps(signal("a", "go"), signal("b", "stop"), sleep("more"))))
	run.Signal("stop", nil)
	run.Advance(time.Hour)
	output(t, run, `"end"`)
}

// TestBadCallsBlockTheRun: each misuse is refused with words, and none panics.
func TestBadCallsBlockTheRun(t *testing.T) {
	t.Parallel()
	var kept *flow.Hook
	other := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		kept = flow.CreateHook(w, "kept")
		_, err := kept.Await()
		return nil, err
	}))
	other.Start(nil)
	long := strings.Repeat("x", 300)
	for want, call := range map[string]func(w *flow.Workflow) error{
		`ID "a" is used twice; in a loop add the round: engine.ID("a", i)`: func(w *flow.Workflow) error {
			for range 2 {
				flow.Signal[raw](w, "a", "go")
			}
			return nil
		},
		`ID "b" is used twice`: func(w *flow.Workflow) error {
			flow.CreateHook(w, "b")
			return await(w, "b", "go")
		},
		`ID "on-go-0" is used twice`: func(w *flow.Workflow) error {
			flow.OnSignal(w, "go", func(raw) {})
			flow.OnSignal(w, "go", func(raw) {})
			return nil
		},
		"not declared":             func(w *flow.Workflow) error { return await(w, "a", "nobody") },
		"must not be negative":     func(w *flow.Workflow) error { return flow.Sleep(w, "a", -1) },
		"the time must be set":     func(w *flow.Workflow) error { return flow.SleepUntil(w, "a", time.Time{}) },
		"must not be empty":        func(w *flow.Workflow) error { return flow.Sleep(w, "", 1) },
		"at most 255":              func(w *flow.Workflow) error { return await(w, long, "go") },
		"only one deadline":        func(w *flow.Workflow) error { return twoDeadlines(w) },
		"Race got no future":       func(w *flow.Workflow) error { _, err := flow.Race(w, nil); return err },
		"at position 1":            func(w *flow.Workflow) error { return flow.All(w, flow.NewTimer(w, "a", 1), (*flow.Timer)(nil)) },
		"of another turn or run":   func(w *flow.Workflow) error { _, err := flow.Race(w, kept); return err },
		"nothing that it has open": func(w *flow.Workflow) error { _, err := flow.Race(w); return err },
		"can happen any more": func(w *flow.Workflow) error {
			timer := flow.StartTimer(w, "a", time.Second)
			timer.Stop()
			timer.Stop()
			return timer.Await()
		},
		"no_progress": func(w *flow.Workflow) error { return flow.AwaitCondition(w, func() bool { return false }) },
		"nothing may be waited for inside a condition": func(w *flow.Workflow) error {
			return flow.AwaitCondition(w, func() bool { return await(w, "a", "go") == nil })
		},
		`nothing may be waited for inside the handler of signal "go"`: func(w *flow.Workflow) error {
			flow.OnSignal(w, "go", func(raw) { _ = await(w, "a", "go") })
			return await(w, "b", "stop")
		},
		"does not fit type int": func(w *flow.Workflow) error { _, err := flow.WaitForSignal[int](w, "a", "go"); return err },
		"signal of wait":        func(w *flow.Workflow) error { flow.OnSignal(w, "go", func(int) {}); return await(w, "b", "stop") },
	} {
		run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) { return nil, call(w) }))
		run.ExpectBlocked()
		run.Start(nil)
		if _, err := run.TrySignal("s", "go", "text"); err != nil {
			t.Fatal(err)
		}
		contains(t, want, run.BlockedReason(), want)
	}
}

func twoDeadlines(w *flow.Workflow) error {
	_, err := flow.Signal[raw](w, "a", "go", engine.Timeout(1), engine.Timeout(2)).Await()
	return err
}

func TestAnswerThatDoesNotFitBlocksUntilTheCodeIsMended(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (int, error) {
		return flow.AwaitHook[int](flow.CreateHook(w, "h"))
	}))
	run.Start(nil)
	run.ExpectBlocked()
	run.Resume("h", "seven")
	contains(t, "reason", run.BlockedReason(), "error", `answer to hook "h"`, "does not fit type int")
	run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (string, error) {
		return flow.AwaitHook[string](flow.CreateHook(w, "h"))
	}))
	run.Retry()
	output(t, run, `"seven"`)
}

func TestInputThatDoesNotFitBlocks(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, flow.Func(func(*flow.Workflow, int) (int, error) { return 0, nil }))
	run.ExpectBlocked()
	run.Start("text")
	contains(t, "reason", run.BlockedReason(), "does not fit type int")
}

// A hook that another generation used up cannot be opened again: a branch, not a crash.
func TestHookOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, round int) (spec.RunID, error) {
		_, err := flow.CreateHook(w, "h").Await()
		var closed *flow.HookClosedError
		switch {
		case errors.As(err, &closed) && closed.Rejection.Reason == engine.RejectIDUsed:
			return "used", nil
		case err != nil:
			return "", err
		}
		return "", flow.ContinueAsNew(w, round+1)
	}))
	run.Start(1)
	run.Resume("h", nil)
	output(t, run, `"used"`)
}
