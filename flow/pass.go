package flow

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/flowgate-go/flowgate/engine"
)

// A pass is one execution of the function from its beginning. It takes the places in the order of settling one by one: at
// each the function is parked at an await, is shown what settled there, and goes on if that is what it waits for. Where
// the history ends the decision is handed in. So a pass that goes over old places does what the passes before it did.

// ErrCancelled is the error of the await at which the function was parked when somebody asked to cancel a run whose spec is
// CooperativeCancel. It comes once: later awaits wait, so that the function can clean up. A function that returns it ends
// the run as cancelled.
var ErrCancelled = errors.New("the run was asked to cancel")

// await parks the function until it is ready, which is asked after each fact. claims are waited for here only.
func (w *Workflow) await(ready func() bool, claims ...*thing) error {
	if w.enter() {
		runtime.Goexit()
	}
	if w.busy != "" {
		w.refuse(engine.CauseDecision, "nothing may be waited for inside "+w.busy)
	}
	for !ready() {
		for met := false; !met; met = !w.ownDoing(w.place) {
			for w.place == w.known {
				w.handIn(claims)
			}
			if w.step(claims) && !w.undoing {
				return ErrCancelled
			}
		}
	}
	return nil
}

// ownDoing says that what settled at a place is what the function withdrew. It has counted with that before, and the
// history has no decision there: the function must not go on from it.
func (w *Workflow) ownDoing(place int) bool {
	t := w.byPlace[place]
	return t != nil && t.closed && w.byCode(t)
}

// step shows the next place. It reports true when it is that of the wish to cancel.
func (w *Workflow) step(claims []*thing) (cancel bool) {
	next := w.place + 1
	t := w.byPlace[next]
	switch {
	case next == w.cancelAt:
		w.prove(claims)
		w.reach(next)
		w.cancelled = true
		return true
	case t == nil:
		w.stranger(next, claims)
		w.reach(next)
		return false
	case !w.byCode(t):
		w.prove(claims)
	}
	if !t.standing && !slices.Contains(claims, t) || t.closed && !t.resource() {
		w.contradict(fmt.Sprintf("the history goes on with %s, for which the code does not wait", t))
	}
	w.reach(next)
	w.drop(t)
	if t.shown != nil {
		t.shown()
	}
	return false
}

func (w *Workflow) reach(place int) { w.place, w.now = place, w.ctx.Turn().Moment(place) }

// byCode says that a thing settled in a decision: the history shows no call between it and what settled before.
func (w *Workflow) byCode(t *thing) bool {
	known, ok := w.ctx.Turn().Thing(t.id)
	return ok && known.ByCode || t.place <= w.ctx.Turn().Opening()
}

// stranger passes over a place of something that the function has not named. Only a hook that came over from an earlier
// generation may have one.
func (w *Workflow) stranger(place int, claims []*thing) {
	if place <= w.ctx.Turn().Opening() {
		return
	}
	for _, known := range w.ctx.Turn().Things() {
		if known.Place == place && !known.Carried {
			w.contradict(fmt.Sprintf("the history goes on with %s %q, which the code has not named", known.Kind, known.ID))
		}
	}
	w.prove(claims)
}

// prove compares what the function waits for with the history, at a place at which the history shows a decision.
func (w *Workflow) prove(claims []*thing) {
	for _, t := range claims {
		w.proveOne(t)
	}
	for _, t := range w.standing {
		w.proveOne(t)
	}
}

func (w *Workflow) proveOne(t *thing) {
	if !t.proven && !t.closed {
		w.contradict(fmt.Sprintf("the code names %s at a place where the history does not have it", t))
	}
}

// audit looks for what the history has and the function did not name. It is asked where the history ends.
func (w *Workflow) audit() {
	if w.audited {
		return
	}
	w.audited = true
	lost := ""
	for _, known := range w.ctx.Turn().Things() {
		if words := fmt.Sprintf("%s %q", known.Kind, known.ID); w.byID[known.ID] == nil && !known.Carried && (lost == "" || words < lost) {
			lost = words
		}
	}
	if lost != "" {
		w.contradict("the history has " + lost + ", which the code has not named")
	}
}

// handIn gives the engine the decision of this call and waits for the next one.
func (w *Workflow) handIn(claims []*thing) {
	full := !w.audited
	w.audit()
	named := w.named(claims, full)
	if !slices.ContainsFunc(named, func(t *thing) bool { return !t.done() && !t.disposal }) {
		w.refuse(engine.CauseNoProgress, "the code waits, but nothing that it has opened can happen any more")
	}
	parts := make([]engine.Decision, len(named))
	for i, t := range named {
		parts[i] = t.name(w.ctx, full)
	}
	w.next(w.ctx.Await(parts...))
	w.known, w.cancelAt = w.ctx.Turn().Settled(), w.ctx.Turn().CancelPlace()
	w.catchUp(named)
}

// catchUp notes what became of the things that were named.
func (w *Workflow) catchUp(named []*thing) {
	for _, t := range named {
		if t.place != 0 {
			continue
		}
		t.proven = true
		if w.known == w.place {
			continue
		}
		known, _ := w.ctx.Turn().Thing(t.id)
		if t.disposal {
			t.place = known.Place
		}
		w.put(w.byID[t.id], known.Place)
	}
	w.standing = slices.DeleteFunc(w.standing, func(t *thing) bool { return t.disposal && t.place != 0 })
}

// named lists what a decision names, in the order of the code: what stands, and the claims of the await. The first decision
// of a pass names in full, with what settled long ago: the engine compares it with the history, and it changes nothing.
func (w *Workflow) named(claims []*thing, full bool) []*thing {
	var list []*thing
	if full {
		for _, t := range w.all {
			if t.done() && !t.disposal {
				list = append(list, t)
			}
		}
	}
	for _, t := range w.standing {
		if !t.done() {
			list = append(list, t)
		}
	}
	for _, t := range claims {
		if !t.standing && !t.done() && !t.closed {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *thing) int { return cmp.Compare(a.order, b.order) })
	return list
}

// next hands in a decision. It does not return when the turn is over.
func (w *Workflow) next(d engine.Decision) {
	w.unwinding = true // what runs before it is false again runs because the goroutine is unwound
	w.ctx = w.ctx.Turn().Next(d)
	w.unwinding = false
}

// refuse blocks the run and ends the goroutine.
func (w *Workflow) refuse(cause engine.BlockCause, words string) {
	w.next(w.ctx.Turn().Refuse(cause, words))
	runtime.Goexit()
}

func (w *Workflow) contradict(words string) { w.refuse(engine.CauseNonDeterminism, words) }
