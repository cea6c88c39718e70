package history

import (
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Turn advances one run: it settles one fact at a time, hands the state to workflow code after each, and turns the
// decisions into events. Use it as
//
//	for t.Next() { t.Decide(call(t.State())) }
//	outcome := t.Finish()
//
// A turn belongs to one goroutine and is used once.
type Turn struct {
	state    *State
	run      Run // as claimed
	now      time.Time
	lim      Limits
	rejected map[spec.HookID]Rejection

	events       []Event
	taken        []int64 // shown since the last event
	consumed     []Consumed
	created      []spec.HookID                 // hooks opened in this turn
	closed       []spec.HookID                 // hooks closed in this turn that were open before it
	newTasks     []Task                        // opened in this turn and open still, or to be done after the run's end
	closedTasks  []TaskKey                     // closed in this turn, and open before it
	waived       []spec.HookID                 // steps withdrawn in this turn whose outcome was accepted and not shown
	tokens       map[TokenDigest]bool          // of the hooks of the generation; nil until a host-supplied token is claimed
	hostDigests  map[spec.HookID][]TokenDigest // of the host-supplied tokens claimed in this turn
	named        []string                      // IDs of the last decision
	updating     bool                          // the last decision waits for updates
	endedUpdates []Update                      // in this turn, as far as that changed them

	remembered *hookRecords // taken before the generation was closed

	laterDue *time.Time // when something that was open before this turn is due next, that is not due yet

	calls   int
	quiet   bool // nothing was due when it was asked last
	call    bool // workflow code has to be called, whatever settles
	cut     bool
	ended   bool // no further call: the run ended or the generation did
	blocked *RunBlocked
}

// Rejection says why a hook could not be opened, and who holds its token when that is a run of the same namespace.
type Rejection struct {
	Reason   RejectReason
	OwnerRun spec.RunID
}

// Consumed says which wait consumed a signal.
type Consumed struct {
	Signal spec.SignalID
	By     Consumption
}

// NewTurn begins a turn on the fold of the run's current generation. now is the turn's one time: it becomes the time of
// its events and must not be before the run's last event. rejected names hooks that the door refused when the same turn
// was tried before. The error says that state and record are not of the same run at the same seq.
func NewTurn(s *State, run Run, now time.Time, lim Limits, rejected map[spec.HookID]Rejection) (*Turn, error) {
	if s.key != run.Key || s.generation != run.Generation || s.nextSeq != run.NextSeq {
		return nil, fmt.Errorf("state is at generation %d seq %d, the run's row at %d seq %d",
			s.generation, s.nextSeq, run.Generation, run.NextSeq)
	}
	if s.status.Ended() || run.Status.Ended() {
		return nil, ErrRunEnded
	}
	t := &Turn{state: s, run: run, now: now, lim: lim, rejected: rejected, laterDue: s.dueAfter(now)}
	t.call = !s.opened
	if s.status == Blocked {
		t.emit(&RunUnblocked{})
		// What it was blocked at is taken again. A call before that would see the state between two facts.
		t.call = t.call || !t.more()
	}
	return t, nil
}

// State is what workflow code sees now.
func (t *Turn) State() *State { return t.state }

// Now is the turn's time.
func (t *Turn) Now() time.Time { return t.now }

// Next settles one more fact. It returns true when workflow code is to be called on the state, false when the turn is
// over: nothing is left, the run ended, the code was blocked, or the turn is cut.
func (t *Turn) Next() bool {
	if t.ended || t.blocked != nil {
		return false
	}
	switch {
	case t.call:
		t.call = false
	case t.cut:
		return false
	case len(t.events) >= t.lim.TurnEvents:
		t.cut = true
		return false
	case !t.pair() && !t.settleNext():
		return false
	}
	t.calls++
	return true
}

// pair gives the earliest buffered signal that an open wait takes to that wait.
func (t *Turn) pair() bool {
	w, m := t.state.pairable()
	if w == nil {
		return false
	}
	t.consumed = append(t.consumed, Consumed{
		Signal: m.data.SignalID,
		By:     Consumption{WaitID: w.id, Generation: t.state.generation},
	})
	t.emit(&WaitCompleted{WaitID: w.id, SignalID: m.data.SignalID, SignalSeq: m.seq})
	return true
}

// settleNext takes the next fact in order of effective time: a due item, or an accepted message; at equal times the due
// item first.
func (t *Turn) settleNext() bool {
	item, isDue := t.earliestDue()
	if len(t.state.pending) > 0 {
		next := t.state.pending[0]
		if !isDue || next.at.Before(item.effective) || t.state.wasBuffered(item) {
			t.state.take(next.seq)
			t.taken = append(t.taken, next.seq)
			t.pair()
			return true
		}
	}
	if !isDue {
		return false
	}
	switch item.kind {
	case KindHook:
		t.markClosed(spec.HookID(item.id))
	case KindStep:
		t.closeRow(item.id)
	case KindWait, KindTimer, KindChild, KindCall, KindUpdate, KindEnding: // have no row to close here
	}
	t.emit(item.data())
	return true
}

// wasBuffered says that the due item is a wait which, when it was first opened, found a message of its signal in the
// buffer, accepted at the very instant of the opening: such a wait takes it, whatever its time-out. A wait that was open
// before that instant is ended by its deadline first.
func (s *State) wasBuffered(item due) bool {
	if item.kind != KindWait {
		return false
	}
	w, _ := s.waits.get(item.id)
	for _, f := range s.pending {
		switch {
		case w.again || f.seq > w.openedSeq || f.at.After(w.openedAt):
			return false
		case f.kind == factSignal && f.name == w.signal:
			return true
		}
	}
	return false
}

// emit appends an event and folds it. The rules that chose the event and the rules that fold it are two; their
// disagreement is a fault of this package, which must stop the run rather than be written.
func (t *Turn) emit(data Data) {
	e := Event{Generation: t.state.generation, Seq: t.state.nextSeq, At: t.now, Data: data}
	if _, ok := data.(*RunContinued); ok {
		e.Generation++
	}
	if err := t.state.Apply(e); err != nil {
		t.fail(BlockHistory, err.Error())
		return
	}
	e.Taken, t.taken = t.taken, nil
	if t.events == nil {
		t.events = make([]Event, 0, 2) // what a signal makes of a run that waits for it
	}
	t.events = append(t.events, e)
}

// markClosed notes that a hook closes whose row is there already: one that was opened before this turn.
func (t *Turn) markClosed(id spec.HookID) {
	if t.state.hooks[id].seq < t.run.NextSeq {
		t.closed = append(t.closed, id)
	}
}

// Cut ends the turn after the call that is due, if one is: what is done is kept, the rest is due at once.
func (t *Turn) Cut() { t.cut = true }

// Block stops the run with a diagnosis: nothing of the turn is kept. The diagnosis is shown to operators; it must not hold
// a payload or a secret.
func (t *Turn) Block(cause BlockCause, diagnosis string) { t.fail(cause, diagnosis) }

func (t *Turn) fail(cause BlockCause, diagnosis string) {
	if t.blocked == nil {
		t.blocked = &RunBlocked{Cause: cause, Diagnosis: printable(diagnosis)}
	}
}
