package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// FoldError says that an event may not follow those before it: the stored history is damaged, or a program wrote it that
// keeps other rules.
type FoldError struct {
	Seq  int64
	Type Type
	Rule string
}

// Error implements error.
func (e *FoldError) Error() string {
	return fmt.Sprintf("event %d (%s) breaks the history: %s", e.Seq, e.Type, e.Rule)
}

// Fold makes the state of one generation from its events. carried are the signal.received and update.received events of
// earlier generations that the first event names as unread or open, in order of seq; generation 1 has none.
func Fold(key RunKey, carried, events []Event) (*State, error) {
	s := newState(key)
	if len(events) == 0 {
		return nil, &FoldError{Rule: "the generation has no event"}
	}
	for i, e := range carried {
		if rule := s.receiveCarried(e); rule != "" || i > 0 && e.Seq <= carried[i-1].Seq {
			return nil, &FoldError{Seq: e.Seq, Type: e.Data.Type(), Rule: "only signals and updates are carried, in order of acceptance"}
		}
	}
	s.nextSeq, s.generation = events[0].Seq, events[0].Generation
	if _, continued := events[0].Data.(*RunContinued); continued {
		s.generation-- // the event itself opens its generation
	}
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Apply adds the next event. It returns a *FoldError, and the state is of no further use, when the event may not follow:
// a gap, a time before the last one, another generation, anything after the end, or a thing ended twice.
func (s *State) Apply(e Event) error {
	refuse := func(rule string) error { return &FoldError{Seq: e.Seq, Type: e.Data.Type(), Rule: rule} }
	_, started := e.Data.(*RunStarted)
	_, continued := e.Data.(*RunContinued)
	switch {
	case s.firstSeq == 0 && !started && !continued:
		return refuse("a generation begins with run.started or run.continued")
	case e.Seq != s.nextSeq:
		return refuse(fmt.Sprintf("seq %d is next", s.nextSeq))
	case e.At.Before(s.lastAt):
		return refuse("time goes back")
	case s.status.Ended():
		return refuse("the run has ended")
	case continued && e.Generation != s.generation+1 || !continued && e.Generation != s.generation:
		return refuse("another generation")
	}
	for _, seq := range e.Taken {
		if continued {
			break // of the generation that ends here; the event itself says how far it came
		}
		if !s.take(seq) {
			return refuse("takes a message that is not the next one")
		}
	}
	if rule := s.apply(e); rule != "" {
		return refuse(rule)
	}
	for _, id := range e.Read {
		s.readAbout(id)
	}
	s.nextSeq, s.lastAt = e.Seq+1, e.At
	return nil
}

// readAbout notes what workflow code has done with.
func (s *State) readAbout(id spec.HookID) {
	if h, ok := s.hooks[id]; ok {
		h.read = true
		s.count(h)
		return
	}
	if t, ok := s.tasks.get(string(id)); ok {
		t.waived = true
	}
}

// apply folds the content of an event and returns the rule it breaks, or "".
func (s *State) apply(e Event) string {
	switch d := e.Data.(type) {
	case *RunStarted:
		return s.applyStarted(e, d)
	case *RunContinued:
		return s.applyContinued(e, d)
	case *RunCompleted:
		return s.applyEnd(Completed)
	case *RunFailed:
		return s.applyEnd(Failed)
	case *RunCancelled:
		return s.applyEnd(Cancelled)
	case *RunCancelRequested:
		s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, kind: factCancel})
	case *RunBlocked:
		s.status = Blocked
	case *RunUnblocked:
		s.status = Running
	case *SignalReceived:
		s.receive(e, d)
		s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, name: d.Name, kind: factSignal})
	case *WaitOpened, *WaitCompleted, *WaitTimedOut, *WaitWithdrawn:
		s.opened = true
		return s.applyWait(e)
	case *TimerStarted, *TimerFired, *TimerCancelled:
		s.opened = true
		return s.applyTimer(e)
	case *HookCreated, *HookRejected, *HookResumed, *HookDisposed, *HookExpired, *HookClosed:
		return s.applyHook(e)
	case *StepScheduled, *ChildRequested, *SignalRequested, *CancelRequested:
		s.opened = true
		return s.openTask(e)
	case *StepCompleted, *StepFailed, *ChildCompleted, *ChildFailed, *CallDelivered, *CallFailed:
		return s.settleTask(e)
	case *StepTimedOut, *StepCancelled, *ChildReleased:
		return s.closeTask(e)
	case *UpdateReceived, *UpdateCompleted, *UpdateRejected, *UpdateOrphaned:
		return s.applyUpdate(e)
	case *FactsTaken:
		s.opened = true
	default:
		return "the type is unknown"
	}
	return ""
}

