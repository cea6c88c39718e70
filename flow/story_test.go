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
)

// tellsCancel is a function that tells at which await a wish to cancel came.
func tellsCancel(w *flow.Workflow, _ any) (any, error) {
	told := []string{}
	for i, wait := range []func() error{
		func() error { return await(w, "a", "go") },
		func() error { return await(w, "b", "go") },
		func() error { _, err := flow.CollectSignals[raw](w, "item", 2, flow.Forever); return err },
		func() error { return await(w, "z", "stop") },
	} {
		before := w.CancelRequested()
		if err := wait(); err != nil {
			told = append(told, fmt.Sprint(i, " ", errors.Is(err, flow.ErrCancelled), before, w.CancelRequested()))
		}
	}
	return told, nil
}

// TestCancelComesOnce: a wish to cancel is the error of the await that it finds, once, wherever turns begin.
func TestCancelComesOnce(t *testing.T) {
	t.Parallel()
	for want, steps := range map[string][]func(run *enginetest.Run){
		`["0 true false true"]`: {(*enginetest.Run).Cancel, goOn, item, item, stop},
		`["1 true false true"]`: {goOn, (*enginetest.Run).Cancel, item, item, stop},
		`["2 true false true"]`: {goOn, goOn, item, (*enginetest.Run).Cancel, stop},
		`["3 true false true"]`: {goOn, goOn, item, item, (*enginetest.Run).Cancel},
		`[]`:                    {goOn, goOn, item, item, stop},
	} {
		for _, held := range []bool{false, true} {
			for _, opts := range [][]enginetest.Option{nil, {enginetest.FromTop()}} {
				run := enginetest.New(t, cooperative, flow.Func(tellsCancel), opts...)
				run.Start(nil)
				if held {
					run.Hold()
				}
				for _, step := range steps {
					step(run)
				}
				run.Release()
				output(t, run, want)
			}
		}
	}
}

func goOn(run *enginetest.Run) { run.Signal("go", nil) }
func item(run *enginetest.Run) { run.Signal("item", nil) }
func stop(run *enginetest.Run) { run.Signal("stop", nil) }
func nap(run *enginetest.Run)  { run.Advance(time.Minute) }

func TestCancelIsKnownInTheNextGeneration(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, cooperative, flow.Func(func(w *flow.Workflow, round int) (any, error) {
		if round == 0 {
			return nil, flow.ContinueAsNew(w, fmt.Sprint(await(w, "a", "go"))[:0]+"1")
		}
		return []any{w.CancelRequested(), w.Generation()}, await(w, "b", "go")
	}))
	run.ExpectBlocked()
	run.Start(0)
	run.Cancel()
	contains(t, "an input of another type", run.BlockedReason(), "does not fit type int")
	run.Deploy(flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		err := await(w, "b", "go") // it was told in generation 1
		return []any{w.CancelRequested(), w.Generation()}, err
	}))
	run.Retry()
	run.Signal("go", nil)
	output(t, run, `[true,2]`)
}

// TestCompensation: what was done is undone in reverse, on an error and on a wish to cancel, which does not interrupt it.
func TestCompensation(t *testing.T) {
	t.Parallel()
	var undone []string
	book := func(broken string) straight {
		return func(w *flow.Workflow, _ any) (any, error) {
			undone = nil
			for i, name := range []string{"flight", "hotel", "car"} {
				if err := await(w, "book-"+name, "go"); err != nil {
					return nil, err
				}
				flow.Compensate(w, func() error {
					if err := flow.Sleep(w, "undo-"+name, time.Minute); err != nil {
						return err
					}
					if undone = append(undone, name); name == broken {
						return fmt.Errorf("%s cannot be undone", name)
					}
					return nil
				})
				if i == 1 && broken != "no" {
					return nil, errBusiness
				}
			}
			return "booked", nil
		}
	}
	play := func(fn straight, steps ...func(run *enginetest.Run)) *enginetest.Run {
		run := enginetest.New(t, cooperative, flow.Func(fn))
		run.Start(nil)
		for _, step := range append(steps, nap, nap, nap) {
			step(run)
		}
		return run
	}
	if got := play(book(""), goOn, goOn).Failure(); got != "no stock" || !cmp.Equal(undone, []string{"hotel", "flight"}) {
		t.Errorf("failure %q, undone %v", got, undone)
	}
	if got := play(book("hotel"), goOn, goOn).Failure(); got != "no stock compensation: hotel cannot be undone" || len(undone) != 2 {
		t.Errorf("failure %q, undone %v", got, undone)
	}
	if got := play(book(""), goOn, goOn, (*enginetest.Run).Cancel).Failure(); got != "no stock" || len(undone) != 2 {
		t.Errorf("cancelled while undoing: failure %q, undone %v", got, undone)
	}
	if got := play(book("no"), goOn, (*enginetest.Run).Cancel).Status(); got != engine.StatusCancelled || !cmp.Equal(undone, []string{"flight"}) {
		t.Errorf("cancelled: %s, undone %v", got, undone)
	}
	if run := play(book("no"), goOn, goOn, goOn); string(run.Result()) != `"booked"` || undone != nil {
		t.Errorf("a good run: undone %v", undone)
	}
}

