package flow

import (
	"runtime"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Workflow is the run as its function sees it. It belongs to the goroutine that the function was called on.
type Workflow struct {
	ctx   *engine.Context // of the call under way
	turn  engine.Turn     // of the first call; for Fault alone, which any goroutine may use
	owner uint64          // the goroutine
	about about

	now       time.Time // of the place
	place     int       // how far in the order of settling the function has been shown
	known     int       // how far the history goes
	cancelAt  int
	cancelled bool

	byID     map[string]*thing
	byPlace  map[int]*thing
	all      []*thing // in code order
	standing []*thing // of all, those named in every decision
	audited  bool     // this pass was compared with the history
	rounds   map[string]int
	undo     []func() error

	unwinding bool   // the turn is over: nothing has an effect any more
	busy      string // inside what nothing may be waited for; empty outside
	undoing   bool   // a wish to cancel is noted, but interrupts nothing
}

// about is what does not change in a generation.
type about struct {
	run        spec.RunID
	namespace  spec.Namespace
	name       string
	version    string
	generation int
	startedAt  time.Time
}

// Func makes an engine.Workflow of a straight-line function. The input of the generation is decoded into In by the rules of
// encoding/json; an input that does not fit blocks the run.
//
// What the function returns ends the run: completed with the output, which must encode as JSON of at most 4 MiB; failed
// with the error's text; cancelled for an error that is ErrCancelled; or continued for that of ContinueAsNew. A panic blocks
// the run, which goes on after a fixed deploy.
func Func[In, Out any](fn func(w *Workflow, in In) (Out, error)) engine.Workflow {
	if fn == nil {
		return nil
	}
	return func(ctx *engine.Context) (engine.Decision, error) {
		in, err := engine.Input[In](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		w := begin(ctx)
		out, err := fn(w, in)
		return w.end(out, err), nil
	}
}

func begin(ctx *engine.Context) *Workflow {
	t := ctx.Turn()
	return &Workflow{
		ctx: ctx, turn: t, owner: goroutine(),
		about: about{
			run: ctx.RunID(), namespace: ctx.Namespace(), name: ctx.Workflow(), version: ctx.Version(),
			generation: ctx.Generation(), startedAt: ctx.StartedAt(),
		},
		now: t.Moment(0), known: t.Settled(), cancelAt: t.CancelPlace(), cancelled: ctx.CancelRequested() && t.CancelPlace() == 0,
		byID: map[string]*thing{}, byPlace: map[int]*thing{}, rounds: map[string]int{},
	}
}

// RunID is the caller's name of the run; it is the same in every generation.
func (w *Workflow) RunID() spec.RunID { return w.about.run }

// Namespace is the tenant the run belongs to.
func (w *Workflow) Namespace() spec.Namespace { return w.about.namespace }

// Name is the name of the spec the run was started against.
func (w *Workflow) Name() string { return w.about.name }

// Version is the version of the spec the run was started against.
func (w *Workflow) Version() string { return w.about.version }

// Generation counts from 1; ContinueAsNew adds one.
func (w *Workflow) Generation() int { return w.about.generation }

// StartedAt is when the run was started, in every generation.
func (w *Workflow) StartedAt() time.Time { return w.about.startedAt }

// Now is the time at which that happened which the function was shown last: a message was accepted, a deadline passed. It
// is the same on every replay and does not depend on when the turn came, so unlike the clock of an engine.Context it may
// be branched on. Timers count from the turn that opens them, which is a little later.
func (w *Workflow) Now() time.Time {
	w.enter()
	return w.now
}

// Settled is how many things the function was shown to settle in this generation: a reason to ContinueAsNew from some
// thousand on.
func (w *Workflow) Settled() int {
	w.enter()
	return w.place
}

// CancelRequested says that someone asked to cancel the run, and that an await has returned ErrCancelled for it, in this
// generation or an earlier one.
func (w *Workflow) CancelRequested() bool {
	w.enter()
	return w.cancelled
}

// enter comes first in everything that the function may call. It reports true while the goroutine is unwound: then the
// call is to have no effect. It does not return on any other goroutine.
func (w *Workflow) enter() (inert bool) {
	if goroutine() != w.owner {
		w.turn.Fault("package flow was used from a goroutine that the workflow's function started; all of its calls belong to the " +
			"goroutine that the function was called on")
		runtime.Goexit()
	}
	if !w.unwinding {
		w.ctx.Turn().Settled() // ends the goroutine of a call that was abandoned
	}
	return w.unwinding
}

// goroutine identifies the goroutine that calls it: "goroutine 17 [running]…".
func goroutine() uint64 {
	var text [32]byte
	n := runtime.Stack(text[:], false)
	id := uint64(0)
	for _, c := range text[len("goroutine "):n] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}
