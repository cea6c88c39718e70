package flow

import "time"

// AwaitCondition waits until pred is true. It is asked at once and after everything that settles: signals that a handler of
// OnSignal took, timers, hooks. It must be a function of what the workflow's function knows, and must not wait for
// anything. Errors: ErrCancelled.
func AwaitCondition(w *Workflow, pred func() bool) error {
	return w.await(w.condition(pred))
}

// AwaitConditionTimeout is AwaitCondition with a deadline d, counted from the turn that begins to wait: a timer of that ID.
// It reports whether pred became true. Errors: ErrCancelled.
func AwaitConditionTimeout(w *Workflow, timerID string, d time.Duration, pred func() bool) (bool, error) {
	limit, met := NewTimer(w, timerID, d), false
	holds := w.condition(pred)
	err := w.await(func() bool {
		met = holds()
		return met || limit.t.done()
	}, limit.t)
	return met && err == nil, err
}

func (w *Workflow) condition(pred func() bool) func() bool {
	return func() (met bool) {
		w.within("a condition", func() { met = pred() })
		return met
	}
}
