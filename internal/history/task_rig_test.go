package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func (k TaskKey) compare(o TaskKey) int {
	return cmp.Or(cmp.Compare(k.Generation, o.Generation), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.ID, o.ID))
}

// changeTasks does to the rows what a commit does: those that go were there, those that come were not.
func (r *rig) changeTasks(added []Task, closed []TaskKey) {
	for _, key := range closed {
		if _, ok := r.tasks[key]; !ok {
			r.t.Fatalf("%v closes and has no row", key)
		}
		delete(r.tasks, key)
	}
	for _, t := range added {
		if _, ok := r.tasks[t.TaskKey]; ok {
			r.t.Fatalf("%v is new and has a row", t.TaskKey)
		}
		r.tasks[t.TaskKey] = t
	}
}

// attempt begins a task as a worker does.
func (r *rig) attempt(key TaskKey) int {
	t, ok := r.tasks[key]
	if !ok {
		r.t.Fatalf("%v has no row", key)
	}
	if !t.Held {
		t.Attempt++
		t.Begun = true
		r.tasks[key] = t
	}
	return t.Attempt
}

func taskKey(kind TaskKind, id string) TaskKey { return TaskKey{Generation: 1, Kind: kind, ID: id} }

// done gives a task its outcome, of an attempt of its own.
func (r *rig) done(kind TaskKind, id string, v any) (Receipt, error) {
	key := TaskKey{Generation: r.run.Generation, Kind: kind, ID: id}
	return r.accept(&SettleTask{Run: testKey, Task: key, Attempt: r.attempt(key), Output: payload(v)})
}

// fail lets a task fail.
func (r *rig) fail(kind TaskKind, id string, f Failure) (Receipt, error) {
	key := TaskKey{Generation: r.run.Generation, Kind: kind, ID: id}
	f.Attempt = r.attempt(key)
	return r.accept(&SettleTask{Run: testKey, Task: key, Attempt: f.Attempt, Failure: &f})
}

// outcomeOnce gives a task an outcome; a second one changes nothing.
func (r *rig) outcomeOnce(t *rapid.T, m *SettleTask) {
	task, n := r.tasks[m.Task], len(r.events)
	_, err := r.accept(m)
	late := task.CloseAt != nil && !r.now.Before(*task.CloseAt)
	switch {
	case late != errors.Is(err, ErrTaskClosed), !late && task.Held != errors.Is(err, ErrStaleAttempt), !late && !task.Held && err != nil:
		t.Fatalf("%+v, late %v: %v", task, late, err)
	case err != nil && len(r.events) != n:
		t.Fatalf("a refused outcome is an event: %v", r.story()[n:])
	case err != nil:
		return
	}
	n = len(r.events)
	if _, err := r.accept(m); !errors.Is(err, ErrTaskClosed) || len(r.events) != n {
		t.Fatalf("a second outcome of %v: %v", m.Task, err)
	}
}

// describeTask is what a story says of an event of a task.
func describeTask(d Data) string {
	switch d := d.(type) {
	case *StepScheduled:
		return " " + string(d.StepID)
	case *ChildRequested:
		return " " + string(d.ChildID)
	case *SignalRequested:
		return " " + string(d.CallID)
	case *CancelRequested:
		return " " + string(d.CallID)
	case *StepCancelled:
		return fmt.Sprintf(" %s %s", d.StepID, d.Cause)
	case *ChildReleased:
		return fmt.Sprintf(" %s %s", d.ChildID, d.Cause)
	case *StepFailed:
		return fmt.Sprintf(" %s %s", d.StepID, d.Reason)
	case *ChildFailed:
		return fmt.Sprintf(" %s %s", d.ChildID, d.Reason)
	case *CallFailed:
		return fmt.Sprintf(" %s %s", d.CallID, d.Reason)
	case *StepCompleted, *StepTimedOut, *ChildCompleted, *CallDelivered:
		return " " + endingOf(d).id
	}
	return ""
}

// taskRowsAreTheOpenTasks: each task that the fold has open has its row; and a row that is no open task of the generation is
// one of those that outlive it.
func taskRowsAreTheOpenTasks(t *rapid.T, r *rig, s *State) {
	rows := map[TaskKey]Task{}
	for key, row := range r.tasks {
		rows[key] = row
	}
	engaged := 0
	for _, task := range s.tasks.things() {
		if task.shown == TaskOpen {
			engaged++
		}
		if !s.status.Ended() && task.state == TaskOpen != slices.Contains(s.working, task) {
			t.Fatalf("%s %s is %s, and among the open ones: %v", task.kind, task.id, task.state, task.state != TaskOpen)
		}
	}
	if int(s.engaged) != engaged || engaged > r.lim.OpenTasks {
		t.Fatalf("%d tasks count, %d are open as shown; the limit is %d", s.engaged, engaged, r.lim.OpenTasks)
	}
	for _, want := range s.TaskRecords() {
		row, ok := rows[want.TaskKey]
		want.Attempt, want.Held, want.Begun = row.Attempt, row.Held, row.Begun
		if diff := gocmp.Diff(want, row); !ok || diff != "" {
			t.Fatalf("row of %v, which is open (-fold +row):\n%s", want.TaskKey, diff)
		}
		delete(rows, want.TaskKey)
	}
	for key, row := range rows {
		over := r.run.Status.Ended()
		switch {
		case key.Kind == TaskCall && (key.Generation < r.run.Generation || over):
		case key.Kind == TaskChild && over && row.Policy == ChildAbandon:
		case key.Kind == TaskStop && over && row.Policy != ChildAbandon:
		case key.Kind == TaskReport && over && r.run.Parent != nil:
		default:
			t.Fatalf("a row is left: %+v", row)
		}
	}
}

// leftUnseen says that a message is the outcome of a call whose generation ended before it was shown: nobody is to see it.
func leftUnseen(r *rig, seq int64, shown []int64) bool {
	e := r.events[seq-1]
	switch e.Data.(type) {
	case *CallDelivered, *CallFailed, *StepCompleted, *StepFailed:
		return e.Generation < r.run.Generation && !slices.Contains(shown, seq)
	}
	return false
}

// tasksEndOnce: each task that was asked for ends at most once, in its generation, and no ending leaves a step or a child.
func tasksEndOnce(t *rapid.T, r *rig) {
	open := map[string]Kind{}
	for _, e := range r.events {
		switch d := e.Data.(type) {
		case *StepScheduled, *ChildRequested, *SignalRequested, *CancelRequested:
			asked, _ := newTask(d)
			if _, twice := open[asked.id]; twice {
				t.Fatalf("%s is asked for twice", asked.id)
			}
			open[asked.id] = asked.kind
		case *StepCompleted, *StepFailed, *StepTimedOut, *StepCancelled, *ChildCompleted, *ChildFailed, *ChildReleased, *CallDelivered, *CallFailed:
			end := endingOf(d)
			if open[end.id] != end.kind {
				t.Fatalf("%s ends while not open: %v", end.id, r.story())
			}
			open[end.id] = "ended"
		case *RunContinued, *RunCompleted, *RunFailed, *RunCancelled:
			for id, kind := range open {
				if kind == KindStep || kind == KindChild {
					t.Fatalf("%s is left open by %s", id, d.Type())
				}
			}
			open = map[string]Kind{}
		}
	}
}
