package proof

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Call is one call of one caller: what was asked, what was answered, and when, by a clock that counts beginnings and ends
// of all calls. A call that ended before another began has the smaller numbers.
type Call struct {
	Operation
	Answer Answer
	Begun  int64
	Ended  int64
}

// String is the call in one line.
func (c Call) String() string {
	return fmt.Sprintf("[%d-%d] %s: %s", c.Begun, c.Ended, c.Operation, c.Answer)
}

// Recorder records calls that are made at the same time. It is safe for concurrent use.
type Recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	calls []Call
}

// Record makes a call and remembers it.
func (r *Recorder) Record(o Operation, do func(Operation) Answer) Answer {
	c := Call{Operation: o, Begun: r.clock.Add(1)}
	c.Answer = do(o)
	c.Ended = r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return c.Answer
}

// Calls lists what was recorded, in the order in which calls began.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := slices.Clone(r.calls)
	slices.SortFunc(calls, func(a, b Call) int { return int(a.Begun - b.Begun) })
	return calls
}

// Check compares what callers were told with the history of a run and lists every contradiction. calls are all calls
// that anybody made to the run; one that was answered "busy" may or may not have happened. Histories as such are judged
// by Laws.
func Check(calls []Call, events []history.Event, had Trouble) []string {
	c := &checker{events: events, messages: map[string]stored{}, had: had}
	c.read()
	for _, call := range calls {
		c.effect(call)
		c.refusal(call)
	}
	c.sent(calls)
	c.inTime(calls)
	return c.broken
}

// Trouble is what may have happened meanwhile, and makes some answers right that else were wrong.
type Trouble struct {
	// ConnectionsBroke: a commit whose outcome nobody knew was decided again, so a call may be told that its message is a
	// duplicate of what it stored itself.
	ConnectionsBroke bool
	// ClockSetBack: a hook that was past its deadline was open again.
	ClockSetBack bool
}

// stored is an accepted message as the history has it.
type stored struct {
	event   history.Event
	name    string // of a signal or an update
	payload int    // its class
}

type checker struct {
	events   []history.Event
	messages map[string]stored // by identity
	had      Trouble
	broken   []string
}

func (c *checker) breaks(call Call, format string, args ...any) {
	c.broken = append(c.broken, call.String()+": "+fmt.Sprintf(format, args...))
}

// identity is what makes two messages one; wishes to cancel have none.
func identity(o Operation) string {
	switch o.Verb {
	case Start:
		return "start"
	case Signal:
		return "signal " + o.ID
	case Update:
		return "update " + o.ID
	case Resume:
		return "resume " + o.ID
	case Dispose:
		return "dispose " + o.ID
	default:
		return ""
	}
}

// read collects the accepted messages of the history.
func (c *checker) read() {
	add := func(id string, s stored) {
		if _, twice := c.messages[id]; twice {
			c.broken = append(c.broken, fmt.Sprintf("#%d: %s is in the history twice", s.event.Seq, id))
			return
		}
		c.messages[id] = s
	}
	for _, e := range c.events {
		switch d := e.Data.(type) {
		case *history.RunStarted:
			add("start", stored{event: e})
		case *history.SignalReceived:
			add("signal "+string(d.SignalID), stored{e, d.Name, class(string(d.Payload.Bytes()))})
		case *history.UpdateReceived:
			add("update "+string(d.UpdateID), stored{e, d.Name, class(string(d.Payload.Bytes()))})
		case *history.HookResumed:
			if selfApproved(string(d.HookID), d.Actor) {
				c.broken = append(c.broken, fmt.Sprintf("#%d: %s answered what they ask for", e.Seq, d.Actor))
			}
			add("resume "+string(d.HookID), stored{event: e, payload: class(string(d.Payload.Bytes()))})
		case *history.HookDisposed:
			if !d.ByCode {
				add("dispose "+string(d.HookID), stored{event: e})
			}
		}
	}
}

// effect: what was acknowledged is in the history, where and when the receipt says; with what the caller sent.
func (c *checker) effect(call Call) {
	if v := call.Answer.Verdict; v != history.Accepted && v != history.Duplicate {
		return
	}
	switch call.Verb {
	case Cancel, End:
		c.cancelled(call)
	case Retry: // leaves nothing
	default:
		c.stored(call)
	}
}

