package flow

import (
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
)

// Awaitable is what Race, All and Next wait for: a *Future, a *StepFuture, a *Timer, a *Hook or a
// *Call.
type Awaitable interface {
	// Settled says that the function was shown how it ended: awaiting it returns at once.
	Settled() bool
	awaited() *thing
}

// Future is an answer of type T that is still to come. One that Signal makes is waited for only while an await names it:
// one that lost a race takes no message, and may be awaited again under the deadline it had from the start.
type Future[T any] struct {
	t    *thing
	read func(*engine.Context) (T, error)
}

// ID is the name of the future in the history.
func (f *Future[T]) ID() string { return f.t.id }

// Settled implements Awaitable.
func (f *Future[T]) Settled() bool {
	f.t.w.enter()
	return f.t.done() || f.t.closed
}

func (f *Future[T]) awaited() *thing {
	if f == nil {
		return nil
	}
	return f.t
}

// Await waits for the answer. Errors: ErrCancelled when somebody asked to cancel meanwhile; and what the future's maker
// names. An answer that does not decode into T blocks the run, which goes on after a fixed deploy.
func (f *Future[T]) Await() (T, error) {
	if err := f.t.w.await(func() bool { return f.t.done() || f.t.closed }, f.t); err != nil {
		var none T
		return none, err
	}
	return f.read(f.t.w.ctx)
}

// must gives what was decoded, or blocks the run.
func must[T any](w *Workflow, v T, err error) T {
	if err != nil {
		w.refuse(engine.CauseError, err.Error())
	}
	return v
}

// members are the things behind futures that can still happen. What was stopped or disposed of never will.
func (w *Workflow) members(where string, futures []Awaitable) []*thing {
	live := make([]*thing, len(futures))
	for i, f := range futures {
		t := (*thing)(nil)
		if f != nil {
			t = f.awaited()
		}
		switch {
		case t == nil:
			w.refuse(engine.CauseDecision, fmt.Sprintf("%s got no future at position %d", where, i))
		case t.w != w:
			w.refuse(engine.CauseDecision, fmt.Sprintf("%s got %s of another turn or run", where, t))
		}
		live[i] = t
	}
	return live
}

// Race waits for the first of the futures to settle and returns it. Of several that settled already it is the one that
// settled first: the order never changes, so a loser that is a hook and settles later does not change the winner. Futures
// of signals and timers are waited for while the race lasts, and withdrawn in the decision that follows it. What was
// disposed of or stopped cannot win. Errors: ErrCancelled.
func Race(w *Workflow, futures ...Awaitable) (Awaitable, error) {
	if w.enter() {
		w.inert()
	}
	all := w.members("Race", futures)
	winner := -1
	err := w.await(func() bool {
		for i, t := range all {
			if t.done() && !t.closed && (winner < 0 || t.place < all[winner].place) {
				winner = i
			}
		}
		return winner >= 0
	}, all...)
	if err != nil {
		return nil, err
	}
	return futures[winner], nil
}

// Next is Race over the futures that pending points to, and takes the winner off the list: called again, it gives the
// second to settle. It keeps the order of the rest.
func Next[F Awaitable](w *Workflow, pending *[]F) (F, error) {
	futures := make([]Awaitable, len(*pending))
	for i, f := range *pending {
		futures[i] = f
	}
	winner, err := Race(w, futures...)
	var first F
	if err != nil {
		return first, err
	}
	rest := make([]F, 0, len(*pending)-1)
	for i, f := range futures {
		if f == winner {
			first = (*pending)[i]
			continue
		}
		rest = append(rest, (*pending)[i])
	}
	*pending = rest
	return first, nil
}

// All waits until every future has settled, or was stopped or disposed of. Their answers are there then: Await returns at
// once. Errors: ErrCancelled.
func All(w *Workflow, futures ...Awaitable) error {
	if w.enter() {
		w.inert()
	}
	all := w.members("All", futures)
	return w.await(func() bool {
		for _, t := range all {
			if !t.done() && !t.closed {
				return false
			}
		}
		return true
	}, all...)
}
