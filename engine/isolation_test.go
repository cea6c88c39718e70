package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
)

// Law 12: bad author code stops its run and nothing else.

func TestPanicBlocksWithoutItsValue(t *testing.T) {
	t.Parallel()
	var none map[string]int
	for name, tc := range map[string]struct {
		boom func()
		want string
	}{
		"value":   {func() { panic("hunter2 is the password") }, "of type string at"},
		"error":   {func() { panic(&secretError{"hunter2"}) }, "of type *engine_test.secretError at"},
		"runtime": {func() { none["x"] = 1 }, "of type runtime.plainError at"},
		"nil":     {func() { panic(nil) }, "of type *runtime.PanicNilError at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
				tc.boom()
				return c.Complete(nil), nil
			})
			run.ExpectBlocked()
			run.Start(nil)
			reason := run.BlockedReason()
			if !strings.HasPrefix(reason, "panic: ") || !strings.Contains(reason, tc.want) || strings.Contains(reason, "hunter2") {
				t.Errorf("reason %q", reason)
			}
			if !strings.Contains(reason, "isolation_test.go:") || !strings.Contains(reason, "TestPanicBlocksWithoutItsValue") {
				t.Errorf("the reason does not name the author's place: %q", reason)
			}
		})
	}
}

type secretError struct{ text string }

func (e *secretError) Error() string { return e.text }

func TestGoexitBlocks(t *testing.T) {
	t.Parallel()
	var cleaned atomic.Bool
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		defer cleaned.Store(true)
		runtime.Goexit()
		return c.Complete(nil), nil
	})
	run.ExpectBlocked()
	run.Start(nil)
	if reason := run.BlockedReason(); !strings.HasPrefix(reason, "panic: ") || !strings.Contains(reason, "Goexit") {
		t.Errorf("reason %q", reason)
	}
	if !cleaned.Load() {
		t.Error("deferred functions did not run")
	}
	run.Deploy(func(c *engine.Context) (engine.Decision, error) { return c.Complete(nil), nil })
	run.Retry()
	if got := run.Status(); got != engine.StatusCompleted {
		t.Errorf("after a fixed deploy the run is %s", got)
	}
}

func TestUnequalDecisionsBlock(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	for name, tc := range map[string]struct {
		fn   engine.Workflow
		want []string
	}{
		"an ID": {
			func(c *engine.Context) (engine.Decision, error) {
				return c.Timer(engine.ID("t", int(n.Add(1))), time.Hour), nil
			},
			[]string{`command 1 was timer "t-`, `and then timer "t-`},
		},
		"a duration": {
			func(c *engine.Context) (engine.Decision, error) {
				return c.Await(c.CreateHook("h"), c.Timer("t", time.Hour+time.Duration(n.Add(1)))), nil
			},
			[]string{`command 2 was timer "t"`},
		},
		"an output": {
			func(c *engine.Context) (engine.Decision, error) { return c.Complete(n.Add(1)), nil },
			[]string{"command 1 was a completion"},
		},
		"a number of commands": {
			func(c *engine.Context) (engine.Decision, error) {
				ds := []engine.Decision{c.Timer("a", time.Hour)}
				if n.Add(1)%2 == 0 {
					ds = append(ds, c.Timer("b", time.Hour))
				}
				return c.Await(ds...), nil
			},
			[]string{"commands and then"},
		},
		"a token": {
			func(c *engine.Context) (engine.Decision, error) {
				return c.CreateHook("h", engine.Token(fmt.Sprintf("%030d", n.Add(1)))), nil
			},
			[]string{`the creation of hook "h"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := enginetest.New(t, testSpec, tc.fn)
			run.ExpectBlocked()
			run.Start(nil)
			reason := run.BlockedReason()
			for _, want := range append(tc.want, "nondeterminism: ") {
				if !strings.Contains(reason, want) {
					t.Errorf("reason %q does not contain %q", reason, want)
				}
			}
		})
	}
}

func TestEqualDecisionsPass(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		if c.HookState("h") != engine.Answered {
			return c.CreateHook("h"), nil // a minted token is made once, whatever the number of calls
		}
		out := map[string]int{}
		for i := range 50 {
			out[engine.ID("k", i)] = i // no order
		}
		return c.Complete(map[string]any{"at": c.Now(), "out": out}), nil
	})
	run.Start(nil)
	run.Resume("h", true)
	run.Result()
}

func TestHistoryDecidesWhatIsDeterministic(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		second engine.Workflow
		want   string
	}{
		"another signal": {
			func(c *engine.Context) (engine.Decision, error) { return c.WaitForSignal("x", "stop"), nil },
			`nondeterminism: wait "x" is for signal "go" in the history and for "stop" in the decision`,
		},
		"another kind": {
			func(c *engine.Context) (engine.Decision, error) { return c.Timer("x", time.Hour), nil },
			`nondeterminism: ID "x" is a wait in the history and a timer in the decision`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
				return c.Await(c.WaitForSignal("x", "go"), c.Timer("other", time.Minute)), nil
			})
			run.Start(nil)
			run.Deploy(tc.second)
			run.ExpectBlocked()
			run.Advance(time.Minute)
			if got := run.BlockedReason(); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestOverBudgetIsAbandoned(t *testing.T) {
	t.Parallel()
	release, ended := make(chan struct{}), make(chan struct{})
	reached := atomic.Bool{}
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		defer close(ended)
		<-release
		_ = c.RunID() // the next use of an abandoned context ends the goroutine
		reached.Store(true)
		return c.Complete(nil), nil
	}, enginetest.CallBudget(20*time.Millisecond))
	run.ExpectBlocked()
	run.Start(nil)
	if got := run.BlockedReason(); !strings.HasPrefix(got, "over_budget: ") {
		t.Errorf("reason %q", got)
	}
	run.Deploy(func(c *engine.Context) (engine.Decision, error) { return c.Complete(nil), nil })
	run.Retry()
	if got := run.BlockedReason(); !strings.Contains(got, "has not returned") {
		t.Errorf("the run was called beside its abandoned call: %s %q", run.Status(), got)
	}
	close(release)
	<-ended
	for run.Status() != engine.StatusCompleted { // until the goroutine is counted as ended
		run.Retry()
	}
	if reached.Load() {
		t.Error("an abandoned call used its context")
	}
}

func TestStrayGoroutineEndsAtItsNextUse(t *testing.T) {
	t.Parallel()
	returned, ended := make(chan struct{}), make(chan struct{}, 4)
	reached := atomic.Bool{}
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		go func() {
			defer func() { ended <- struct{}{} }()
			defer func() { _ = recover() }()
			<-returned
			_ = c.Input()
			reached.Store(true)
		}()
		return c.Complete(nil), nil
	})
	run.Start(nil)
	close(returned)
	<-ended
	<-ended // called twice in development mode
	if reached.Load() {
		t.Error("a context was usable after its call")
	}
}
