package history

import (
	"cmp"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// due is an item whose time has come, with the time that orders it among the accepted messages.
type due struct {
	effective time.Time
	seq       int64
	kind      Kind
	id        string
}

// data is the content of the event that ends the item.
func (d due) data() Data {
	switch d.kind {
	case KindWait:
		return &WaitTimedOut{WaitID: spec.WaitID(d.id)}
	case KindTimer:
		return &TimerFired{TimerID: spec.TimerID(d.id)}
	case KindHook:
		return &HookExpired{HookID: spec.HookID(d.id)}
	case KindStep:
		return &StepTimedOut{StepID: spec.StepID(d.id)}
	case KindChild, KindCall, KindUpdate, KindEnding:
	}
	panic("history: nothing of this kind ends by time")
}

// earliestDue finds the item to settle first among those due at the turn's time, if there is one. A turn asks after every
// fact: once nothing was due, it looks again only when something is opened that is.
func (t *Turn) earliestDue() (due, bool) {
	if t.quiet && !t.state.openedDue {
		return due{}, false
	}
	first, found := t.state.earliestDue(t.now)
	t.quiet, t.state.openedDue = !found, false
	return first, found
}

// watch takes note of the deadline of what is opened at a time.
func (s *State) watch(deadline *time.Time, at time.Time) {
	if deadline != nil && !deadline.After(at) {
		s.openedDue = true
	}
}

// earliestDue finds the item to settle first among those due at now, if there is one.
func (s *State) earliestDue(now time.Time) (due, bool) {
	var first due
	found := false
	s.eachDeadline(func(deadline time.Time, d due) {
		if now.Before(deadline) {
			return
		}
		if !found || d.before(first) {
			first, found = d, true
		}
	})
	return first, found
}

func (d due) before(other due) bool {
	if c := d.effective.Compare(other.effective); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(d.seq, other.seq); c != 0 {
		return c < 0
	}
	return d.id < other.id
}

// nextDue is the earliest deadline of anything open; nil when nothing has one.
func (s *State) nextDue() *time.Time { return s.dueAfter(time.Time{}) }

// EndsBy says that something open ends by time at t or before: a wait, a timer, a hook or a step.
func (s *State) EndsBy(t time.Time) bool {
	next := s.nextDue()
	return next != nil && !next.After(t)
}

// dueAfter is the earliest deadline after a time; the zero time is before all.
func (s *State) dueAfter(t time.Time) *time.Time {
	var next time.Time
	found := false
	s.eachDeadline(func(deadline time.Time, _ due) {
		if (t.IsZero() || deadline.After(t)) && (!found || deadline.Before(next)) {
			next, found = deadline, true
		}
	})
	if !found {
		return nil
	}
	first := next // on the heap only when there is one
	return &first
}

// eachDeadline visits every open thing that ends by time. A deadline before the opening counts as the opening.
func (s *State) eachDeadline(visit func(deadline time.Time, d due)) {
	for _, w := range s.queue {
		if w.deadline != nil {
			visit(*w.deadline, due{later(*w.deadline, w.openedAt), w.openedSeq, KindWait, string(w.id)})
		}
	}
	for _, t := range s.ticking {
		visit(t.due, due{later(t.due, t.openedAt), t.openedSeq, KindTimer, string(t.id)})
	}
	for id, h := range s.active {
		if h.record.ExpiresAt != nil {
			visit(*h.record.ExpiresAt, due{later(*h.record.ExpiresAt, h.openedAt), h.seq, KindHook, string(id)})
		}
	}
	for _, t := range s.working {
		if t.closeAt != nil {
			visit(*t.closeAt, due{later(*t.closeAt, t.openedAt), t.seq, t.kind, t.id})
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
