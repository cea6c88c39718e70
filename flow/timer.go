package flow

import (
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// Timer is a durable deadline.
type Timer struct{ t *thing }

// NewTimer is a deadline d after the turn that first waits for it. It runs only while an await names it: one that lost a
// race is withdrawn. Its due time is fixed when it is first named; a timer that was withdrawn and is awaited again fires at
// once if that has passed. What is to run across several awaits is StartTimer's.
func NewTimer(w *Workflow, id string, d time.Duration) *Timer {
	return w.timer(id, false, func(ctx *engine.Context) engine.Decision { return ctx.Timer(id, d) })
}

// NewTimerAt is NewTimer for a point in time; one that is past fires at once.
func NewTimerAt(w *Workflow, id string, at time.Time) *Timer {
	return w.timer(id, false, func(ctx *engine.Context) engine.Decision { return ctx.TimerUntil(id, at) })
}

// StartTimer is a deadline d after the next await. It runs from there until it fires or Stop ends it, whatever the
// function waits for meanwhile.
func StartTimer(w *Workflow, id string, d time.Duration) *Timer {
	return w.timer(id, true, func(ctx *engine.Context) engine.Decision { return ctx.Timer(id, d) })
}

// StartTimerAt is StartTimer for a point in time.
func StartTimerAt(w *Workflow, id string, at time.Time) *Timer {
	return w.timer(id, true, func(ctx *engine.Context) engine.Decision { return ctx.TimerUntil(id, at) })
}

func (w *Workflow) timer(id string, standing bool, open func(*engine.Context) engine.Decision) *Timer {
	w.enter()
	return &Timer{w.declare(&thing{kind: timer, id: id, standing: standing, open: open}, "")}
}

// ID is the name of the timer in the history.
func (t *Timer) ID() string { return t.t.id }

// Settled implements Awaitable: the timer has fired.
func (t *Timer) Settled() bool {
	t.t.w.enter()
	return t.t.done()
}

func (t *Timer) awaited() *thing {
	if t == nil {
		return nil
	}
	return t.t
}

// Stop withdraws the timer, in the next decision. On one that fired or was stopped it changes nothing.
func (t *Timer) Stop() { t.t.close() }

// Await waits until the timer fires. One that was stopped never does, which blocks the run if nothing else can happen.
// Errors: ErrCancelled.
func (t *Timer) Await() error { return t.t.w.await(t.t.done, t.t) }

// Sleep waits for d, counted from the turn in which it begins to. Errors: ErrCancelled.
func Sleep(w *Workflow, id string, d time.Duration) error { return NewTimer(w, id, d).Await() }

// SleepUntil waits until a point in time. Errors: ErrCancelled.
func SleepUntil(w *Workflow, id string, at time.Time) error { return NewTimerAt(w, id, at).Await() }
