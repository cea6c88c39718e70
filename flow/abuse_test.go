package flow_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
)

func TestRecoverSeesNothingOfAnUnwoundTurn(t *testing.T) {
	t.Parallel()
	var seen []any
	var began, ended int
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		began++
		defer func() { ended++ }()
		func() {
			defer func() {
				if r := recover(); r != nil {
					seen = append(seen, r)
				}
			}()
			_ = await(w, "first", "go")
		}()
		return "done", await(w, "second", "go")
	})
	run.Signal("go", 1)
	if began != ended || began < 2 {
		t.Errorf("between turns %d executions began and %d ended", began, ended)
	}
	run.Signal("go", 2)
	output(t, run, `"done"`)
	if began != ended || seen != nil {
		t.Errorf("%d executions began, %d ended; recover saw %v", began, ended, seen)
	}
}

func TestWhileUnwindingEveryCallIsInert(t *testing.T) {
	t.Parallel()
	var order []string
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		hook := flow.CreateHook(w, "hook")
		timer := flow.StartTimer(w, "timer", time.Minute)
		handler := flow.OnSignal(w, "item", func(int) {})
		// Only the turn that ends here unwinds; the last one runs these at a real return.
		defer func() { order = append(order, "outer") }()
		defer func() {
			order = append(order, "inner")
			hook.Dispose()
			timer.Stop()
			handler.Stop()
			flow.Compensate(w, func() error { return errors.New("never") })
			flow.CreateHook(w, "late").Dispose()
			flow.CreateHook(w, "late")
			w.Now()
			w.CancelRequested()
			_ = flow.ContinueAsNew(w, 1)
			order = append(order, "still inner")
			for _, wait := range []func(){
				func() { _ = flow.Sleep(w, "nap", time.Second) },
				func() { _, _ = flow.CollectSignals[int](w, "item", 3, time.Second) },
				func() { _, _ = flow.Race(w, hook, timer) },
				func() { _ = flow.All(w, hook) },
				func() { _ = flow.AwaitCondition(w, func() bool { return true }) },
			} {
				defer func() {
					wait()
					order = append(order, "an await returned")
				}()
			}
		}()
		_ = await(w, "go", "go")
		return nil, nil
	})
	if diff := cmp.Diff([]string{"inner", "still inner", "outer", "inner", "still inner", "outer"}, order); diff != "" { // dev mode calls twice
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hook", "timer", "on-item-0", "go"}, run.Waiting()); diff != "" {
		t.Error(diff)
	}
}

func TestDeferMayAwaitAtARealReturn(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (out any, err error) {
		defer func() { err = errors.Join(err, await(w, "last", "stop")) }()
		return "done", await(w, "go", "go")
	})
	run.Signal("go", nil)
	if diff := cmp.Diff([]string{"last"}, run.Waiting()); diff != "" {
		t.Error(diff)
	}
	run.Signal("stop", nil)
	output(t, run, `"done"`)
}

func TestOtherGoroutinesAreRefused(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(w *flow.Workflow){
		"a wait":     func(w *flow.Workflow) { _ = await(w, "go", "go") },
		"a hook":     func(w *flow.Workflow) { flow.CreateHook(w, "hook") },
		"a timer":    func(w *flow.Workflow) { flow.StartTimer(w, "timer", time.Second) },
		"a read":     func(w *flow.Workflow) { w.Now() },
		"compensate": func(w *flow.Workflow) { flow.Compensate(w, nil) },
		"a handler":  func(w *flow.Workflow) { flow.OnSignal(w, "go", func(int) {}) },
		"a collect":  func(w *flow.Workflow) { _, _ = flow.CollectSignals[int](w, "item", 1, 0) },
	} {
		returned := false
		reason := blocked(t, func(w *flow.Workflow, _ any) (any, error) {
			var all sync.WaitGroup
			all.Go(func() {
				use(w)
				returned = true
			})
			all.Wait()
			return nil, await(w, "stop", "stop")
		})
		contains(t, name, reason, "nondeterminism", "from a goroutine that the workflow's function started")
		if returned {
			t.Errorf("%s returned in another goroutine", name)
		}
	}
	pulled := blocked(t, func(w *flow.Workflow, _ any) (any, error) {
		next, stop := iter.Pull(func(yield func(int) bool) {
			_ = await(w, "go", "go")
			yield(1)
		})
		defer stop()
		next()
		return nil, nil
	})
	contains(t, "iter.Pull", pulled, "from a goroutine that the workflow's function started")
}

// A function that waits for a goroutine which was ended never returns. The words say why.
func TestGoroutineThatIsWaitedForInVain(t *testing.T) {
	t.Parallel()
	never := make(chan int)
	t.Cleanup(func() { close(never) })
	run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		go func() {
			_ = await(w, "go", "go")
			never <- 1
		}()
		return <-never, nil
	}), enginetest.CallBudget(50*time.Millisecond))
	run.ExpectBlocked()
	run.Start(nil)
	contains(t, "reason", run.BlockedReason(), "from a goroutine that the workflow's function started")
}

