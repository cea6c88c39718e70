package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// naps sleeps several times.
func naps(n int, each time.Duration) workflow {
	return workflow{spec.WorkflowSpec{Name: "naps", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		for i := range n {
			if id := fmt.Sprint("nap", i); !c.TimerFired(id) {
				return c.Sleep(id, each), nil
			}
		}
		return c.Complete(nil), nil
	}}
}

// keepsBusy has callers start runs and answer them, one after the other, until stop, which says how many they were.
func (r *rig) keepsBusy(callers int) (stop func() int) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.ctx())
	var group sync.WaitGroup
	var sent atomic.Int64
	for k := range callers {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				run := spec.RunID(fmt.Sprint("busy", k, "-", i))
				_, err := r.Start(ctx, engine.StartRequest{Workflow: question.spec.Name, RunID: run, Input: []byte("1")})
				if err == nil {
					_, err = r.SendSignal(ctx, engine.SignalRequest{RunID: run, SignalID: "s", Name: "go", Payload: []byte("1")})
				}
				if err != nil && ctx.Err() == nil {
					r.t.Errorf("%s: %v", run, err)
					return
				}
				sent.Add(1)
			}
		})
	}
	return func() int {
		cancel()
		group.Wait()
		return int(sent.Load())
	}
}

// enoughRuns is what a process takes at least while a test keeps it busy: else it was not.
const enoughRuns = 50

// A process that is busy with what is handed over claims what others made due without telling anybody, within what is
// promised for that, whatever its poll interval.
func TestABusyProcessClaimsWhatOthersMadeDue(t *testing.T) {
	t.Parallel()
	cfg := pollsNever(t, pgtest.New(t))
	cfg.PollInterval = time.Hour
	r := idle(t, cfg, question).run()
	r.start(question, "first", nil)
	r.waiting("first", "w")
	stop := r.keepsBusy(4)
	gate := idle(t, pollsNever(t, r.pool))
	var waits []time.Duration
	for i := range 3 {
		run := spec.RunID(fmt.Sprint("others", i))
		tx, err := r.pool.Begin(r.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gate.StartTx(r.ctx(), tx, engine.StartRequest{Workflow: "ask", Version: "1", RunID: run}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(r.ctx()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r.waiting(run, "w")
		waits = append(waits, time.Since(began))
	}
	if n := stop(); n < enoughRuns {
		t.Errorf("it took %d runs meanwhile: it was not busy", n)
	}
	t.Logf("they waited %v", waits)
	if worst := slices.Max(waits); worst > 4*time.Second {
		t.Errorf("what others made due waited %v", waits)
	}
}

// Timers of a process that is busy with what is handed over fire in time.
func TestABusyProcessFiresItsTimersInTime(t *testing.T) {
	t.Parallel()
	cfg := pollsNever(t, pgtest.New(t))
	cfg.PollInterval = time.Hour
	nap := naps(8, 220*time.Millisecond)
	r := idle(t, cfg, nap, question).run()
	stop := r.keepsBusy(4)
	const runs = 3
	for i := range runs {
		r.start(nap, spec.RunID(fmt.Sprint("nap", i)), nil)
	}
	var late []time.Duration
	for i := range runs {
		run := spec.RunID(fmt.Sprint("nap", i))
		r.completed(run)
		events := r.events(run)
		for k, e := range events {
			if e.Type == "timer.fired" {
				late = append(late, e.At.Sub(events[k-1].At)-220*time.Millisecond)
			}
		}
	}
	n := stop()
	if n < enoughRuns {
		t.Errorf("it took %d runs meanwhile: it was not busy", n)
	}
	slices.Sort(late)
	t.Logf("%d runs; timers were late by %v", n, late)
	if len(late) != 8*runs {
		t.Fatalf("%d timers fired, want %d", len(late), 8*runs)
	}
	if median := late[len(late)/2]; late[0] < 0 || median > 100*time.Millisecond {
		t.Errorf("half of the timers were late by %s or more, the first one by %s", median, late[0])
	}
	if worst := late[len(late)-1]; worst > 900*time.Millisecond {
		t.Errorf("a timer was late by %s", worst)
	}
}

// A timer that a turn opened whose run was handed over fires in time, though nobody else gives a reason to look.
func TestATimerOfAHandedTurnFiresInTime(t *testing.T) {
	t.Parallel()
	cfg := pollsNever(t, pgtest.New(t))
	nap := naps(1, 150*time.Millisecond)
	r := idle(t, cfg, nap).run()
	var late []time.Duration
	for i := range 6 {
		run := spec.RunID(fmt.Sprint("nap", i))
		r.start(nap, run, nil)
		r.completed(run)
		events := r.events(run)
		late = append(late, events[2].At.Sub(events[1].At)-150*time.Millisecond)
	}
	slices.Sort(late)
	t.Logf("timers were late by %v", late)
	if late[0] < 0 || late[len(late)/2] > 100*time.Millisecond {
		t.Errorf("half of the timers were late by %s or more, the first one by %s", late[len(late)/2], late[0])
	}
}
