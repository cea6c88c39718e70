package history

import (
	"cmp"
	"maps"
	"slices"
)

// readTask reads what an event says of the rows of tasks: there is one for each that is open. It knows no rule.
func (p *Projection) readTask(e Event) {
	switch d := e.Data.(type) {
	case *StepScheduled:
		p.addTask(e, Task{TaskKey: TaskKey{Kind: TaskStep, ID: string(d.StepID)}, Name: d.Name, CloseAt: d.CloseAt})
	case *ChildRequested:
		p.addTask(e, Task{TaskKey: TaskKey{Kind: TaskChild, ID: string(d.ChildID)}, Target: d.RunID, Policy: d.OnParentEnd})
	case *SignalRequested:
		p.addTask(e, Task{TaskKey: TaskKey{Kind: TaskCall, ID: string(d.CallID)}, Target: d.Target})
	case *CancelRequested:
		p.addTask(e, Task{TaskKey: TaskKey{Kind: TaskCall, ID: string(d.CallID)}, Target: d.Target})
	case *ChildReleased:
		key := TaskKey{Generation: e.Generation, Kind: TaskChild, ID: string(d.ChildID)}
		if stop, told := p.tasks[key].stop(); told {
			p.loose[stop.TaskKey] = stop
		} else {
			p.loose[key] = p.tasks[key]
		}
		delete(p.tasks, key)
	case *StepCompleted, *StepFailed, *StepTimedOut, *StepCancelled, *ChildCompleted, *ChildFailed, *CallDelivered, *CallFailed:
		end := endingOf(e.Data)
		delete(p.tasks, TaskKey{Generation: e.Generation, Kind: TaskKind(end.kind), ID: end.id})
	case *RunContinued, *RunCompleted, *RunFailed, *RunCancelled:
		p.loosenCalls()
	}
}

func (p *Projection) addTask(e Event, t Task) {
	t.Generation, t.Seq = e.Generation, e.Seq
	p.tasks[t.TaskKey] = t
}

// loosenCalls: what becomes of a call whose generation is over is in no event.
func (p *Projection) loosenCalls() {
	for key, t := range p.tasks {
		if key.Kind == TaskCall {
			p.loose[key] = t
			delete(p.tasks, key)
		}
	}
}

// CompareTask compares one row of tasks. Each is given once, in any order. What was tried so far is in no event.
func (p *Projection) CompareTask(row Task) {
	if p.broken {
		return
	}
	c := comparison{p, RowTask, row.ID}
	want, open := p.tasks[row.TaskKey]
	if !open {
		var may bool
		if want, may = p.loose[row.TaskKey]; !may {
			c.says("", "no event made this row")
			return
		}
	}
	delete(p.tasks, row.TaskKey)
	c.text("name", want.Name, row.Name)
	c.number("seq", want.Seq, row.Seq)
	c.text("target", string(want.Target), string(row.Target))
	c.text("policy", string(want.Policy), string(row.Policy))
	c.time("close_at", want.CloseAt, row.CloseAt)
}

// UnreadableTask is Unreadable for a row of tasks, whose key can be read.
func (p *Projection) UnreadableTask(key TaskKey, text string) {
	delete(p.tasks, key)
	p.note(Difference{Row: RowTask, ID: key.ID, Text: text})
}

func (p *Projection) missTasks() {
	missing := slices.SortedFunc(maps.Values(p.tasks), func(a, b Task) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, t := range missing {
		comparison{p, RowTask, t.ID}.says("", "the row is missing")
	}
}
