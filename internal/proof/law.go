package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Laws reads the whole history of a run and lists what it breaks. It knows what must be true of any history, whatever
// the code decided and whenever turns ran, and calls no rule of package history. asleep says that the run sleeps: then
// its code was shown everything.
func Laws(events []history.Event, asleep bool) []string {
	l := &lawReader{
		signals: map[spec.SignalID]bool{}, queues: map[string][]history.Event{}, hooks: map[spec.HookID]history.Type{},
		waits: map[spec.WaitID]openedWait{}, timers: map[spec.TimerID]startedTimer{}, deadlines: map[spec.HookID]*time.Time{},
		updates: map[spec.UpdateID]askedUpdate{}, steps: map[spec.StepID]askedStep{}, outcomes: map[int64]bool{},
	}
	for i, e := range events {
		l.at = e
		l.order(i, events)
		l.facts(e)
		l.signal(e)
		l.wait(e)
		l.timer(e)
		l.hook(e)
		l.update(e)
		l.step(e)
		if l.ended {
			l.breaks("an event after the end")
		}
		switch e.Data.(type) {
		case *history.RunCompleted, *history.RunFailed, *history.RunCancelled:
			l.end(e.Data.Type())
		}
	}
	shown := min(len(l.shown), len(l.accepted))
	if shown < len(l.shown) || asleep && shown < len(l.accepted) || !slices.Equal(l.accepted[:shown], l.shown) {
		l.breaks("messages were accepted in the order %v and shown in the order %v", l.accepted, l.shown)
	}
	return l.broken
}

type lawReader struct {
	at     history.Event
	broken []string

	signals   map[spec.SignalID]bool
	queues    map[string][]history.Event // unread signals by name
	waits     map[spec.WaitID]openedWait // of the generation
	timers    map[spec.TimerID]startedTimer
	hooks     map[spec.HookID]history.Type
	updates   map[spec.UpdateID]askedUpdate
	steps     map[spec.StepID]askedStep // of the generation
	outcomes  map[int64]bool            // which messages are outcomes of steps
	deadlines map[spec.HookID]*time.Time
	closings  []history.HookState // causes given to what the end closed
	accepted  []int64             // messages that code is to be shown
	shown     []int64
	ended     bool
}

type openedWait struct {
	*history.WaitOpened
	seq   int64
	at    time.Time
	first *time.Time // deadline of the first opening
	open  bool
}

// admits says whether the wait may take a message: one accepted before its deadline, or one that was there when the wait
// was first opened.
func (w openedWait) admits(s history.Event) bool {
	return w.Deadline == nil || s.At.Before(*w.Deadline) || !w.Again && s.Seq < w.seq && !s.At.After(w.at)
}

type startedTimer struct {
	*history.TimerStarted
	open bool
}

func (l *lawReader) breaks(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf("#%d %s: ", l.at.Seq, l.at.Data.Type())+fmt.Sprintf(format, args...))
}

// order: seqs have no gap, time does not go back, a generation ends with the event that opens the next.
func (l *lawReader) order(i int, events []history.Event) {
	e := events[i]
	if e.Seq != int64(i)+1 {
		l.breaks("seq is not %d", i+1)
	}
	if _, started := e.Data.(*history.RunStarted); started != (i == 0) {
		l.breaks("a run starts once, as its first event")
	}
	if i == 0 {
		return
	}
	before := events[i-1]
	if e.At.Before(before.At) {
		l.breaks("time goes back")
	}
	_, continued := e.Data.(*history.RunContinued)
	if continued && e.Generation != before.Generation+1 || !continued && e.Generation != before.Generation {
		l.breaks("generation %d after %d", e.Generation, before.Generation)
	}
	if continued {
		clear(l.waits)
		clear(l.timers)
	}
}

// signal: one identity has one effect for the life of the run, and the oldest unread signal of a name is the next.
func (l *lawReader) signal(e history.Event) {
	switch d := e.Data.(type) {
	case *history.SignalReceived:
		if l.signals[d.SignalID] {
			l.breaks("signal %s was received before", d.SignalID)
		}
		l.signals[d.SignalID] = true
		l.queues[d.Name] = append(l.queues[d.Name], e)
	case *history.WaitCompleted:
		w := l.waits[d.WaitID]
		if w.WaitOpened == nil {
			return // said by wait
		}
		line := l.queues[w.Signal]
		i := slices.IndexFunc(line, func(s history.Event) bool { return s.Seq == d.SignalSeq })
		switch {
		case i < 0:
			l.breaks("signal %s is no unread one of name %s", d.SignalID, w.Signal)
			return
		case i > 0:
			l.breaks("signal %s is consumed before #%d", d.SignalID, line[0].Seq)
		}
		s := line[i]
		if s.Data.(*history.SignalReceived).SignalID != d.SignalID {
			l.breaks("#%d is not signal %s", d.SignalSeq, d.SignalID)
		}
		if !w.admits(s) {
			l.breaks("wait %s ended at %s and took a message of %s", d.WaitID, Stamp(w.Deadline), Stamp(&s.At))
		}
		l.first(w, s)
		l.queues[w.Signal] = slices.Delete(slices.Clone(line), i, i+1)
	}
}

