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
	case KindEnding:
	}
	panic("history: nothing of this kind ends by time")
}

// earliestDue finds the item to settle first among those due at now, if there is one. A turn asks after every fact, at
// one now: once nothing was due, it looks again only when something is opened that is.
func (s *State) earliestDue(now time.Time) (due, bool) {
	if !now.After(s.quietTo) {
		return due{}, false
	}
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
	if !found {
		s.quietTo = now
	}
	return first, found
}

// watch takes note of the deadline of what is opened.
func (s *State) watch(deadline *time.Time) {
	if deadline != nil && !deadline.After(s.quietTo) {
		s.quietTo = time.Time{}
	}
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

// dueAfter is the earliest deadline after a time; the zero time is before all.
func (s *State) dueAfter(t time.Time) *time.Time {
	var next *time.Time
	s.eachDeadline(func(deadline time.Time, _ due) {
		if (t.IsZero() || deadline.After(t)) && (next == nil || deadline.Before(*next)) {
			next = &deadline
		}
	})
	return next
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
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
