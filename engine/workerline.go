package engine

import (
	"github.com/flowgate-go/flowgate/db"
)

// line is what shares a number of slots: the steps of a queue, or the messages between runs.
type line struct {
	wants []db.TaskWant // without numbers
	slots int
	used  int  // under the worker's lock
	turn  int  // whose turn it is to be asked for first
	asked int  // how many were asked for in this round
	short bool // the last time there was not room for every name: whoever makes room says so
	full  bool // the last time there was no room at all: what is due goes first
}

// newRound begins to ask for all names. In each line another one is the first.
func (w *worker) newRound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		l.turn, l.asked = (l.turn+1)%len(l.wants), 0
	}
}

// waitsFor lists what was not asked for in this round, of lines that have room.
func (w *worker) waitsFor() (wants []db.TaskWant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		room := l.slots - l.used
		l.short, l.full = room < len(l.wants), room <= 0
		for i := l.asked; i < len(l.wants) && !l.full; i++ {
			wants = append(wants, l.wants[(l.turn+i)%len(l.wants)])
		}
	}
	return wants
}

// wants lists what was not asked for in this round, of lines that have room, and how many of each are to be begun now, whose
// places it takes: leave gives back those that nothing was found for. Half of the room is left to tasks that are begun by the
// commits which make them. 0 is for another time in the round: where a line has less room than names, each name has its turn.
func (w *worker) wants() ([]db.TaskWant, map[db.TaskWant]*line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wants []db.TaskWant
	lines := map[db.TaskWant]*line{}
	for _, l := range w.lines {
		room := l.slots - l.used
		l.short, l.full = room < len(l.wants), room <= 0
		room = (room + 1) / 2
		for i := l.asked; i < len(l.wants) && !l.full; i++ {
			want := l.wants[(l.turn+i)%len(l.wants)]
			lines[want] = l
			if room > 0 {
				want.Most = max(room/(len(l.wants)-i), 1)
				room -= want.Most
				l.used += want.Most
				l.asked++
			}
			wants = append(wants, want)
		}
	}
	return wants, lines
}

// leave gives back the places that were taken for what was not begun. It makes no room that anybody was refused in vain: what
// was stored meanwhile as due has left a hint.
func (w *worker) leave(wants []db.TaskWant, lines map[db.TaskWant]*line, got map[db.TaskWant]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, want := range wants {
		key := db.TaskWant{Kind: want.Kind, Name: want.Name}
		lines[key].used -= want.Most - got[key]
	}
}

// reserve takes a place for a task that is about to be stored, if there is one that nothing waits for.
func (w *worker) reserve(want db.TaskWant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lineOf(want)
	if l == nil || l.full || l.used >= l.slots || w.closing {
		return false
	}
	l.used++
	return true
}

// takes says that there is room for all of the tasks together: if there is not, others are to be told of them.
func (w *worker) takes(wants []db.TaskWant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	more := map[*line]int{}
	for _, want := range wants {
		l := w.lineOf(want)
		if more[l]++; l == nil || l.used+more[l] > l.slots || w.closing {
			return false
		}
	}
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
	short := l.short
	w.mu.Unlock()
	if short {
		hint(w.freed)
	}
}
