package engine

import (
	"github.com/flowgate-go/flowgate/db"
)

// line is what shares a number of slots: the steps of a queue, or the messages between runs.
type line struct {
	wants []db.TaskWant // without numbers
	slots int
	used  int // under the worker's lock
	turn  int // whose turn it is to be asked for first
}

// wants says what there is room for. Where a line has less room than names, each name has its turn.
func (w *worker) wants() ([]db.TaskWant, map[db.TaskWant]*line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wants []db.TaskWant
	lines := map[db.TaskWant]*line{}
	for _, l := range w.lines {
		room := l.slots - l.used
		for i := range l.wants {
			if room <= 0 {
				break
			}
			want := l.wants[(l.turn+i)%len(l.wants)]
			lines[want] = l
			want.Most = max(room/(len(l.wants)-i), 1)
			room -= want.Most
			wants = append(wants, want)
		}
		l.turn = (l.turn + 1) % len(l.wants)
	}
	return wants, lines
}

// reserve takes a place for a task that is about to be stored, if there is one.
func (w *worker) reserve(want db.TaskWant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lineOf(want)
	if l == nil || l.used >= l.slots || w.closing {
		return false
	}
	l.used++
	return true
}

// lineOf is the line of a task; nil when this process does not do it.
func (w *worker) lineOf(want db.TaskWant) *line {
	for _, l := range w.lines {
		for _, mine := range l.wants {
			if mine.Kind == want.Kind && mine.Name == want.Name {
				return l
			}
		}
	}
	return nil
}

// begun starts the attempts of tasks that were stored with places reserved.
func (w *worker) begun(tasks []db.ClaimedTask) {
	for _, t := range tasks {
		w.start(t, w.lineOf(db.TaskWant{Kind: t.Task.Kind, Name: t.Task.Name}), t.Since)
	}
}

// unreserve gives places back.
func (w *worker) unreserve(wants []db.TaskWant) {
	for _, want := range wants {
		w.release(w.lineOf(want))
	}
}

func (w *worker) release(l *line) {
	w.mu.Lock()
	l.used--
	w.mu.Unlock()
	hint(w.freed)
}
