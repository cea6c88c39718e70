package db

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Runs of the schema before go on under this one: they agree with it, are nobody's children, and ask for tasks.
func TestMigrateTasks(t *testing.T) {
	t.Parallel()
	r := everythingButTasks(t)
	r.undoTasks()
	if err := Migrate(t.Context(), r.pool.Config().ConnString()); err != nil {
		t.Fatal(err)
	}
	r.pool.Reset() // plans of the schema before
	r.agrees()
	if n := value[int](r, `select count(*) from runs where parent is not null`); n != 0 || r.view("parked").Parent != nil {
		t.Errorf("%d runs have a parent", n)
	}
	receipt := r.ok(r.startOf("fresh"))
	if receipt.Verdict != history.Duplicate {
		t.Errorf("a run of before started again: %+v", receipt)
	}
	code := func(s *history.State) history.Decision {
		if s.Task("step").State == history.TaskUnknown || s.Task("step").State == history.TaskOpen {
			return decide(stepOf("step"), childOf("child", "c", history.ChildTerminate), callOf("call", "parked"), wait("go"))
		}
		return decide(&history.Complete{Output: null})
	}
	r.ok(r.signal("asleep", "more", "1"))
	r.advanceOnly("asleep", code)
	for _, task := range r.claim("w", aMinute, everyWant(5)...) {
		if task.Task.Kind == history.TaskStep {
			r.ok(task.outcome())
		}
	}
	r.advanceOnly("asleep", code)
	if got := r.taskRow("asleep"); got != "stop child attempt 0 failures 0 strikes 0 due, call call attempt 1 failures 0 strikes 0 later of w" {
		t.Error(got)
	}
	r.agrees()
	r.ok(&history.CancelRun{Run: keyOf("pending")})
	r.agrees()
}
