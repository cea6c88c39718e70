package proof

import (
	"fmt"

	"github.com/flowgate-go/flowgate/internal/history"
)

// sent: nothing is in the history that nobody sent, and what is there was acknowledged to at most one caller as the first.
func (c *checker) sent(calls []Call) {
	for id, s := range c.messages {
		var first, unknown int
		for _, call := range calls {
			if identity(call.Operation) != id || !c.means(call, s) {
				continue
			}
			switch call.Answer.Verdict {
			case history.Accepted:
				first++
			case history.Busy:
				unknown++
			case history.Duplicate:
				if c.had.ConnectionsBroke {
					unknown++
				}
			default: // it was refused
			}
		}
		if first > 1 || first+unknown == 0 {
			c.broken = append(c.broken, fmt.Sprintf("#%d: %s was accepted from %d callers, and %d do not know",
				s.event.Seq, id, first, unknown))
		}
	}
	c.wished(calls)
}

// means says whether the call carries what is stored.
func (c *checker) means(call Call, s stored) bool {
	switch call.Verb {
	case Start:
		return startedWith(s) == call.Payload && startedAs(s, call.Operation)
	case Signal, Update:
		return s.name == call.Name && s.payload == class(call.Payload)
	case Resume:
		return s.payload == class(call.Payload)
	default:
		return true
	}
}

// wished: every wish to cancel is somebody's.
func (c *checker) wished(calls []Call) {
	for _, e := range c.events {
		if e.Data.Type() != history.TypeRunCancelRequested {
			continue
		}
		somebody := false
		for _, call := range calls {
			if call.Verb == Cancel || call.Verb == End {
				v := call.Answer.Verdict
				somebody = somebody || v == history.Busy || v == history.Accepted && call.Answer.Sequence == e.Seq ||
					v == history.Duplicate && c.had.ConnectionsBroke
			}
		}
		if !somebody {
			c.broken = append(c.broken, fmt.Sprintf("#%d: nobody wished it", e.Seq))
		}
	}
}

// inTime: what a caller was told holds for every call that began after it.
func (c *checker) inTime(calls []Call) {
	for _, later := range calls {
		if later.Answer.Verdict == history.Duplicate && identity(later.Operation) != "" && !c.byCode(later) {
			c.repeats(later, calls)
		}
		for _, earlier := range calls {
			if earlier.Ended < later.Begun {
				c.order(earlier, later)
				c.remembered(earlier, later)
				c.final(earlier, later)
			}
		}
	}
}

// repeats: a duplicate is one of a call that had begun.
func (c *checker) repeats(again Call, calls []Call) {
	known := c.had.ConnectionsBroke // it may repeat itself
	for _, call := range calls {
		if identity(call.Operation) != identity(again.Operation) {
			continue
		}
		switch call.Answer.Verdict {
		case history.Accepted:
			if call.Begun > again.Ended {
				c.breaks(again, "a duplicate before %s", call)
			}
			known = true
		case history.Busy:
			known = known || call.Begun < again.Ended
		default:
		}
	}
	if !known {
		c.breaks(again, "a duplicate of nothing")
	}
}

// byCode says that the call withdrew a hook that the code had withdrawn.
func (c *checker) byCode(call Call) bool {
	_, sent := c.messages[identity(call.Operation)]
	return call.Verb == Dispose && !sent
}

func receipt(c Call) bool {
	return (c.Answer.Verdict == history.Accepted || c.Answer.Verdict == history.Duplicate) && c.Answer.Sequence > 0
}

// order: a message that was sent after another was acknowledged has the greater seq, and not the earlier time.
func (c *checker) order(earlier, later Call) {
	if !receipt(earlier) || later.Answer.Verdict != history.Accepted || later.Answer.Sequence == 0 {
		return
	}
	if later.Answer.Sequence <= earlier.Answer.Sequence {
		c.breaks(later, "comes before %s in the history", earlier)
	}
}

// remembered: an identity that was acknowledged is known from then on, whatever became of the run. The same message is a
// duplicate, another one a conflict.
func (c *checker) remembered(earlier, later Call) {
	id := identity(later.Operation)
	s, known := c.messages[id]
	if !known || id != identity(earlier.Operation) || !receipt(earlier) || hidden(later.Operation) {
		return
	}
	want := history.Duplicate
	if !c.means(later, s) {
		want = history.Conflict
	}
	switch v := later.Answer.Verdict; {
	case v == want:
	case v == history.Busy && later.Answer.Words != history.ErrBacklogFull.Error(): // not answered at all
	case v == history.Invalid && malformed(class(later.Payload)):
	default:
		c.breaks(later, "is to be a %s after %s", want, earlier)
	}
}

// hidden says that the caller may not be told of the hook.
func hidden(o Operation) bool { return o.Holder == Other || o.Holder == Stranger }

// final: what ended stays ended, and what was there stays there.
func (c *checker) final(earlier, later Call) {
	hook := earlier.ID == later.ID && (later.Verb == Resume || later.Verb == Dispose) &&
		(earlier.Verb == Resume || earlier.Verb == Dispose)
	toHook := later.Verb == Resume || later.Verb == Dispose
	switch gone := earlier.Answer.Verdict == history.Gone; {
	case c.unsure(earlier):
	case gone && later.Answer.Verdict == history.Accepted && (hook || earlier.Verb != Resume && earlier.Verb != Dispose):
		c.breaks(later, "accepted after %s", earlier)
	case later.Answer.Verdict != history.Unknown || hidden(later.Operation) || later.Verb == Start:
	case !toHook && receipt(earlier), hook && !hidden(earlier.Operation) && (receipt(earlier) || gone):
		c.breaks(later, "unknown after %s", earlier)
	}
}
