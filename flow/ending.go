package flow

import (
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
)

// continued is the error that ContinueAsNew makes.
type continued struct{ input any }

func (*continued) Error() string { return "the workflow's function continues as new" }

// ContinueAsNew is an error for the function to return: it closes the generation and opens the next one of the same run with
// a new input, and an empty history. Open hooks, answers not yet asked about and unread signals go over; waits, timers and
// compensations end. See engine.Context.ContinueAsNew.
func ContinueAsNew(w *Workflow, input any) error {
	w.enter()
	return &continued{input}
}

// Compensate takes note of how to undo what was done. When the function returns an error, ErrCancelled too, what was noted
// runs in reverse order before the run ends; when it returns none, or continues as new, it does not. Undo may wait for
// anything; a wish to cancel does not interrupt it. If one fails the others run nevertheless, and the run ends as failed
// with all the errors.
func Compensate(w *Workflow, undo func() error) {
	if !w.enter() {
		w.undo = append(w.undo, undo)
	}
}

// compensate runs what was noted, and joins its errors to that of the function.
func (w *Workflow) compensate(err error) (failed error) {
	w.undoing = true
	errs := []error{err}
	for len(w.undo) > 0 {
		last := len(w.undo) - 1
		undo := w.undo[last]
		w.undo = w.undo[:last]
		if err := undo(); err != nil {
			errs = append(errs, fmt.Errorf("compensation: %w", err))
		}
	}
	if len(errs) == 1 {
		return nil
	}
	return errors.Join(errs...)
}

// end makes the decision that ends the generation of what the function returned.
func (w *Workflow) end(out any, err error) engine.Decision {
	var next *continued
	rolls := errors.As(err, &next)
	var failed error
	if err != nil && !rolls {
		failed = w.compensate(err)
	}
	if w.goesOn() {
		w.contradict("the code returns at a place where the history goes on")
	}
	parts := w.parting(err != nil && !rolls)
	var ending engine.Decision
	switch {
	case rolls:
		ending = w.ctx.ContinueAsNew(next.input)
	case failed != nil:
		ending = w.ctx.Fail(failed)
	case errors.Is(err, ErrCancelled):
		ending = w.ctx.Cancelled()
	case err != nil:
		ending = w.ctx.Fail(err)
	default:
		ending = w.ctx.Complete(out)
	}
	return w.ctx.All(append(parts, ending)...)
}

// goesOn says that the history has a place that the function was not shown, and a call before it.
func (w *Workflow) goesOn() bool {
	for place := w.place + 1; place <= w.known; place++ {
		t := w.byPlace[place]
		if place > w.ctx.Turn().Opening() && (t == nil || !w.byCode(t)) {
			return true
		}
	}
	return false
}

// parting is what the last decision names beside the ending: the hooks that the function wants to have done with, and in a
// pass that has not handed in a decision, what settled, to be compared with the history.
func (w *Workflow) parting(failed bool) []engine.Decision {
	full := !w.audited
	w.audit()
	var ds []engine.Decision
	for _, t := range w.named(nil, full) {
		if t.disposal || t.done() || t.late(failed) {
			ds = append(ds, t.name(w.ctx, full))
		}
	}
	return ds
}
