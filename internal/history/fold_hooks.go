package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

func (s *State) applyHook(e Event) string {
	id := hookIDOf(e.Data)
	h, known := s.hooks[id]
	switch d := e.Data.(type) {
	case *HookCreated:
		s.opened = true
		if known || !s.mayBe(string(id), KindHook) {
			return "the hook ID was used before"
		}
		s.createHook(e, d)
		return ""
	case *HookRejected:
		s.opened = true
		if known || !s.mayBe(string(id), KindHook) {
			return "the hook ID was used before"
		}
		h := &hook{record: Hook{ID: id}, rejected: &Rejection{Reason: d.Reason, OwnerRun: d.OwnerRun}}
		s.keepHook(h)
		s.settle(&h.settled)
		return ""
	}
	if !known || h.rejected != nil || h.record.State != StateActive {
		return "the hook is not open"
	}
	return s.closeHook(e, h)
}

func (s *State) createHook(e Event, d *HookCreated) {
	h := &hook{
		record: Hook{
			ID: d.HookID, Name: d.Name, Metadata: d.Metadata, Grant: d.Grant, State: StateActive,
			CreatedAt: e.At, ExpiresAt: d.ExpiresAt,
		},
		openedAt: e.At, shown: StateActive, seq: e.Seq,
	}
	if d.OpenedAt != nil {
		h.openedAt = *d.OpenedAt
	}
	s.keepHook(h)
	s.openHook(h, e.At)
	s.count(h)
}

func (s *State) keepHook(h *hook) {
	if s.hooks == nil {
		s.hooks = map[spec.HookID]*hook{}
	}
	s.hooks[h.record.ID] = h
}

func (s *State) openHook(h *hook, at time.Time) {
	if s.active == nil {
		s.active = map[spec.HookID]*hook{}
	}
	s.active[h.record.ID] = h
	s.watch(h.record.ExpiresAt, at)
}

// closeHook ends an open hook. What a caller did is shown to workflow code once the message is taken; what the engine or
// the code did is shown at once.
func (s *State) closeHook(e Event, h *hook) string {
	r := &h.record
	switch d := e.Data.(type) {
	case *HookResumed:
		if r.ExpiresAt != nil && !e.At.Before(*r.ExpiresAt) {
			return "the hook is past its deadline"
		}
		r.State, r.PayloadDigest, r.Source, r.Actor = StateResumed, d.Digest, d.Source, d.Actor
		h.payload = d.Payload
		s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, hook: r.ID, kind: factHook})
	case *HookDisposed:
		r.State, r.Source, r.Actor = StateDisposed, d.Source, d.Actor
		if d.ByCode {
			s.opened, h.byCode = true, true
			s.show(h, StateDisposed)
			break
		}
		s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, hook: r.ID, kind: factHook})
	case *HookExpired:
		if r.ExpiresAt == nil || e.At.Before(*r.ExpiresAt) {
			return "the hook is not past its deadline"
		}
		s.opened = true
		r.State = StateExpired
		if d.ByCode {
			h.byCode = true
			s.show(h, StateDisposed)
			break
		}
		s.advance(later(*r.ExpiresAt, h.openedAt))
		s.show(h, StateExpired)
	case *HookClosed:
		if d.Cause != StateRunEnded && d.Cause != StateCancelled {
			return "the cause is not one of an ending"
		}
		r.State = d.Cause
		s.show(h, d.Cause)
	}
	delete(s.active, r.ID)
	at := e.At
	r.ResolvedAt, r.ResolvedSeq = &at, e.Seq
	return ""
}

func (s *State) show(h *hook, state HookState) {
	h.shown = state
	s.settle(&h.settled)
	s.count(h)
}

// ask notes that workflow code asked about a hook, or wants to have done with it. One that it withdrew does not go over
// anyway, so there is nothing to note.
func (s *State) ask(h *hook) {
	if h.byCode {
		return
	}
	h.asked = true
	s.count(h)
}

// goesOver says whether a roll-over would take the hook along: it is open as far as workflow code was shown, or it settled
// by somebody else's doing and the code never asked about it.
func (h *hook) goesOver() bool {
	if h.rejected != nil || h.byCode {
		return false
	}
	return h.shown == StateActive || !h.read && !h.asked
}

// count keeps the number of hooks that would go over, after one of them changed.
func (s *State) count(h *hook) {
	switch goes := h.goesOver(); {
	case goes && !h.bound:
		s.bound++
	case !goes && h.bound:
		s.bound--
	}
	h.bound = h.goesOver()
}

func (c CarriedHook) record() Hook {
	return Hook{
		ID: c.ID, Name: c.Name, Metadata: c.Metadata, Grant: c.Grant, State: c.State, PayloadDigest: c.Digest,
		CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt, ResolvedAt: c.SettledAt, ResolvedSeq: c.Seq,
		Source: c.Source, Actor: c.Actor,
	}
}

func (c CarriedHook) answer() canon.Payload {
	if c.State != StateResumed {
		return canon.Payload{}
	}
	return canon.Restore(c.Payload, c.Digest)
}

// carried lists what of the hooks goes over into the next generation: the open ones, and those that settled by somebody
// else's doing and that workflow code never asked about.
func (s *State) carried() []CarriedHook {
	var over []CarriedHook
	for _, h := range s.hooks {
		if !h.goesOver() {
			continue
		}
		r, taken := h.record, h.shown != StateActive
		over = append(over, CarriedHook{
			ID: r.ID, Name: r.Name, Metadata: r.Metadata, Grant: r.Grant, State: r.State, CreatedAt: r.CreatedAt,
			ExpiresAt: r.ExpiresAt, SettledAt: r.ResolvedAt, Seq: r.ResolvedSeq, Taken: taken,
			Payload: h.payload.Bytes(), Digest: r.PayloadDigest, Source: r.Source, Actor: r.Actor,
		})
	}
	slices.SortFunc(over, func(a, b CarriedHook) int { return s.settledBefore(a, b) })
	return over
}

// settledBefore orders carried hooks: settled ones first, as they settled, so that the order holds in the next
// generation.
func (s *State) settledBefore(a, b CarriedHook) int {
	if a.Taken != b.Taken {
		if a.Taken {
			return -1
		}
		return 1
	}
	if a.Taken {
		return cmp.Compare(s.hooks[a.ID].settled, s.hooks[b.ID].settled)
	}
	return cmp.Compare(a.ID, b.ID)
}

func sortFacts(facts []fact) {
	slices.SortFunc(facts, func(a, b fact) int { return cmp.Compare(a.seq, b.seq) })
}

// unreadRanges names the unread signals by seq, ascending.
func (s *State) unreadRanges() []SeqRange {
	var seqs []int64
	for m := range s.unread.all() {
		seqs = append(seqs, m.seq)
	}
	slices.Sort(seqs)
	return rangesOf(seqs)
}

// rangesOf joins ascending seqs.
func rangesOf(seqs []int64) []SeqRange {
	var ranges []SeqRange
	for _, seq := range seqs {
		if n := len(ranges); n > 0 && ranges[n-1].To == seq-1 {
			ranges[n-1].To = seq
			continue
		}
		ranges = append(ranges, SeqRange{From: seq, To: seq})
	}
	return ranges
}
