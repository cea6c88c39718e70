package engine

import (
	"time"

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
	reads
	spec spec.WorkflowSpec
	auth *authority
	now  time.Time
	keys *tokens.Keyring

	author *author
}

// Now is the time of this turn, to microseconds, in UTC. It differs between calls: it is fine in an output, and wrong in
// a branch, an ID, an input or a token. Branch on timers and StartedAt.
func (c *Context) Now() time.Time {
	c.use()
	return c.now
}
