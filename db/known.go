package db

import (
	"container/list"
	"sync"

	"github.com/flowgate-go/flowgate/internal/history"
)

// knownRuns keeps the records of runs as this process's own commits left them, so that a message can be decided before the
// run's row is read. Another process may have changed a run since: what was decided on a record is worth something only
// once a statement found the row, under lock, as the record says. What was used last is kept longest. It is safe for
// concurrent use.
type knownRuns struct {
	limit int

	mu    sync.Mutex
	byKey map[history.RunKey]*list.Element // of storedRun
	order *list.List                       // used last in front
}

func newKnownRuns(limit int) *knownRuns {
	return &knownRuns{limit: max(limit, 0), byKey: map[history.RunKey]*list.Element{}, order: list.New()}
}

// get returns the record of a running run.
func (k *knownRuns) get(key history.RunKey) (storedRun, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byKey[key]
	if !ok {
		return storedRun{}, false
	}
	k.order.MoveToFront(e)
	return *e.Value.(*storedRun), true
}

// keptLabels bounds the labels that are kept with a record, which needs them only to show them.
const keptLabels = 4

// put keeps the record of a run as a commit left it, if another message to the run may be accepted: the record of one that
// is not running is let go. One that is older than what is kept changes nothing.
func (k *knownRuns) put(r storedRun) {
	run := r.Run
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byKey[run.Key]
	switch {
	case ok && e.Value.(*storedRun).Run.NextSeq > run.NextSeq:
		return
	case run.Status != history.Running:
		if ok {
			k.remove(e)
		}
		return
	}
	if len(run.Labels) > keptLabels {
		r.Run.Labels, r.bare = nil, true
	}
	if ok {
		*e.Value.(*storedRun) = r
		k.order.MoveToFront(e)
		return
	}
	k.byKey[run.Key] = k.order.PushFront(&r)
	for k.order.Len() > k.limit {
		k.remove(k.order.Back())
	}
}

// drop forgets a record that was found to be old.
func (k *knownRuns) drop(old history.Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.byKey[old.Key]; ok && e.Value.(*storedRun).Run.NextSeq <= old.NextSeq {
		k.remove(e)
	}
}

func (k *knownRuns) remove(e *list.Element) {
	delete(k.byKey, e.Value.(*storedRun).Run.Key)
	k.order.Remove(e)
}