func TestPanicAndGoexitOfTheAuthor(t *testing.T) {
	t.Parallel()
	for want, misbehave := range map[string]func(){
		"panicked with a value of type string": func() { panic("secret") },
		"runtime.Goexit":                       runtime.Goexit,
		"panicked with a value of type runtime.boundsError": func() {
			var none []int
			none[len(none)]++
		},
	} {
		run := start(t, func(w *flow.Workflow, _ any) (any, error) {
			if err := await(w, "go", "go"); err != nil {
				return nil, err
			}
			misbehave()
			return nil, nil
		})
		run.ExpectBlocked()
		run.Signal("go", nil)
		contains(t, want, run.BlockedReason(), "panic", want)
		if strings.Contains(run.BlockedReason(), "secret") {
			t.Errorf("the value is shown: %s", run.BlockedReason())
		}
		run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (any, error) { return "mended", await(w, "go", "go") }))
		run.Retry()
		output(t, run, `"mended"`)
	}
}

func TestPanicThatTheAuthorRecoversIsHisOwn(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (out any, err error) {
		defer func() {
			out = fmt.Sprint("recovered ", recover())
			err = await(w, "after", "stop")
		}()
		if err := await(w, "go", "go"); err != nil {
			return nil, err
		}
		panic("mine")
	})
	run.Signal("go", nil)
	run.Signal("stop", nil)
	output(t, run, `"recovered mine"`)
}

// A deferred function that panics while the goroutine is unwound does no harm to the turn, which was over.
func TestPanicWhileUnwinding(t *testing.T) {
	t.Parallel()
	over := false
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		defer func() {
			if !over {
				panic("while unwinding")
			}
		}()
		err := await(w, "go", "go")
		over = true
		return "done", err
	})
	run.Signal("go", nil)
	output(t, run, `"done"`)
}

// A deferred function that never returns keeps its goroutine: it is counted, and the run is not called again.
func TestDeferThatNeverReturns(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var left atomic.Int32
	t.Cleanup(func() {
		close(release)
		for left.Load() != 0 {
			runtime.Gosched()
		}
	})
	run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		defer func() {
			left.Add(1)
			<-release
			left.Add(-1)
		}()
		return nil, await(w, "go", "go")
	}), enginetest.CallBudget(30*time.Millisecond))
	run.Start(nil)
	run.ExpectBlocked()
	run.Signal("go", nil)
	contains(t, "reason", run.BlockedReason(), "an earlier call of the workflow function has not returned")
}

// A call that is abandoned for its length ends at its next use of the package, in whatever call of the turn it is.
func TestLoopWithoutAnEnd(t *testing.T) {
	t.Parallel()
	var left atomic.Int32
	for name, use := range map[string]func(w *flow.Workflow, i int){
		"a read":  func(w *flow.Workflow, _ int) { w.Now() },
		"a place": func(w *flow.Workflow, _ int) { w.Settled() },
		"a hook":  func(w *flow.Workflow, i int) { flow.CreateHook(w, engine.ID("h", i)) },
		"a note":  func(w *flow.Workflow, _ int) { flow.Compensate(w, nil) },
	} {
		run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
			left.Add(1)
			defer left.Add(-1)
			if err := await(w, "go", "go"); err != nil {
				return nil, err
			}
			for i := 0; ; i++ {
				use(w, i)
			}
		}), enginetest.CallBudget(40*time.Millisecond))
		run.Start(nil)
		run.ExpectBlocked()
		run.Signal("go", nil)
		contains(t, name, run.BlockedReason(), "over_budget", "ran longer than 40ms")
	}
	for left.Load() != 0 {
		runtime.Gosched()
	}
}

func TestWorkflowThatOutlivesItsTurnDoesNothing(t *testing.T) {
	t.Parallel()
	var kept *flow.Workflow
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		kept = w
		return "done", await(w, "go", "go")
	})
	var all sync.WaitGroup
	returned := false
	all.Go(func() {
		_ = await(kept, "stop", "stop")
		returned = true
	})
	all.Wait()
	run.Signal("go", nil)
	output(t, run, `"done"`)
	if returned {
		t.Error("a wait of an old turn returned")
	}
}

var errBusiness = errors.New("no stock")

func TestReturnedErrorsEndTheRun(t *testing.T) {
	t.Parallel()
	run := start(t, func(*flow.Workflow, any) (any, error) { return "lost", fmt.Errorf("order: %w", errBusiness) })
	if got := run.Failure(); got != "order: no stock" {
		t.Errorf("failure %q", got)
	}
	reason := blocked(t, func(*flow.Workflow, any) (any, error) { return nil, flow.ErrCancelled })
	contains(t, "cancelled unasked", reason, "nobody asked to cancel")
	reason = blocked(t, func(*flow.Workflow, any) (any, error) { return func() {}, nil })
	contains(t, "an output without JSON", reason, "have no JSON form")
	if flow.Func[any, any](nil) != nil {
		t.Error("no function made a workflow")
	}
	if _, err := engine.Rehearse(testSpec, flow.Func[any, any](nil), engine.RehearsalConfig{Namespace: "n", RunID: "r"}); err == nil {
		t.Error("a workflow without a function was taken")
	}
}