// first: of all pairs that there are, the one of the message accepted first is made first, with the oldest of its waits.
func (l *lawReader) first(w openedWait, s history.Event) {
	for id, other := range l.waits {
		line := l.queues[other.Signal]
		switch {
		case !other.open || len(line) == 0 || line[0].Seq > s.Seq || !other.admits(line[0]):
		case line[0].Seq < s.Seq && slices.Contains(l.shown, line[0].Seq):
			l.breaks("signal #%d was there for wait %s before", line[0].Seq, id)
		case line[0].Seq == s.Seq && other.seq < w.seq:
			l.breaks("wait %s took what the older wait %s was open for", w.WaitID, id)
		}
	}
}

// wait: what is opened ends exactly once, and keeps the deadline of its first opening.
func (l *lawReader) wait(e history.Event) {
	closes := func(id spec.WaitID) {
		w := l.waits[id]
		if !w.open {
			l.breaks("wait %s is not open", id)
			return
		}
		w.open = false
		l.waits[id] = w
	}
	switch d := e.Data.(type) {
	case *history.WaitOpened:
		w, again := l.waits[d.WaitID]
		if w.open || again != d.Again || again && Stamp(w.first) != Stamp(d.Deadline) {
			l.breaks("wait %s was opened before, or its deadline moved", d.WaitID)
		}
		at := e.At
		if d.OpenedAt != nil {
			at = *d.OpenedAt
		}
		l.waits[d.WaitID] = openedWait{WaitOpened: d, seq: e.Seq, at: at, first: d.Deadline, open: true}
	case *history.WaitCompleted:
		closes(d.WaitID)
	case *history.WaitWithdrawn:
		closes(d.WaitID)
	case *history.WaitTimedOut:
		if w := l.waits[d.WaitID]; w.open && (w.Deadline == nil || e.At.Before(*w.Deadline)) {
			l.breaks("wait %s is not due", d.WaitID)
		}
		closes(d.WaitID)
	}
}

// timer: what is started ends once, not before it is due, and keeps its first due time.
func (l *lawReader) timer(e history.Event) {
	closes := func(id spec.TimerID) startedTimer {
		t := l.timers[id]
		if !t.open {
			l.breaks("timer %s is not running", id)
		}
		l.timers[id] = startedTimer{t.TimerStarted, false}
		return t
	}
	switch d := e.Data.(type) {
	case *history.TimerStarted:
		t, again := l.timers[d.TimerID]
		if t.open || again != d.Again || again && !t.Due.Equal(d.Due) {
			l.breaks("timer %s was started before, or its due time moved", d.TimerID)
		}
		l.timers[d.TimerID] = startedTimer{d, true}
	case *history.TimerFired:
		if t := closes(d.TimerID); t.open && e.At.Before(t.Due) {
			l.breaks("timer %s is not due", d.TimerID)
		}
	case *history.TimerCancelled:
		closes(d.TimerID)
	}
}

// hook: an ID is used once for the life of the run, and a hook closes once.
func (l *lawReader) hook(e history.Event) {
	closes := func(id spec.HookID) {
		if by := l.hooks[id]; by != history.TypeHookCreated {
			l.breaks("hook %s is not open: %s", id, by)
		}
		l.hooks[id] = e.Data.Type()
	}
	switch d := e.Data.(type) {
	case *history.HookCreated:
		if by, used := l.hooks[d.HookID]; used {
			l.breaks("hook %s was there before: %s", d.HookID, by)
		}
		l.hooks[d.HookID] = d.Type()
		l.deadlines[d.HookID] = d.ExpiresAt
	case *history.HookResumed:
		closes(d.HookID)
		if deadline := l.deadlines[d.HookID]; deadline != nil && !e.At.Before(*deadline) {
			l.breaks("hook %s is answered past its deadline", d.HookID)
		}
	case *history.HookDisposed:
		closes(d.HookID)
	case *history.HookExpired:
		closes(d.HookID)
		if deadline := l.deadlines[d.HookID]; deadline == nil || e.At.Before(*deadline) {
			l.breaks("hook %s is not past its deadline", d.HookID)
		}
	case *history.HookClosed:
		closes(d.HookID)
		l.closings = append(l.closings, d.Cause)
	}
}

// facts: accepted messages are shown to the code in the order of their acceptance, each once.
func (l *lawReader) facts(e history.Event) {
	l.shown = append(l.shown, e.Taken...)
	switch d := e.Data.(type) {
	case *history.SignalReceived, *history.HookResumed, *history.UpdateReceived:
		l.accepted = append(l.accepted, e.Seq)
	case *history.StepCompleted, *history.StepFailed:
		l.accepted = append(l.accepted, e.Seq)
		l.outcomes[e.Seq] = true
	case *history.RunCancelRequested:
		l.accepted = append(l.accepted, e.Seq)
	case *history.HookDisposed:
		if !d.ByCode {
			l.accepted = append(l.accepted, e.Seq)
		}
	}
}

// end: nothing is left open, and what the end closed has its cause.
func (l *lawReader) end(by history.Type) {
	l.ended = true
	cause := history.StateRunEnded
	if by == history.TypeRunCancelled {
		cause = history.StateCancelled
	}
	if slices.ContainsFunc(l.closings, func(c history.HookState) bool { return c != cause }) {
		l.breaks("what was open was closed as %v", l.closings)
	}
	for id, by := range l.hooks {
		if by == history.TypeHookCreated {
			l.breaks("hook %s outlives its run", id)
		}
	}
	l.endUpdates()
	l.openSteps("outlives its run")
}