// stored: as effect, of a message that has an identity.
func (c *checker) stored(call Call) {
	s, ok := c.messages[identity(call.Operation)]
	if call.Verb == Dispose && !ok {
		c.disposedByCode(call)
		return
	}
	switch {
	case !ok:
		c.breaks(call, "acknowledged, and lost")
	case s.event.Seq != call.Answer.Sequence, Stamp(&s.event.At) != call.Answer.At:
		c.breaks(call, "is #%d at %s in the history", s.event.Seq, Stamp(&s.event.At))
	case call.named() && s.name != call.Name:
		c.breaks(call, "is named %s in the history", s.name)
	case call.carries() && s.payload != class(call.Payload):
		c.breaks(call, "has another payload in the history")
	case call.Verb == Start && call.Payload != startedWith(s):
		c.breaks(call, "has another input in the history")
	}
}

// named says that the message has a name that counts.
func (o Operation) named() bool { return o.Verb == Signal || o.Verb == Update }

func startedWith(s stored) string {
	return string(s.event.Data.(*history.RunStarted).Input.Bytes())
}

// disposedByCode: a caller who withdraws what the code withdrew is told when the code did.
func (c *checker) disposedByCode(call Call) {
	h := log(c.events).hook(spec.HookID(call.ID))
	if h == nil || h.cause != history.StateDisposed || call.Answer.Verdict != history.Duplicate ||
		h.closed.Seq != call.Answer.Sequence || Stamp(&h.closed.At) != call.Answer.At {
		c.breaks(call, "acknowledged, and nobody disposed of it so")
	}
}

// cancelled: an acknowledged wish is in the history; a duplicate is one of the first wish.
func (c *checker) cancelled(call Call) {
	for _, e := range c.events {
		if e.Data.Type() != history.TypeRunCancelRequested {
			continue
		}
		if e.Seq == call.Answer.Sequence && Stamp(&e.At) == call.Answer.At {
			return
		}
		if call.Answer.Verdict == history.Duplicate {
			break
		}
	}
	c.breaks(call, "acknowledged, and nobody cancelled it so")
}

// refusal: a refusal tells the truth about what is stored, and about the message.
func (c *checker) refusal(call Call) {
	switch call.Answer.Verdict {
	case history.Conflict:
		c.conflict(call)
	case history.Invalid:
		if call.WellFormed() {
			c.breaks(call, "nothing is wrong with it")
		}
	case history.Denied:
		if !(call.Verb == Dispose && call.Holder == Stranger) && !(call.Verb == Resume && selfApproved(call.ID, Actor)) {
			c.breaks(call, "the caller may do it")
		}
	case history.Gone:
		if call.Verb == Resume || call.Verb == Dispose {
			c.closed(call)
		} else if log(c.events).end() == "" {
			c.breaks(call, "the run has not ended")
		}
	default: // promises nothing
	}
}

func (c *checker) conflict(call Call) {
	s, known := c.messages[identity(call.Operation)]
	if call.Verb == Dispose { // of what was answered
		_, known = c.messages["resume "+call.ID]
	}
	if !known || call.Verb != Dispose && c.means(call, s) {
		c.breaks(call, "a conflict with nothing in the history")
	}
}

func startedAs(s stored, o Operation) bool {
	d := s.event.Data.(*history.RunStarted)
	return d.Workflow == o.Name && (o.Version == "" || o.Version == d.Version)
}

// closed: who is told that a hook is closed is told why. A hook past its deadline is expired before the history says so.
func (c *checker) closed(call Call) {
	h := log(c.events).hook(spec.HookID(call.ID))
	switch {
	case c.unsure(call):
		return
	case h == nil:
		c.breaks(call, "there is no such hook")
		return
	case h.closed == nil && h.deadline == nil:
		c.breaks(call, "the hook is open")
		return
	case h.closed == nil:
		h.cause = history.StateExpired
	}
	if want := "hook is closed: " + string(h.cause); call.Answer.Words != want {
		c.breaks(call, "in the history the %s", want)
	}
}

// unsure says that the call was told of a deadline that may have come twice.
func (c *checker) unsure(call Call) bool {
	return c.had.ClockSetBack && call.Answer.Words == "hook is closed: "+string(history.StateExpired)
}
