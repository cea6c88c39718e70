package engine

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Context shows workflow code its run and makes its decisions. What it shows is the same on every later call with the
// same history, but for Now.
//
// It belongs to one call and is not safe for concurrent use. Its use after the call returned, or after the call was
// abandoned for running too long, ends the goroutine that uses it (runtime.Goexit: deferred functions run, and no
// recover keeps the goroutine alive).
type Context struct {
	state *history.State
	spec  spec.WorkflowSpec
	now   time.Time
	keys  *tokens.Keyring
	over  atomic.Bool
}

// use gives access to the state while the call is under way.
func (c *Context) use() *history.State {
	if c.over.Load() {
		runtime.Goexit()
	}
	return c.state
}

// end makes every later use fail.
func (c *Context) end() { c.over.Store(true) }

// RunID is the caller's name of the run; it is the same in every generation.
func (c *Context) RunID() spec.RunID { return c.use().Key().RunID }

// Namespace is the tenant the run belongs to.
func (c *Context) Namespace() spec.Namespace { return c.use().Key().Namespace }

// Workflow is the name of the spec the run was started against.
func (c *Context) Workflow() string {
	name, _ := c.use().Workflow()
	return name
}

// Version is the version of the spec the run was started against.
func (c *Context) Version() string {
	_, version := c.use().Workflow()
	return version
}

// Generation counts from 1; ContinueAsNew adds one.
func (c *Context) Generation() int { return c.use().Generation() }

// Input is the JSON input of this generation, as received. See also the function Input.
func (c *Context) Input() json.RawMessage { return bytes.Clone(c.use().Input().Bytes()) }

// StartedAt is when the run was started, in every generation.
func (c *Context) StartedAt() time.Time { return c.use().StartedAt() }

// Now is the time of this turn, to microseconds, in UTC. It differs between calls: it is fine in an output, and wrong in
// a branch, an ID, an input or a token. Branch on timers and StartedAt.
func (c *Context) Now() time.Time {
	c.use()
	return c.now
}

// HistoryLength is the number of events of this generation: a reason to ContinueAsNew from some thousand on.
func (c *Context) HistoryLength() int64 { return c.use().HistoryLength() }

// CancelRequested says that someone asked to cancel a run whose spec is CooperativeCancel: clean up, then end it.
func (c *Context) CancelRequested() bool { return c.use().CancelRequested() }
