package db

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// everyWant is all that tests ask workers to do, so many of each at most.
func everyWant(most int) []TaskWant {
	return []TaskWant{
		{Kind: history.TaskStep, Name: "charge", Most: most},
		{Kind: history.TaskChild, Most: most},
		{Kind: history.TaskCall, Most: most},
		{Kind: history.TaskReport, Most: most},
		{Kind: history.TaskStop, Most: most},
	}
}

// claim begins what is due, for a worker.
func (r *acceptRig) claim(worker string, lease time.Duration, wants ...TaskWant) []ClaimedTask {
	r.t.Helper()
	return claimOn(r.t, r.Store, worker, lease, wants...)
}

func claimOn(t testing.TB, s *Store, worker string, lease time.Duration, wants ...TaskWant) []ClaimedTask {
	t.Helper()
	claimed, err := s.ClaimTasks(t.Context(), TaskClaim{Worker: worker, Lease: lease, Wants: wants})
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	for _, task := range claimed.Tasks {
		if task.Err() != nil {
			t.Fatalf("%v cannot be read: %v", task.Task.TaskKey, task.Err())
		}
	}
	slices.SortFunc(claimed.Tasks, func(a, b ClaimedTask) int {
		return cmp.Or(a.Run.Compare(b.Run), cmp.Compare(a.Task.Seq, b.Task.Seq), cmp.Compare(a.Task.ID, b.Task.ID))
	})
	return claimed.Tasks
}

// one begins the one step that is due.
func (r *acceptRig) one(worker string, lease time.Duration) ClaimedTask {
	r.t.Helper()
	var got []ClaimedTask
	r.until("a step is due", func() bool {
		got = r.claim(worker, lease, TaskWant{Kind: history.TaskStep, Name: "charge", Most: 10})
		return len(got) > 0
	})
	if len(got) != 1 {
		r.t.Fatalf("%d steps are due", len(got))
	}
	return got[0]
}

// outcome settles a task as its attempt under way does.
func (t ClaimedTask) outcome() *history.SettleTask {
	return &history.SettleTask{Run: t.Run, Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Output: null}
}

// failure lets a task fail, with a letter if it is a step.
func (t ClaimedTask) failure() *history.SettleTask {
	m := t.outcome()
	m.Failure = &history.Failure{Reason: history.FailedExhausted, Code: "c", Message: "m", Attempt: t.Task.Attempt}
	if t.Task.Kind == history.TaskStep {
		m.Letter = &history.Letter{Failure: *m.Failure}
	}
	return m
}

// stepping asks for one step and completes with what became of it.
func stepping(s *history.State) history.Decision {
	switch v := s.Task("s"); v.State {
	case history.TaskCompleted, history.TaskCancelled:
		return decide(&history.Complete{Output: null})
	case history.TaskFailed:
		return decide(&history.Fail{Message: string(v.Failure.Reason)})
	}
	return decide(stepOf("s"))
}

// stepRun has a run whose step is open.
func (r *acceptRig) stepRun(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		r.ok(r.startOf(id))
	}
	r.drain(by(stepping))
}

// taskRow is a row of tasks in words.
func (r *acceptRig) taskRow(run string) string {
	r.t.Helper()
	return value[string](r, `select coalesce(string_agg(concat_ws(' ', kind, task_id, 'attempt', attempt, 'failures', failures, 'strikes', strikes,
		case when run_after > '9000-01-01' then 'parked' when run_after <= clock_timestamp() then 'due' else 'later' end,
		'of ' || worker, case when held then 'held' end, convert_from(details, 'UTF8'), last_error), ', ' order by seq, task_id), '')
		from tasks where run = (select id from runs where run_id = $1)`, run)
}

func (r *acceptRig) wantRow(what, run, want string) {
	r.t.Helper()
	if got := r.taskRow(run); got != want {
		r.t.Errorf("%s the row is %q, want %q", what, got, want)
	}
}

// letters are the dead letters in words, oldest first.
func (r *acceptRig) letterRows() string {
	r.t.Helper()
	return value[string](r, `select coalesce(string_agg(concat_ws(' ', run_id, step_id, name, reason, attempt, state, actor), ', ' order by d.id), '')
		from dead_letters d join runs r on r.id = d.run`)
}

// working has tasks of every kind open beside a wait, continues as new once its step and its message are there, and ends in
// the second generation with the next message.
func working(s *history.State) history.Decision {
	done, _ := s.Wait("w")
	switch step := s.Task("s").State; {
	case s.Generation() == 2 && done == history.WaitDone:
		return decide(&history.Complete{Output: null})
	case s.Generation() == 2:
		return decide(append(withTasks(s).Commands, wait("w"))...)
	case done == history.WaitDone && step == history.TaskCompleted:
		return decide(callOf("last", "somebody"), &history.ContinueAsNew{Input: null})
	}
	return decide(stepOf("s"), callOf("k", "somebody"), wait("w"))
}
