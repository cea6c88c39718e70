package history

import (
	"cmp"
	"time"
)

// due is an item whose time has come, with the time that orders it among the accepted messages.
type due struct {
	effective time.Time
	seq       int64
	id        string
	data      Data
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
func (s *State) nextDue() *time.Time {
	var next *time.Time
	s.eachDeadline(func(deadline time.Time, _ due) {
		if next == nil || deadline.Before(*next) {
			next = &deadline
		}
	})
	return next
}

// eachDeadline visits every open thing that ends by time. A deadline before the opening counts as the opening.
func (s *State) eachDeadline(visit func(deadline time.Time, d due)) {
	for _, w := range s.queue {
		if w.deadline != nil {
			visit(*w.deadline, due{later(*w.deadline, w.openedAt), w.openedSeq, string(w.id), &WaitTimedOut{WaitID: w.id}})
		}
	}
	for _, t := range s.timers {
		if t.status == WaitOpen {
			visit(t.due, due{later(t.due, t.openedAt), t.openedSeq, string(t.id), &TimerFired{TimerID: t.id}})
		}
	}
	for id, h := range s.hooks {
		if h.rejected == nil && h.record.State == StateActive && h.record.ExpiresAt != nil {
			visit(*h.record.ExpiresAt, due{later(*h.record.ExpiresAt, h.openedAt), h.seq, string(id), &HookExpired{HookID: id}})
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
