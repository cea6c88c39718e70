package flow

import (
	"encoding/json"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
)

// Hook is something an outside party answers. It lives until it is answered, withdrawn or expired, whatever the function
// waits for.
type Hook struct{ t *thing }

// HookClosedError says that a hook ended without an answer: it is Disposed, Expired or Rejected.
type HookClosedError struct {
	HookID string
	State  engine.HookState
	// Rejection says why a Rejected hook could not be opened.
	Rejection engine.Rejection
}

// Error implements error.
func (e *HookClosedError) Error() string {
	if e.State == engine.Rejected {
		return fmt.Sprintf("hook %q was rejected: %s", e.HookID, e.Rejection.Reason)
	}
	return fmt.Sprintf("hook %q is %s", e.HookID, e.State)
}

// CreateHook opens a hook at the next await; options are those of engine.Context.CreateHook. Its ID is unique for the life
// of the run. One that came over from the generation before, open or answered and not asked about, is found again under
// its ID.
func CreateHook(w *Workflow, id string, opts ...engine.HookOption) *Hook {
	w.enter()
	return &Hook{w.declare(&thing{
		kind: hook, id: id, standing: true,
		open:  func(ctx *engine.Context) engine.Decision { return ctx.CreateHook(id, opts...) },
		again: func(ctx *engine.Context) engine.Decision { return ctx.WaitForHook(id) },
	}, "")}
}

// ID is the name of the hook in the history and for callers.
func (h *Hook) ID() string { return h.t.id }

// Settled implements Awaitable: the hook is answered, disposed of, expired or rejected.
func (h *Hook) Settled() bool {
	h.t.w.enter()
	return h.t.done() || h.t.closed
}

func (h *Hook) awaited() *thing {
	if h == nil {
		return nil
	}
	return h.t
}

// State says where the hook stands. It counts as asking about one that settled: see engine.Context.ContinueAsNew.
func (h *Hook) State() engine.HookState {
	w := h.t.w
	switch {
	case w.enter(), h.t.closed:
		return engine.Disposed
	case !h.t.done():
		return engine.Open
	}
	return w.ctx.HookState(h.t.id)
}

// Actor names who answered the hook; see engine.Context.HookActor.
func (h *Hook) Actor() string {
	if h.State() != engine.Answered {
		return ""
	}
	return h.t.w.ctx.HookActor(h.t.id)
}

// Dispose withdraws the hook, in the next decision: its token answers gone from then on, and for the function it is
// disposed of at once. On a hook that settled it changes nothing.
func (h *Hook) Dispose() {
	h.State()
	h.t.close()
}

// Dispose withdraws each of the hooks that has not settled.
func Dispose(hooks ...*Hook) {
	for _, h := range hooks {
		h.Dispose()
	}
}

// Await waits for the answer, as received. Errors: *HookClosedError, ErrCancelled.
func (h *Hook) Await() (json.RawMessage, error) { return AwaitHook[json.RawMessage](h) }

// AwaitHook waits for the answer and decodes it. An answer that does not decode into T blocks the run, which goes on after
// a fixed deploy. Errors: *HookClosedError, ErrCancelled.
func AwaitHook[T any](h *Hook) (T, error) {
	w := h.t.w
	var none T
	if err := w.await(func() bool { return h.t.done() || h.t.closed }, h.t); err != nil {
		return none, err
	}
	if state := h.State(); state != engine.Answered {
		closed := &HookClosedError{HookID: h.t.id, State: state}
		if state == engine.Rejected {
			closed.Rejection, _ = w.ctx.HookRejected(h.t.id)
		}
		return none, closed
	}
	v, _, err := engine.HookPayload[T](w.ctx, h.t.id)
	return must(w, v, err), nil
}
