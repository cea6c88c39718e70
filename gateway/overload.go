package gateway

import (
	"sync/atomic"
	"time"
)

// overload says when to send requests away because those that are here wait too long. It begins at a wait and ends at half
// of it, so that it does not flicker. Callbacks, which may be lost, are sent away last.
type overload struct {
	wait      func() time.Duration // of messages, of late
	limit     time.Duration
	api, hook atomic.Bool
}

func (o *overload) sheds(callback bool) bool {
	wait := o.wait()
	api, hook := passed(&o.api, wait, o.limit), passed(&o.hook, wait, 2*o.limit)
	if callback {
		return hook
	}
	return api
}

func passed(state *atomic.Bool, wait, limit time.Duration) bool {
	switch {
	case wait > limit:
		state.Store(true)
	case wait < limit/2:
		state.Store(false)
	}
	return state.Load()
}
