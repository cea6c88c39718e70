package history

import (
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Thing is what an ID of the generation stands for, with its place in the order of settling. That order is the order in
// which workflow code was shown that things settled; it never changes.
type Thing struct {
	Kind    Kind
	ID      string
	Name    string // the signal of a wait or a call, the name of a step, the workflow of a child
	Place   int    // from 1; 0 while it has not settled
	Carried bool   // it came over from the generation before
	ByCode  bool   // it settled in the decision itself: nobody was called in between
}

// Thing shows what an ID stands for. Unlike Hook it does not count as asking about it.
func (s *State) Thing(id string) (Thing, bool) {
	if w, ok := s.waits.get(id); ok {
		return w.thing(), true
	}
	if t, ok := s.timers[id]; ok {
		return t.thing(), true
	}
	if h, ok := s.hooks[spec.HookID(id)]; ok {
		return s.hookThing(h), true
	}
	if t, ok := s.tasks.get(id); ok {
		return t.thing(), true
	}
	return Thing{}, false
}

// Things shows all of them, in any order.
func (s *State) Things() []Thing {
	all := make([]Thing, 0, len(s.waits.few)+len(s.waits.many)+len(s.timers)+len(s.hooks))
	for _, w := range s.waits.few {
		all = append(all, w.thing())
	}
	for _, w := range s.waits.many {
		all = append(all, w.thing())
	}
	for _, t := range s.timers {
		all = append(all, t.thing())
	}
	for _, h := range s.hooks {
		all = append(all, s.hookThing(h))
	}
	for t := range s.tasks.all() {
		all = append(all, t.thing())
	}
	return all
}

func (w *wait) thing() Thing {
	return Thing{Kind: KindWait, ID: string(w.id), Name: w.signal, Place: int(w.settled)}
}

func (t *timer) thing() Thing {
	return Thing{Kind: KindTimer, ID: string(t.id), Place: int(t.settled)}
}

func (s *State) hookThing(h *hook) Thing {
	return Thing{
		Kind: KindHook, ID: string(h.record.ID), Place: int(h.settled),
		Carried: h.rejected == nil && h.seq == s.firstSeq, ByCode: h.byCode || h.rejected != nil,
	}
}

func (t *task) thing() Thing {
	return Thing{Kind: t.kind, ID: t.id, Name: t.name, Place: int(t.settled), ByCode: t.state == TaskCancelled}
}

// Settled is the last place taken in the order of settling. A wish to cancel has a place there too.
func (s *State) Settled() int { return int(s.settled) }

// Opening is the last place that was taken before the generation's first call: by hooks that came over settled.
func (s *State) Opening() int { return int(s.opening) }

// CancelPlace is the place of the wish to cancel; 0 when there is none, or it was shown in an earlier generation.
func (s *State) CancelPlace() int { return int(s.cancelled) }

// Moment is the effective time at which a place was taken; of place 0, the one at which the generation began.
func (s *State) Moment(place int) time.Time {
	if place < 1 || place > len(s.moments) {
		return time.UnixMicro(s.began).UTC()
	}
	return time.UnixMicro(s.moments[place-1]).UTC()
}
