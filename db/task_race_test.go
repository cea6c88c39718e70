package db

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// fanOut asks for so many steps and calls at once, of which the calls go to three runs in turn.
func fanOut(steps, calls int) author {
	return func(*history.State) history.Decision {
		var cs []history.Command
		for i := range steps {
			cs = append(cs, stepOf(fmt.Sprint("s", i)))
		}
		for i := range calls {
			cs = append(cs, callOf(fmt.Sprintf("c%03d", i), fmt.Sprint("target", i%3)))
		}
		return decide(append(cs, wait("w"))...)
	}
}

// together runs workers at the same time and waits for them.
func together(n int, work func(worker string)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { work(fmt.Sprint("w", i)) })
	}
	all.Wait()
}

// Workers that claim at the same time never begin one task twice, and leave none.
func TestTaskClaimersNeverShareATask(t *testing.T) {
	t.Parallel()
	r := running(t)
	const runs, steps = 5, 40
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	r.drain(by(fanOut(steps, 0)))
	var mu sync.Mutex
	begun := map[string]string{}
	together(4, func(worker string) {
		for {
			claimed := claimOn(t, r.Store, worker, aMinute, TaskWant{Kind: history.TaskStep, Name: "charge", Most: 7})
			if len(claimed) == 0 {
				if value[int](r, `select count(*) from tasks where worker is null`) == 0 {
					return
				}
				continue
			}
			mu.Lock()
			for _, task := range claimed {
				id := fmt.Sprint(task.Run.RunID, "/", task.Task.ID)
				if other, twice := begun[id]; twice || task.Task.Attempt != 1 || task.Strikes != 0 {
					t.Errorf("%s is begun by %s and %s, attempt %d", id, other, worker, task.Task.Attempt)
				}
				begun[id] = worker
			}
			mu.Unlock()
		}
	})
	if len(begun) != runs*steps {
		t.Errorf("%d of %d tasks are begun", len(begun), runs*steps)
	}
}

// Calls of a run to one other are begun one after the other, in the order in which they were asked for, by however many
// workers; those to different runs do not wait for each other.
func TestTaskCallsToOneRunKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	const calls = 60
	r.drain(by(fanOut(0, calls)))
	if first := r.claim("w", time.Millisecond, TaskWant{Kind: history.TaskCall, Most: 50}); len(first) != 3 {
		t.Errorf("%d calls are begun at once, want one for each run", len(first))
	}
	var mu sync.Mutex
	last, settled := map[spec.RunID]int64{}, 0
	together(4, func(worker string) {
		for done := false; !done; {
			for _, task := range claimOn(t, r.Store, worker, aMinute, TaskWant{Kind: history.TaskCall, Most: 5}) {
				mu.Lock()
				if before := last[task.Task.Target]; task.Task.Seq <= before {
					t.Errorf("%s is begun after the call of seq %d", task.Task.ID, before)
				}
				last[task.Task.Target] = task.Task.Seq
				mu.Unlock()
				if task.Task.Seq%5 == 0 && task.Failures < 3 { // those behind it wait for it
					mu.Lock()
					last[task.Task.Target]--
					mu.Unlock()
					if _, err := r.ReturnTask(t.Context(), worker, task, Attempt{Failed: true, Pause: time.Millisecond}); err != nil {
						t.Error(err)
					}
					continue
				}
				if _, err := r.Accept(t.Context(), task.outcome()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				settled++
				mu.Unlock()
			}
			mu.Lock()
			done = settled == calls
			mu.Unlock()
		}
	})
	r.drain(by(fanOut(0, calls)))
	r.agrees()
}

