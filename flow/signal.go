package flow

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// ErrTimedOut is the error of a future whose deadline passed before a signal was accepted for it.
var ErrTimedOut = errors.New("the wait timed out")

// Signal is a future of the next unread signal of a name that the workflow's spec declares. It is a claim: it takes a
// signal only while an await names it. Awaiting it returns ErrTimedOut past the deadline of its options.
func Signal[T any](w *Workflow, id, name string, opts ...engine.WaitOption) *Future[T] {
	w.enter()
	t := w.declare(&thing{
		kind: wait, id: id,
		open: func(ctx *engine.Context) engine.Decision { return ctx.WaitForSignal(id, name, opts...) },
	}, name)
	return &Future[T]{t: t, read: func(ctx *engine.Context) (T, error) {
		v, ok, err := engine.SignalPayload[T](ctx, id)
		if !ok {
			return v, ErrTimedOut
		}
		return must(w, v, err), nil
	}}
}

// WaitForSignal takes the next unread signal of a name, and waits for it as long as it takes. A signal that was accepted
// before is taken too. Errors: ErrCancelled.
func WaitForSignal[T any](w *Workflow, id, name string) (T, error) {
	return Signal[T](w, id, name).Await()
}

// WaitForSignalTimeout takes the next unread signal of a name that is accepted before d has passed, counted from the turn
// that opens the wait. The bool is false when there was none. Errors: ErrCancelled.
func WaitForSignalTimeout[T any](w *Workflow, id, name string, d time.Duration) (T, bool, error) {
	v, err := Signal[T](w, id, name, engine.Timeout(d)).Await()
	if errors.Is(err, ErrTimedOut) {
		return v, false, nil
	}
	return v, err == nil, err
}

// TryReceive takes the next unread signal of a name if there is one. That there was none is recorded too: as a wait that
// timed out at once. Errors: ErrCancelled.
func TryReceive[T any](w *Workflow, id, name string) (T, bool, error) {
	return WaitForSignalTimeout[T](w, id, name, 0)
}

// Drain takes the unread signals of a name until there is none, each with a TryReceive of the ID engine.ID(id, i), and
// returns them in the order of acceptance. With the error it returns what it took before. Errors: ErrCancelled.
func Drain[T any](w *Workflow, id, name string) ([]T, error) {
	taken := []T{}
	for i := 0; ; i++ {
		v, ok, err := TryReceive[T](w, engine.ID(id, i), name)
		if err != nil || !ok {
			return taken, err
		}
		taken = append(taken, v)
	}
}

// Forever is the time-out of CollectSignals that never passes.
const Forever time.Duration = -1

// CollectSignals takes n signals of a name in the order of acceptance. When the time-out passes, counted from the turn that
// begins to collect, it returns those that were accepted before; with time-out zero, those that are there, as TryReceive
// takes them. Its waits have the IDs engine.ID(name, 0), engine.ID(name, 1) and so on, which a further call for the same
// name continues; its timers those of "collect-" + name. With the error it returns what it took before. Errors:
// ErrCancelled.
func CollectSignals[T any](w *Workflow, name string, n int, timeout time.Duration) ([]T, error) {
	if w.enter() {
		w.inert()
	}
	taken := []T{}
	var limit *Timer
	var opts []engine.WaitOption
	switch {
	case timeout == Forever || n < 1:
	case timeout == 0:
		opts = append(opts, engine.Timeout(0)) // a timer would come before what is accepted at the very instant
	default:
		limit = StartTimer(w, engine.ID("collect-"+name, w.round("collect-"+name)), timeout)
		defer limit.Stop()
	}
	for len(taken) < n {
		next := Signal[T](w, engine.ID(name, w.round(name)), name, opts...)
		late := func() bool { return limit != nil && limit.t.done() }
		if err := w.await(func() bool { return next.t.done() || late() }, next.t); err != nil {
			return taken, err
		}
		if !next.t.done() {
			break
		}
		v, err := next.read(w.ctx)
		if errors.Is(err, ErrTimedOut) {
			break
		}
		if err != nil {
			return taken, err
		}
		taken = append(taken, v)
	}
	return taken, nil
}

// round counts the uses of a name.
func (w *Workflow) round(name string) int {
	n := w.rounds[name]
	w.rounds[name] = n + 1
	return n
}

// inert ends the goroutine in a call that would wait while it is unwound.
func (w *Workflow) inert() { runtime.Goexit() }

// Handler takes every signal of one name: see OnSignal.
type Handler struct {
	w       *Workflow
	name    string
	n       int
	current *thing
	stopped bool
}

// OnSignal calls handle with every signal of a name, in the order of acceptance, while the function waits for something
// else; AwaitCondition looks at what it changed. Handle runs on the function's goroutine and must not wait for anything.
// The waits have the IDs engine.ID("on-" + name, 0) and so on, so a name has one handler in a generation.
func OnSignal[T any](w *Workflow, name string, handle func(T)) *Handler {
	w.enter()
	h := &Handler{w: w, name: name}
	h.listen(func(id string) {
		v, _, err := engine.SignalPayload[T](w.ctx, id)
		v = must(w, v, err)
		w.within(fmt.Sprintf("the handler of signal %q", name), func() { handle(v) })
	})
	return h
}

// Stop leaves later signals to others. A handler may stop itself.
func (h *Handler) Stop() {
	if h.w.enter() || h.stopped {
		return
	}
	h.stopped = true
	h.current.close()
}

func (h *Handler) listen(handle func(id string)) {
	id := engine.ID("on-"+h.name, h.n)
	h.n++
	h.current = h.w.declare(&thing{
		kind: wait, id: id, standing: true,
		open: func(ctx *engine.Context) engine.Decision { return ctx.WaitForSignal(id, h.name) },
		shown: func() {
			handle(id)
			if !h.stopped {
				h.listen(handle)
			}
		},
	}, h.name)
}

// within calls code of the author that must not wait.
func (w *Workflow) within(what string, call func()) {
	outer := w.busy
	w.busy = what
	defer func() { w.busy = outer }()
	call()
}