// TestLoserThatSettlesLater: the winner of a race stays the winner, also on replay.
func TestLoserThatSettlesLater(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]enginetest.Option{nil, {enginetest.FromTop()}} {
		run := enginetest.New(t, testSpec, flow.Func(func(w *flow.Workflow, _ any) (any, error) {
			hook, limit := flow.CreateHook(w, "hook"), flow.NewTimer(w, "limit", time.Minute)
			first, err := flow.Race(w, hook, limit)
			if err != nil {
				return nil, err
			}
			won := map[flow.Awaitable]string{hook: "hook", limit: "limit"}[first]
			before := hook.Settled()
			if err := await(w, "a", "go"); err != nil {
				return nil, err
			}
			return []any{won, before, hook.Settled(), hook.State()}, await(w, "z", "stop")
		}), opts...)
		run.Start(nil)
		run.Advance(time.Minute)
		run.Resume("hook", nil)
		run.Signal("go", nil)
		run.Signal("stop", nil)
		output(t, run, `["limit",false,true,"answered"]`)
	}
}

// TestStartTimerLivesUntilStop: it runs across awaits that do not name it, and its deadline does not move.
func TestStartTimerLivesUntilStop(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		deadline, stopped := flow.StartTimer(w, "deadline", 2*time.Minute), flow.StartTimer(w, "stopped", time.Minute)
		if err := await(w, "a", "go"); err != nil {
			return nil, err
		}
		stopped.Stop()
		if err := await(w, "b", "go"); err != nil {
			return nil, err
		}
		return []any{deadline.Settled(), stopped.Settled()}, await(w, "c", "go")
	})
	run.Signal("go", nil)
	if diff := cmp.Diff([]string{"deadline", "b"}, run.Waiting()); diff != "" {
		t.Error(diff)
	}
	run.Advance(2 * time.Minute)
	run.Signal("go", nil)
	run.Signal("go", nil)
	output(t, run, `[true,false]`)
}

// TestNowIsTheTimeOfWhatWasShown, however late the turn came and however often the code is replayed.
func TestNowIsTheTimeOfWhatWasShown(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		times := []time.Duration{w.Now().Sub(w.StartedAt())}
		for i := range 3 {
			if err := await(w, engine.ID("a", i), "go"); err != nil {
				return nil, err
			}
			times = append(times, w.Now().Sub(w.StartedAt())/time.Second)
		}
		return []any{times, w.Settled(), w.RunID(), w.Namespace(), w.Name(), w.Version(), w.Generation()}, nil
	})
	run.Hold()
	run.Advance(5 * time.Second)
	run.Signal("go", nil)
	run.Advance(5 * time.Second)
	run.Signal("go", nil)
	run.Advance(5 * time.Second)
	run.Release()
	run.Advance(5 * time.Second)
	run.Signal("go", nil)
	output(t, run, `[[0,5,10,20],3,"run","default","flow.test","1",1]`)
}

// TestTurnIsLinear: in a turn with n facts the code of a loop runs n rounds. Replayed at each fact it would run n²/2.
func TestTurnIsLinear(t *testing.T) {
	t.Parallel()
	const n = 300
	rounds := func(opts ...enginetest.Option) int {
		count := 0
		run := start(t, func(w *flow.Workflow, _ any) (any, error) {
			for i := range n {
				count++
				if err := await(w, engine.ID("a", i), "item"); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}, opts...)
		run.Hold()
		for range n {
			item(run)
		}
		count = 0
		run.Release()
		run.Result()
		return count
	}
	if got := rounds(); got > n+10 {
		t.Errorf("%d rounds for %d facts", got, n)
	}
	if got := rounds(enginetest.FromTop()); got < n*n/2 {
		t.Errorf("%d rounds for %d facts, replayed from the top: the test counts nothing", got, n)
	}
}

func TestHandlerStopsAndOthersTakeOver(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		var handled []int
		var handler *flow.Handler
		handler = flow.OnSignal(w, "item", func(n int) {
			if handled = append(handled, n); n == 2 {
				handler.Stop()
			}
		})
		if err := await(w, "a", "go"); err != nil {
			return nil, err
		}
		rest, err := flow.CollectSignals[int](w, "item", 5, 0)
		handler.Stop()
		return []any{handled, rest}, err
	})
	for n := range 5 {
		run.Signal("item", n)
	}
	goOn(run)
	output(t, run, `[[0,1,2],[3,4]]`)
}

// What the function has done with cannot win, also once the history has settled it.
func TestDisposedHookDoesNotWin(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		gone, open := flow.CreateHook(w, "gone"), flow.CreateHook(w, "open")
		if err := await(w, "a", "go"); err != nil {
			return nil, err
		}
		gone.Dispose()
		if err := await(w, "b", "go"); err != nil {
			return nil, err
		}
		first, err := flow.Race(w, gone, open)
		return first == open, err
	})
	run.Signal("go", nil)
	run.Signal("go", nil)
	run.Resume("open", nil)
	output(t, run, "true")
}

func TestAllWaitsForEveryOne(t *testing.T) {
	t.Parallel()
	run := start(t, func(w *flow.Workflow, _ any) (any, error) {
		a, b := flow.Signal[int](w, "a", "go"), flow.Signal[int](w, "b", "item", engine.Timeout(time.Minute))
		h, gone := flow.CreateHook(w, "h"), flow.CreateHook(w, "gone")
		gone.Dispose()
		if err := flow.All(w, a, b, h, gone); err != nil {
			return nil, err
		}
		_, late := b.Await()
		v, err := a.Await()
		_, lost := gone.Await()
		return []any{v, errors.Is(late, flow.ErrTimedOut), h.State(), lost.Error()}, err
	})
	run.Resume("h", nil)
	run.Signal("go", 7)
	run.Advance(time.Minute)
	output(t, run, `[7,true,"answered","hook \"gone\" is disposed"]`)
}
