package engine

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Turn is what a layer over decisions may know and do beyond its authors: package flow is written with it. A workflow
// that returns decisions needs none of it.
type Turn struct{ ctx *Context }

// Turn gives access to the turn that the call is part of.
func (c *Context) Turn() Turn { return Turn{c} }

// Next hands in the decision of the call, as returning it would, and waits where it stands for the next call of the same
// turn, whose Context it returns; the old one is over. When the turn has no further call it does not return: it ends the
// goroutine (runtime.Goexit), and the turn waits until the deferred functions have run, for at most Config.CallBudget.
// Only the goroutine that the engine called the function on may use it.
func (t Turn) Next(d Decision) *Context { return t.ctx.author.next(t.ctx, d) }

// Fault blocks the run, as non-deterministic and with these words, whatever the call under way decides. It may be used
// from any goroutine, also when the Context is over; once the turn is over it does nothing.
func (t Turn) Fault(words string) { t.ctx.author.fault.CompareAndSwap(nil, &words) }

// BlockCause says what stopped workflow code.
type BlockCause = history.BlockCause

// The causes that a layer may give.
const (
	CauseError          = history.BlockError          // the author's code is at fault, and says so itself
	CauseDecision       = history.BlockDecision       // it asks for something that cannot be
	CauseNonDeterminism = history.BlockNonDeterminism // it contradicts the history
	CauseNoProgress     = history.BlockNoProgress     // it waits for nothing that can happen
)

// Refuse is a decision that blocks the run. The words are shown to operators: they hold no payload and no secret.
func (t Turn) Refuse(cause BlockCause, words string) Decision {
	return Decision{err: &refusedTurn{cause, words}}
}

type refusedTurn struct {
	cause BlockCause
	words string
}

func (r *refusedTurn) Error() string { return r.words }

// Thing is what an ID of the generation stands for.
type Thing = history.Thing

// Thing shows what the history knows under an ID. It does not count as asking about a hook.
func (t Turn) Thing(id string) (Thing, bool) { return t.ctx.use().Thing(id) }

// Things shows all that the generation's history knows, in any order.
func (t Turn) Things() []Thing { return t.ctx.use().Things() }

// Settled is how many places the order of settling has: the order in which workflow code was shown what settled, which
// never changes. First goes by it.
func (t Turn) Settled() int { return t.ctx.use().Settled() }

// Opening is how many of those places were taken before the generation's first call.
func (t Turn) Opening() int { return t.ctx.use().Opening() }

// CancelPlace is the place of the wish to cancel in that order; 0 when this generation was not shown one.
func (t Turn) CancelPlace() int { return t.ctx.use().CancelPlace() }

// Moment is the effective time of a place in that order: acceptance or due time, whenever the turn came. Place 0 is the
// beginning of the generation.
func (t Turn) Moment(place int) time.Time { return t.ctx.use().Moment(place) }
