package history

import (
	"slices"

	"github.com/flowgate-go/flowgate/spec"
)

// breach names the law that an event breaks against those before it, or "", as far as the fold of one generation does
// not see it: what holds over all generations, and what a fold takes on trust because a turn judged it.
func (p *Projection) breach(e Event) string {
	if _, starts := e.Data.(*RunStarted); !starts && p.state.firstSeq == 0 {
		return "a run begins with run.started"
	}
	switch d := e.Data.(type) {
	case *RunContinued:
		return p.breachOfContinuation(e, d)
	case *RunCompleted, *RunFailed:
		return p.breachOfEnd(true)
	case *RunCancelled:
		return p.breachOfEnd(false)
	case *RunUnblocked:
		if p.state.status != Blocked {
			return "the run is not blocked"
		}
	case *SignalReceived:
		if _, known := p.signals[d.SignalID]; known {
			return "the signal ID was accepted before"
		}
	case *UpdateReceived:
		if _, known := p.updates[d.UpdateID]; known {
			return "the update ID was accepted before"
		}
	case *WaitCompleted:
		return p.breachOfDeadline(d)
	case *HookCreated:
		if _, known := p.hooks[d.HookID]; known {
			return "the hook ID was used before"
		}
	}
	return ""
}

// breachOfEnd: an ending closes every hook first, and a decision that ends a run withdraws its claims.
func (p *Projection) breachOfEnd(decided bool) string {
	switch {
	case len(p.state.active) > 0:
		return "a hook is left open"
	case len(p.state.asking) > 0:
		return "an update is left open"
	case decided && p.claims():
		return "a wait or a timer is left open"
	case p.unfinished():
		return "a step or a child is left open"
	}
	return ""
}

// unfinished says that something is open that an ending, or a new generation, does not leave open. Calls go on.
func (p *Projection) unfinished() bool {
	return slices.ContainsFunc(p.state.working, func(t *task) bool { return t.kind != KindCall })
}

func (p *Projection) claims() bool { return len(p.state.queue)+len(p.state.ticking) > 0 }

// breachOfDeadline: a wait takes only what was accepted in time.
func (p *Projection) breachOfDeadline(d *WaitCompleted) string {
	w, ok := p.state.waits.get(string(d.WaitID))
	if !ok {
		return "" // the fold says so
	}
	if m := p.state.unread.head(w.signal); m != nil && !w.admits(m) {
		return "the signal was accepted after the wait's deadline"
	}
	return ""
}

// breachOfContinuation: what goes over into the next generation is what is left of this one. A fold that begins with the
// event takes it on trust.
func (p *Projection) breachOfContinuation(e Event, d *RunContinued) string {
	for _, seq := range e.Taken {
		if !p.state.take(seq) {
			return "takes a message that is not the next one"
		}
	}
	s := p.state
	switch wish := s.pendingCancel(); {
	case d.TakenTo != s.takenTo:
		return "the messages shown are not those it names"
	case d.CancelRequested != s.cancelShown, !equalWish(d.CancelPending, wish):
		return "the wish to cancel is not the one it names"
	case !d.StartedAt.Equal(s.startedAt):
		return "the run was started at another time than it says"
	case p.claims():
		return "a wait or a timer is left open"
	case p.unfinished():
		return "a step or a child is left open"
	}
	return p.breachOfCarrying(d.Hooks)
}

func equalWish(a, b *PendingWish) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Seq == b.Seq && a.At.Equal(b.At)
}

// breachOfCarrying: every open hook goes over, and every one whose settling was not shown; each as it is.
func (p *Projection) breachOfCarrying(carried []CarriedHook) string {
	untaken := 0
	for _, f := range p.state.pending {
		if f.kind == factHook {
			untaken++
		}
	}
	open := len(p.state.active)
	seen := map[spec.HookID]bool{}
	for _, c := range carried {
		h := p.state.hooks[c.ID]
		if seen[c.ID] {
			return "a hook is carried twice"
		}
		seen[c.ID] = true
		if h == nil || h.rejected != nil || !equalHook(c.record(), p.hooks[c.ID]) {
			return "a hook that it carries is not as it was"
		}
		switch {
		case c.State == StateActive:
			open--
		case !c.Taken:
			untaken--
		}
		if c.Taken != (h.shown != StateActive) || c.State == StateResumed && !c.intact() {
			return "a hook that it carries is not as it was"
		}
	}
	if open != 0 || untaken != 0 {
		return "a hook is left behind"
	}
	return ""
}

// intact says that the answer is the one whose digest is beside it.
func (c CarriedHook) intact() bool {
	digest, ok := digestOf(c.Payload)
	return ok && digest == c.Digest
}
