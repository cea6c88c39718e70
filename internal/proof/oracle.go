package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Oracle answers messages by the table of verdicts alone. It reads a run's events as they are, as one reads a log, and
// calls no rule of package history: where the two disagree, one of them is wrong.
type Oracle struct {
	Now     time.Time // by the clock; a run is not before its last event
	Backlog int       // unread signals that a run may have
	Updates int       // updates without an answer that it may have
}

// Expected is what the table says of an answer.
type Expected struct {
	Verdict  history.Verdict
	Sequence int64
	At       string
	Backlog  string
	Mentions string // what a refusal's words must hold
}

// Differs says how an answer is not the expected one; it is empty when it is.
func (e Expected) Differs(a Answer) string {
	have := Expected{Verdict: a.Verdict, Sequence: a.Sequence, At: a.At, Backlog: a.Backlog, Mentions: e.Mentions}
	if have == e && strings.Contains(a.Words, e.Mentions) {
		return ""
	}
	return fmt.Sprintf("the table says %+v", e)
}

// Answer judges a message to a run with these events; nil events mean that there is no such run.
func (o Oracle) Answer(m Operation, events []history.Event) Expected {
	l := log(events)
	if len(l) > 0 && l[len(l)-1].At.After(o.Now) {
		o.Now = l[len(l)-1].At
	}
	switch {
	case m.Verb == Start:
		return o.start(m, l)
	case m.carries() && malformed(class(m.Payload)):
		return Expected{Verdict: history.Invalid}
	case len(l) == 0, m.Holder == Other:
		return Expected{Verdict: history.Unknown}
	}
	switch m.Verb {
	case Signal:
		return o.signal(m, l)
	case Update:
		return o.update(m, l)
	case Resume, Dispose:
		return o.hook(m, l)
	case Retry:
		if l.end() != "" {
			return Expected{Verdict: history.Gone}
		}
		return Expected{Verdict: history.Accepted}
	default:
		return o.cancel(m, l)
	}
}

// log is a history as a reader sees it.
type log []history.Event

func (l log) start() *history.RunStarted {
	d, _ := l[0].Data.(*history.RunStarted)
	return d
}

// end is the type of the event that ended the run, or "".
func (l log) end() history.Type {
	switch last := l[len(l)-1].Data.Type(); last {
	case history.TypeRunCompleted, history.TypeRunFailed, history.TypeRunCancelled:
		return last
	default:
		return ""
	}
}

func (o Oracle) accepted(l log) Expected {
	return Expected{Verdict: history.Accepted, Sequence: int64(len(l)) + 1, At: Stamp(&o.Now)}
}

func duplicate(of history.Event) Expected {
	return Expected{Verdict: history.Duplicate, Sequence: of.Seq, At: Stamp(&of.At)}
}

// conflict mentions what differs, in this order.
func conflict(differs map[string]bool, order ...string) (Expected, bool) {
	order = slices.DeleteFunc(order, func(field string) bool { return !differs[field] })
	return Expected{Verdict: history.Conflict, Mentions: strings.Join(order, ", ")}, len(order) > 0
}

func (o Oracle) start(m Operation, l log) Expected {
	if len(l) == 0 {
		if m.Name == Missing {
			return Expected{Verdict: history.Unknown}
		}
		return o.accepted(l)
	}
	d := l.start()
	e, differs := conflict(map[string]bool{
		"workflow": m.Name != d.Workflow,
		"version":  m.Version != "" && m.Version != d.Version,
		"input":    m.Payload != string(d.Input.Bytes()), // inputs are spelled in one way
	}, "workflow", "version", "input")
	if differs {
		return e
	}
	return duplicate(l[0])
}

func (o Oracle) signal(m Operation, l log) Expected {
	unread := 0
	for _, e := range l {
		switch d := e.Data.(type) {
		case *history.WaitCompleted:
			unread--
		case *history.SignalReceived:
			unread++
			if string(d.SignalID) == m.ID {
				return again(m, e, d.Name, d.Payload)
			}
		}
	}
	switch {
	case l.end() != "":
		return Expected{Verdict: history.Gone, Mentions: "run ended"}
	case !slices.Contains([]string{"a", "b", "typed", "never"}, m.Name):
		return Expected{Verdict: history.Invalid, Mentions: "not declared"}
	case m.Name == "typed" && !integer(class(m.Payload)):
		return Expected{Verdict: history.Invalid, Mentions: "schema"}
	case unread >= o.Backlog:
		return Expected{Verdict: history.Busy, Mentions: "backlog"}
	}
	a := o.accepted(l)
	if unread++; unread*5 >= o.Backlog*4 {
		a.Backlog = fmt.Sprintf("%d of %d unread", unread, o.Backlog)
	}
	return a
}