// An outcome, a cancellation and the end of the step's time that come at one instant: the step ends once, whichever is first.
func TestTaskEndsOnceWhenAllComeTogether(t *testing.T) {
	t.Parallel()
	r := running(t)
	const runs = 40
	timed := func(s *history.State) history.Decision {
		d := stepping(s)
		if step, ok := d.Commands[0].(*history.ScheduleStep); ok {
			in := 300 * time.Millisecond
			step.ScheduleToClose = &in
		}
		return d
	}
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	r.drain(by(timed))
	steps := r.claim("w", aMinute, TaskWant{Kind: history.TaskStep, Name: "charge", Most: runs})
	if len(steps) != runs {
		t.Fatalf("%d steps", len(steps))
	}
	r.until("the time is nearly over", func() bool {
		return value[bool](r, `select min(close_at) < clock_timestamp() + interval '5 ms' from tasks`)
	})
	var all sync.WaitGroup
	for i, step := range steps {
		all.Go(func() {
			_, err := r.Accept(t.Context(), step.outcome())
			if err != nil && !errors.Is(err, history.ErrTaskClosed) {
				t.Errorf("outcome: %v", err)
			}
		})
		if i%2 == 0 {
			all.Go(func() {
				_, err := r.Accept(t.Context(), &history.CancelRun{Run: step.Run})
				if err != nil && !errors.Is(err, history.ErrRunEnded) {
					t.Errorf("cancel: %v", err)
				}
			})
		}
	}
	all.Go(func() {
		for value[int](r, `select count(*) from runs where closed_at is null`) > 0 {
			if _, err := r.Advance(t.Context(), by(timed)); err != nil {
				t.Errorf("advance: %v", err)
				return
			}
		}
	})
	all.Wait()
	if n := value[int](r, `select count(*) from events where type in
		('step.completed', 'step.failed', 'step.timed_out', 'step.cancelled')`); n != runs {
		t.Errorf("%d endings of %d steps", n, runs)
	}
	if n := value[int](r, `select count(*) from tasks`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	r.agrees()
}

// Whoever writes rows of tasks meets workers that claim, renew and give back the same rows, and nobody ends in a deadlock
// or with two outcomes.
func TestTaskWritersAndWorkersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	r := running(t)
	before := value[int](r, `select deadlocks from pg_stat_database where datname = current_database()`)
	code := func(s *history.State) history.Decision {
		open := 0
		var cs []history.Command
		for i := range 6 {
			id := fmt.Sprint("s", i)
			if v := s.Task(id); v.State == history.TaskUnknown || v.State == history.TaskOpen {
				open++
				cs = append(cs, stepOf(id))
			}
		}
		if open < 3 {
			return decide(&history.Complete{Output: null})
		}
		return decide(cs...)
	}
	const runs = 30
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	r.drain(by(code))
	over := func() bool { return value[int](r, `select count(*) from runs where closed_at is null`) == 0 }
	together(6, func(worker string) {
		for n := 0; !over(); n++ {
			if worker < "w2" {
				if _, err := r.Advance(t.Context(), by(code)); err != nil {
					t.Errorf("advance: %v", err)
				}
				continue
			}
			claimed := claimOn(t, r.Store, worker, 20*time.Millisecond, TaskWant{Kind: history.TaskStep, Name: "charge", Most: 9})
			var leases []TaskLease
			for _, task := range claimed {
				leases = append(leases, TaskLease{Task: task, Details: []byte("x")})
			}
			if _, err := r.RenewTasks(t.Context(), worker, 20*time.Millisecond, leases); err != nil {
				t.Errorf("renew: %v", err)
			}
			for i, task := range claimed {
				if (i+n)%3 == 0 {
					if _, err := r.ReturnTask(t.Context(), worker, task, Attempt{Failed: true}); err != nil {
						t.Errorf("return: %v", err)
					}
					continue
				}
				_, err := r.Accept(t.Context(), task.outcome())
				if err != nil && !errors.Is(err, history.ErrTaskClosed) && !errors.Is(err, history.ErrStaleAttempt) {
					t.Errorf("outcome: %v", err)
				}
			}
		}
	})
	if n := value[int](r, `select count(*) from (select run, coalesce(data->>'step_id', '') from events
		where type in ('step.completed', 'step.cancelled') group by 1, 2 having count(*) > 1) twice`); n != 0 {
		t.Errorf("%d steps ended twice", n)
	}
	r.sql(`select pg_stat_force_next_flush()`)
	if after := value[int](r, `select deadlocks from pg_stat_database where datname = current_database()`); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
	r.agrees()
}
