package flow

import (
	"errors"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrWithdrawn is the error of a step that the function has cancelled itself.
var ErrWithdrawn = errors.New("the step was cancelled by the workflow")

// StepFuture is the outcome of a step that is still to come. A step is done whether or not an await names it, until it has
// an outcome or Cancel ends it: one that loses a race goes on.
type StepFuture[Out any] struct{ Future[Out] }

// Cancel withdraws the step, in the next decision: the context of its function ends, and no attempt follows. For the
// workflow it is withdrawn at once. On a step that has settled it changes nothing.
func (f *StepFuture[Out]) Cancel() { f.t.close() }

func (f *StepFuture[Out]) awaited() *thing {
	if f == nil {
		return nil
	}
	return f.t
}

// StartStep asks for a step at the next await: a side effect that a process which registers the name does, outside turns.
// See engine.Context.RunStep for what the arguments mean. Awaiting it returns the output, or *engine.StepFailure once it has
// failed for good, or ErrWithdrawn. A function that returns an output must have awaited the step or cancelled
// it; one that returns an error before an await has followed never begins the step.
func StartStep[Out any](
	w *Workflow, id, name string, input any, retry spec.RetryPolicy, opts ...engine.StepOption,
) *StepFuture[Out] {
	t := w.task(step, id, func(ctx *engine.Context) engine.Decision { return ctx.RunStep(id, name, input, retry, opts...) })
	return &StepFuture[Out]{Future[Out]{t: t, read: func(ctx *engine.Context) (Out, error) {
		if t.closed {
			var none Out
			return none, ErrWithdrawn
		}
		v, _, err := engine.StepOutput[Out](ctx, id)
		return outcome[*engine.StepFailure](w, v, err)
	}}}
}

// Step does a step and waits for its output: StartStep and Await. Errors: *engine.StepFailure, ErrCancelled.
func Step[Out any](
	w *Workflow, id, name string, input any, retry spec.RetryPolicy, opts ...engine.StepOption,
) (Out, error) {
	return StartStep[Out](w, id, name, input, retry, opts...).Await()
}

// StartChild asks for a run of its own at the next await, of which this run is the parent: see engine.Context.StartChild.
// Awaiting it returns the child's output, or *engine.ChildFailure once the child has ended otherwise.
func StartChild[Out any](
	w *Workflow, id, workflow string, runID spec.RunID, input any, opts ...engine.ChildOption,
) *Future[Out] {
	t := w.task(child, id, func(ctx *engine.Context) engine.Decision { return ctx.StartChild(id, workflow, runID, input, opts...) })
	return &Future[Out]{t: t, read: func(ctx *engine.Context) (Out, error) {
		v, _, err := engine.ChildOutput[Out](ctx, id)
		return outcome[*engine.ChildFailure](w, v, err)
	}}
}

// Child runs a child and waits for its output: StartChild and Await. Errors: *engine.ChildFailure, ErrCancelled.
func Child[Out any](
	w *Workflow, id, workflow string, runID spec.RunID, input any, opts ...engine.ChildOption,
) (Out, error) {
	return StartChild[Out](w, id, workflow, runID, input, opts...).Await()
}

// Call is a message to another run on its way.
type Call struct{ t *thing }

// SignalRun sends a signal to another run, in the decision of the next await or of the function's end: see
// engine.Context.SignalRun. It need not be awaited.
func SignalRun(w *Workflow, id string, target spec.RunID, signal engine.OutgoingSignal) *Call {
	return &Call{w.task(call, id, func(ctx *engine.Context) engine.Decision { return ctx.SignalRun(id, target, signal) })}
}

// RequestCancel asks to cancel another run, as SignalRun sends.
func RequestCancel(w *Workflow, id string, target spec.RunID, reason string) *Call {
	return &Call{w.task(call, id, func(ctx *engine.Context) engine.Decision { return ctx.RequestCancel(id, target, reason) })}
}

// ID is the name of the call in the history.
func (c *Call) ID() string { return c.t.id }

// Settled implements Awaitable: the message was delivered, or refused for good.
func (c *Call) Settled() bool {
	c.t.w.enter()
	return c.t.done()
}

func (c *Call) awaited() *thing {
	if c == nil {
		return nil
	}
	return c.t
}

// Await waits until the other run has accepted the message. Errors: *engine.CallFailure, ErrCancelled.
func (c *Call) Await() error {
	if err := c.t.w.await(c.t.done, c.t); err != nil {
		return err
	}
	if failure, failed := c.t.w.ctx.CallFailed(c.t.id); failed {
		return failure
	}
	return nil
}

// task declares a step, a child or a call.
func (w *Workflow) task(k kind, id string, open func(*engine.Context) engine.Decision) *thing {
	w.enter()
	return w.declare(&thing{kind: k, id: id, standing: true, open: open}, "")
}

// outcome passes on what the history says of a task, and blocks the run for an output that does not decode.
func outcome[Failure error, Out any](w *Workflow, v Out, err error) (Out, error) {
	var failure Failure
	if errors.As(err, &failure) {
		return v, err
	}
	return must(w, v, err), nil
}
