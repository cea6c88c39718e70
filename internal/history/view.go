package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// HookView is a hook as workflow code sees it: as of the facts taken.
type HookView struct {
	State    HookState // empty when the hook is unknown or was rejected
	Payload  canon.Payload
	Actor    string // who answered, where that is known
	Rejected *Rejection
}

// Open is one thing that a run waits for.
type Open struct {
	Kind     Kind
	ID       string
	Name     string // the signal of a wait or a call, the name of a hook or a step, the workflow of a child
	Deadline *time.Time
}

// Key names the run.
func (s *State) Key() RunKey { return s.key }

// Workflow is the name and version of the run's spec.
func (s *State) Workflow() (name, version string) { return s.workflow, s.version }

// SpecDigest is the digest of the run's spec.
func (s *State) SpecDigest() canon.Digest { return s.specDigest }

// Input is the input of the generation.
func (s *State) Input() canon.Payload { return s.input }

// StartedAt is when the run started, in its first generation.
func (s *State) StartedAt() time.Time { return s.startedAt }

// Generation counts from 1.
func (s *State) Generation() int { return s.generation }

// Status is where the run stands by its events.
func (s *State) Status() Status { return s.status }

// FirstSeq is the seq of the generation's first event.
func (s *State) FirstSeq() int64 { return s.firstSeq }

// NextSeq is the seq of the next event.
func (s *State) NextSeq() int64 { return s.nextSeq }

// HistoryLength is the number of events in the generation.
func (s *State) HistoryLength() int64 { return s.nextSeq - s.firstSeq }

// Unread is the number of accepted signals that no wait consumed.
func (s *State) Unread() int { return s.unread.size() }

// CancelRequested says that somebody asked to cancel and workflow code may know.
func (s *State) CancelRequested() bool { return s.cancelShown }

// Wait gives the status of a wait, and the payload it consumed when it is done.
func (s *State) Wait(id string) (WaitStatus, canon.Payload) {
	w, ok := s.waits.get(id)
	switch {
	case !ok:
		return WaitUnknown, canon.Payload{}
	case w.took == nil:
		return w.status, canon.Payload{}
	}
	return w.status, w.took.Payload
}

// TimerFired says that the timer's due time passed while it was open.
func (s *State) TimerFired(id string) bool {
	t, ok := s.timers[id]
	return ok && t.status == WaitDone
}

// Hook shows a hook to workflow code and notes that a settled one was asked about.
func (s *State) Hook(id spec.HookID) HookView {
	h, ok := s.hooks[id]
	if !ok {
		return HookView{}
	}
	if h.rejected != nil {
		return HookView{Rejected: h.rejected}
	}
	if h.shown != StateActive {
		s.ask(h)
	}
	view := HookView{State: h.shown}
	if h.shown == StateResumed {
		view.Payload, view.Actor = h.payload, h.record.Actor
	}
	return view
}

// KnowsHook says whether the generation has seen the hook ID: open, settled or rejected.
func (s *State) KnowsHook(id spec.HookID) bool {
	_, ok := s.hooks[id]
	return ok
}

// HookRecords are the records of the hooks of the generation, in order of ID.
func (s *State) HookRecords() []Hook {
	var records []Hook
	for _, h := range s.hooks {
		if h.rejected == nil {
			records = append(records, h.record)
		}
	}
	slices.SortFunc(records, func(a, b Hook) int { return cmp.Compare(a.ID, b.ID) })
	return records
}

// First gives the ID among ids that settled first, or "" while none has. It never changes within a generation. Hooks
// among ids count as asked about.
func (s *State) First(ids ...string) string {
	first, best := "", s.settled+1
	for _, id := range ids {
		if place := s.settledAt(id); place != 0 && place < best {
			first, best = id, place
		}
		if h, ok := s.hooks[spec.HookID(id)]; ok && h.rejected == nil && h.shown != StateActive {
			s.ask(h)
		}
	}
	return first
}

// settledAt is the place of an ID in the order of settling; 0 while it has not settled.
func (s *State) settledAt(id string) int32 {
	if w, ok := s.waits.get(id); ok {
		return w.settled
	}
	if t, ok := s.timers[id]; ok {
		return t.settled
	}
	if h, ok := s.hooks[spec.HookID(id)]; ok {
		return h.settled
	}
	if t, ok := s.tasks.get(id); ok {
		return t.settled
	}
	return 0
}

// Peek lists the unread signals of a name that workflow code may know of, in order of acceptance.
func (s *State) Peek(name string) []*SignalReceived {
	var shown []*SignalReceived
	for m := range s.unread.of(name) {
		if m.seq <= s.takenTo {
			shown = append(shown, m.data)
		}
	}
	return shown
}

// Waiting lists what is open, in the order of opening.
func (s *State) Waiting() []Open {
	type dated struct {
		seq  int64
		open Open
	}
	var all []dated
	for _, w := range s.queue {
		all = append(all, dated{w.openedSeq, Open{Kind: KindWait, ID: string(w.id), Name: w.signal, Deadline: w.deadline}})
	}
	for _, t := range s.ticking {
		due := t.due
		all = append(all, dated{t.openedSeq, Open{Kind: KindTimer, ID: string(t.id), Deadline: &due}})
	}
	for _, h := range s.active {
		all = append(all, dated{h.seq, Open{Kind: KindHook, ID: string(h.record.ID), Name: h.record.Name, Deadline: h.record.ExpiresAt}})
	}
	for _, t := range s.working {
		all = append(all, dated{t.seq, Open{Kind: t.kind, ID: t.id, Name: t.name, Deadline: t.closeAt}})
	}
	slices.SortFunc(all, func(a, b dated) int {
		if c := cmp.Compare(a.seq, b.seq); c != 0 {
			return c
		}
		return cmp.Compare(a.open.ID, b.open.ID)
	})
	open := make([]Open, len(all))
	for i, d := range all {
		open[i] = d.open
	}
	return open
}

// UnreadName says how many accepted signals of a name no wait consumed, and since when the first of them is there.
type UnreadName struct {
	Name   string
	Count  int
	Oldest time.Time
}

// UnreadNames lists them, those that came first in front.
func (s *State) UnreadNames() []UnreadName {
	byName := map[string]*UnreadName{}
	for m := range s.unread.all() {
		n := byName[m.data.Name]
		if n == nil {
			n = &UnreadName{Name: m.data.Name, Oldest: m.at} // those of one name come in order
			byName[m.data.Name] = n
		}
		n.Count++
	}
	names := make([]UnreadName, 0, len(byName))
	for _, n := range byName {
		names = append(names, *n)
	}
	slices.SortFunc(names, func(a, b UnreadName) int {
		if c := a.Oldest.Compare(b.Oldest); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return names
}
