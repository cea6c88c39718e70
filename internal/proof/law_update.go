package proof

import (
	"slices"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// askedUpdate is an update as the history has it so far.
type askedUpdate struct {
	seq   int64
	ended history.Type // by what; empty while it is open
}

// update: one identity has one effect for the life of the run; each update is answered once, by code that was shown it, or
// left to the end of the run.
func (l *lawReader) update(e history.Event) {
	ends := func(id spec.UpdateID) askedUpdate {
		u, asked := l.updates[id]
		if !asked || u.ended != "" {
			l.breaks("update %s is not open: %s", id, u.ended)
		}
		u.ended = e.Data.Type()
		l.updates[id] = u
		return u
	}
	answers := func(id spec.UpdateID) {
		if u := ends(id); !slices.Contains(l.shown, u.seq) {
			l.breaks("update %s is answered, and was not shown", id)
		}
	}
	switch d := e.Data.(type) {
	case *history.UpdateReceived:
		if _, asked := l.updates[d.UpdateID]; asked {
			l.breaks("update %s was received before", d.UpdateID)
		}
		l.updates[d.UpdateID] = askedUpdate{seq: e.Seq}
	case *history.UpdateCompleted:
		answers(d.UpdateID)
	case *history.UpdateRejected:
		answers(d.UpdateID)
	case *history.UpdateOrphaned:
		ends(d.UpdateID)
		l.closings = append(l.closings, d.Cause)
	}
}

// endUpdates: no update outlives its run.
func (l *lawReader) endUpdates() {
	for id, u := range l.updates {
		if u.ended == "" {
			l.breaks("update %s outlives its run", id)
		}
	}
}
