package engine

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Reader shows a run to code: it is the *Context of a workflow function, or the *QueryContext of a query, so that both can
// use one function of the author's. Functions such as SignalPayload take it.
type Reader interface {
	RunID() spec.RunID
	Namespace() spec.Namespace
	Workflow() string
	Version() string
	Generation() int
	Input() json.RawMessage
	StartedAt() time.Time
	HistoryLength() int64
	CancelRequested() bool
	WaitTimedOut(waitID string) bool
	TimerFired(timerID string) bool
	First(ids ...string) string
	HookState(hookID string) HookState
	HookDisposed(hookID string) bool
	HookExpired(hookID string) bool
	HookRejected(hookID string) (Rejection, bool)
	StepFailed(stepID string) (*StepFailure, bool)
	StepCancelled(stepID string) bool
	ChildFailed(childID string) (*ChildFailure, bool)
	CallDelivered(callID string) bool
	CallFailed(callID string) (*CallFailure, bool)
	Signals(name string) []Signal
	Updates(name string) []Update
	CompletedUpdates(name string) []Update

	use() *history.State
}

// reads is what a Context and a QueryContext show alike. It belongs to one call.
type reads struct {
	state *history.State
	over  atomic.Bool
}

// use gives access to the state while the call is under way.
func (r *reads) use() *history.State {
	if r.over.Load() {
		runtime.Goexit()
	}
	return r.state
}

// end makes every later use fail.
func (r *reads) end() { r.over.Store(true) }

// RunID is the caller's name of the run; it is the same in every generation.
func (r *reads) RunID() spec.RunID { return r.use().Key().RunID }

// Namespace is the tenant the run belongs to.
func (r *reads) Namespace() spec.Namespace { return r.use().Key().Namespace }

// Workflow is the name of the spec the run was started against.
func (r *reads) Workflow() string {
	name, _ := r.use().Workflow()
	return name
}

// Version is the version of the spec the run was started against.
func (r *reads) Version() string {
	_, version := r.use().Workflow()
	return version
}

// Generation counts from 1; ContinueAsNew adds one.
func (r *reads) Generation() int { return r.use().Generation() }

// Input is the JSON input of this generation, as received. See also the function Input.
func (r *reads) Input() json.RawMessage { return bytes.Clone(r.use().Input().Bytes()) }

// StartedAt is when the run was started, in every generation.
func (r *reads) StartedAt() time.Time { return r.use().StartedAt() }

// HistoryLength is the number of events of this generation: a reason to ContinueAsNew from some thousand on.
func (r *reads) HistoryLength() int64 { return r.use().HistoryLength() }

// CancelRequested says that someone asked to cancel a run whose spec is CooperativeCancel: clean up, then end it.
func (r *reads) CancelRequested() bool { return r.use().CancelRequested() }
