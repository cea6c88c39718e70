package history

import "github.com/flowgate-go/flowgate/internal/canon"

// TaskView is a task as workflow code sees it: as of the facts taken.
type TaskView struct {
	Kind    Kind
	State   TaskState
	Output  canon.Payload // of one that is completed; zero for a call
	Failure *Failure      // of one that failed
}

// Task shows a step, a child or a call to workflow code.
func (s *State) Task(id string) TaskView {
	t, ok := s.tasks.get(id)
	if !ok {
		return TaskView{}
	}
	view := TaskView{Kind: t.kind, State: t.shown}
	switch t.shown {
	case TaskCompleted:
		view.Output = t.output
	case TaskFailed:
		view.Failure = t.failure
	case TaskUnknown, TaskOpen, TaskCancelled: // show nothing more
	}
	return view
}

// TaskRecords are the rows of the generation's open tasks as they are before any attempt, oldest first.
func (s *State) TaskRecords() []Task {
	records := make([]Task, len(s.working))
	for i, t := range s.working {
		records[i] = t.record(s.generation)
	}
	return records
}