// receiveCarried takes an event of an earlier generation.
func (s *State) receiveCarried(e Event) string {
	switch d := e.Data.(type) {
	case *SignalReceived:
		s.receive(e, d)
		return ""
	case *UpdateReceived:
		return s.receiveUpdate(e, d)
	}
	return "it does not go over"
}

func (s *State) receive(e Event, d *SignalReceived) {
	s.unread.put(&message{seq: e.Seq, at: e.At, data: d})
}

func (s *State) applyStarted(e Event, d *RunStarted) string {
	if e.Seq != 1 || e.Generation != 1 || s.firstSeq != 0 {
		return "a run starts once, as its first event"
	}
	s.firstSeq, s.startedAt, s.clock = e.Seq, e.At, e.At
	s.began = s.clock.UnixMicro()
	s.workflow, s.version, s.specDigest = d.Workflow, d.Version, d.SpecDigest
	s.input = d.Input
	return ""
}

// applyContinued turns the state of one generation into that of the next. It reads nothing of the old generation but
// the unread signals and the open updates, so that a fold which begins here ends in the same state.
func (s *State) applyContinued(e Event, d *RunContinued) string {
	if !slices.Equal(s.unreadRanges(), d.Unread) {
		return "the unread signals are not those it names"
	}
	if !slices.Equal(s.openUpdates(), d.OpenUpdates) {
		return "the open updates are not those it names"
	}
	open := s.asking
	s.reset()
	s.generation = e.Generation
	s.firstSeq, s.startedAt, s.clock = e.Seq, d.StartedAt, e.At
	if d.OpenedAt != nil {
		s.clock = *d.OpenedAt
	}
	s.began = s.clock.UnixMicro()
	s.workflow, s.version, s.specDigest = d.Workflow, d.Version, d.SpecDigest
	s.input, s.takenTo = d.Input, d.TakenTo
	s.cancelShown = d.CancelRequested
	if c := d.CancelPending; c != nil {
		s.pending = append(s.pending, fact{seq: c.Seq, at: c.At, kind: factCancel})
	}
	s.status = Running
	for _, c := range d.Hooks {
		if c.State != StateActive && c.SettledAt == nil {
			return "a settled hook is carried without its time"
		}
		s.carryHook(c, e.At)
	}
	s.opening = s.settled
	for m := range s.unread.all() {
		if m.seq > s.takenTo {
			s.pending = append(s.pending, fact{seq: m.seq, at: m.at, name: m.data.Name, kind: factSignal})
		}
	}
	s.carryUpdates(open)
	sortFacts(s.pending)
	return ""
}

func (s *State) carryHook(c CarriedHook, at time.Time) {
	h := &hook{record: c.record(), openedAt: s.clock, shown: StateActive, payload: c.answer(), seq: s.firstSeq}
	s.keepHook(h)
	s.count(h)
	switch {
	case c.State == StateActive:
		s.openHook(h, at)
	case c.Taken:
		h.shown = c.State
		s.settle(&h.settled)
	default:
		s.pending = append(s.pending, fact{seq: c.Seq, at: *c.SettledAt, hook: c.ID, kind: factHook})
	}
}

func (s *State) applyEnd(status Status) string {
	s.status = status
	for _, w := range s.queue {
		w.status = WaitWithdrew
	}
	for _, t := range s.ticking {
		t.status = WaitWithdrew
	}
	s.queue, s.ticking = nil, nil
	s.working = nil // what becomes of calls is in no event from here on
	return ""
}

func hookIDOf(d Data) spec.HookID {
	switch d := d.(type) {
	case *HookCreated:
		return d.HookID
	case *HookRejected:
		return d.HookID
	case *HookResumed:
		return d.HookID
	case *HookDisposed:
		return d.HookID
	case *HookExpired:
		return d.HookID
	case *HookClosed:
		return d.HookID
	}
	panic("history: not an event of a hook")
}