// again judges a message whose identity has this event already, with a name and a payload.
func again(m Operation, e history.Event, name string, payload canon.Payload) Expected {
	c, differs := conflict(map[string]bool{
		"name": m.Name != name, "payload": class(m.Payload) != class(string(payload.Bytes())),
	}, "name", "payload")
	if differs {
		return c
	}
	return duplicate(e)
}

func (o Oracle) update(m Operation, l log) Expected {
	open := 0
	for _, e := range l {
		switch d := e.Data.(type) {
		case *history.UpdateReceived:
			open++
			if string(d.UpdateID) == m.ID {
				return again(m, e, d.Name, d.Payload)
			}
		case *history.UpdateCompleted, *history.UpdateRejected, *history.UpdateOrphaned:
			open--
		}
	}
	switch {
	case l.end() != "":
		return Expected{Verdict: history.Gone, Mentions: "run ended"}
	case m.Name != "u" && m.Name != "typed":
		return Expected{Verdict: history.Invalid, Mentions: "not declared"}
	case m.Name == "typed" && !integer(class(m.Payload)):
		return Expected{Verdict: history.Invalid, Mentions: "schema"}
	case open >= o.Updates:
		return Expected{Verdict: history.Busy, Mentions: "backlog"}
	}
	return o.accepted(l)
}

// sighting is what a log says of one hook.
type sighting struct {
	name     string
	asks     string // who asks for the answer
	deadline *time.Time
	answer   *history.HookResumed
	closed   *history.Event // the event that ended it
	cause    history.HookState
}

func (l log) hook(id spec.HookID) *sighting {
	var s *sighting
	for i, e := range l {
		switch d := e.Data.(type) {
		case *history.HookCreated:
			if d.HookID == id {
				s = &sighting{name: d.Name, asks: d.Metadata.Requester, deadline: d.ExpiresAt}
			}
		case *history.HookResumed:
			if d.HookID == id {
				s.answer, s.closed, s.cause = d, &l[i], history.StateResumed
			}
		case *history.HookDisposed:
			if d.HookID == id {
				s.closed, s.cause = &l[i], history.StateDisposed
			}
		case *history.HookExpired:
			if d.HookID == id {
				s.closed, s.cause = &l[i], history.StateExpired
			}
		case *history.HookClosed:
			if d.HookID == id {
				s.closed, s.cause = &l[i], d.Cause
			}
		}
	}
	return s
}

func (o Oracle) hook(m Operation, l log) Expected {
	h := l.hook(spec.HookID(m.ID))
	switch {
	case h == nil, m.Holder == Stranger && h.name == "h1":
		return Expected{Verdict: history.Unknown, Mentions: "not found"}
	case m.Verb == Dispose && m.Holder == Stranger && h.name != "h0":
		return Expected{Verdict: history.Denied}
	case h.cause == history.StateResumed && m.Verb == Dispose:
		return Expected{Verdict: history.Conflict, Mentions: "state"}
	case h.cause == history.StateResumed:
		if class(m.Payload) != class(string(h.answer.Payload.Bytes())) {
			return Expected{Verdict: history.Conflict, Mentions: "payload"}
		}
		return duplicate(*h.closed)
	case h.cause == history.StateDisposed && m.Verb == Dispose:
		return duplicate(*h.closed)
	case h.closed != nil:
		return Expected{Verdict: history.Gone, Mentions: "closed: " + string(h.cause)}
	case h.deadline != nil && !o.Now.Before(*h.deadline):
		return Expected{Verdict: history.Gone, Mentions: "closed: expired"}
	case m.Verb == Resume && strings.EqualFold(h.asks, Actor):
		return Expected{Verdict: history.Denied, Mentions: "who asks"}
	case m.Verb == Resume && h.name == "typed" && !integer(class(m.Payload)):
		return Expected{Verdict: history.Invalid, Mentions: "schema"}
	}
	return o.accepted(l)
}

func (o Oracle) cancel(m Operation, l log) Expected {
	end, cooperative := l.end(), m.Verb == Cancel && l.start().Workflow == Cooperative
	wish := slices.IndexFunc(l, func(e history.Event) bool { return e.Data.Type() == history.TypeRunCancelRequested })
	switch {
	case end == history.TypeRunCancelled, end == "" && cooperative && wish >= 0:
		return duplicate(l[wish]) // the first one
	case end != "":
		return Expected{Verdict: history.Gone, Mentions: "run ended"}
	}
	return o.accepted(l)
}
