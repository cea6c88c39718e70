package history

import (
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// State is the fold of one generation of a run. It is not safe for concurrent use, and a state that a turn has worked on
// is of use only after that turn was committed.
type State struct {
	key        RunKey
	workflow   string
	version    string
	specDigest canon.Digest
	startedAt  time.Time // of the run
	input      canon.Payload
	generation int
	firstSeq   int64
	nextSeq    int64
	lastAt     time.Time
	status     Status

	clock       time.Time // effective time of the last settled fact: where an infinitely fast engine would stand
	opened      bool      // a turn has appended something in this generation
	cancelShown bool      // a wish to cancel was taken
	openedDue   bool      // something was opened that was due already; the turn under way resets it

	// No list or map below is made before it is needed: a cache holds the more parked runs the smaller their states are.

	waits   index[*wait]
	timers  map[string]*timer
	hooks   map[spec.HookID]*hook
	queue   []*wait               // open waits, oldest opening first
	ticking []*timer              // open timers, oldest opening first
	active  map[spec.HookID]*hook // open hooks
	tasks   index[*task]
	working []*task // open tasks, oldest opening first
	unread  inbox
	updates index[*knownUpdate] // of the generation
	asking  []*knownUpdate      // open updates, in order of acceptance
	done    []*knownUpdate      // completed updates, in order of completion
	pending []fact              // accepted and not yet taken, in order of acceptance
	takenTo int64               // messages up to this seq are taken
	bound   int32               // hooks that would go over into the next generation; the limit of hooks is on these
	engaged int32               // tasks that are open as far as workflow code was shown; the limit of tasks is on these
	settled int32               // how many places in the order of settling are taken

	opening   int32   // how many of them before the generation's first call
	cancelled int32   // the place of the wish to cancel
	began     int64   // where the clock stood when the generation began, in microseconds
	moments   []int64 // where it stood when each place was taken
}

type wait struct {
	id        spec.WaitID
	signal    string
	deadline  *time.Time
	openedAt  time.Time // effective
	openedSeq int64
	again     bool
	status    WaitStatus
	took      *SignalReceived // nil until the wait consumed a signal
	settled   int32           // position in the order of settling, from 1; 0 while it has not settled
}

func (w *wait) label() string { return string(w.id) }

type timer struct {
	id        spec.TimerID
	due       time.Time
	openedAt  time.Time // effective
	openedSeq int64
	status    WaitStatus
	settled   int32 // as of a wait
}

type hook struct {
	record   Hook
	openedAt time.Time // effective
	shown    HookState // as of the facts taken, to workflow code
	payload  canon.Payload
	rejected *Rejection
	read     bool  // workflow code asked about the settled hook, in a committed turn
	asked    bool  // … in this one
	byCode   bool  // workflow code withdrew it, be it past its deadline
	bound    bool  // counted by State.bound
	settled  int32 // as of a wait
	seq      int64
}

// fact is an accepted message that workflow code has not been shown.
type fact struct {
	seq  int64
	at   time.Time
	name string      // of a signal; the ID of a task
	hook spec.HookID // of an answer or a withdrawal of a hook
	kind factKind
}

type factKind int

const (
	factSignal factKind = iota + 1
	factHook
	factCancel
	factTask
	factUpdate
)

// WaitStatus is where a wait or a timer stands.
type WaitStatus string

// The statuses; the empty one is that of an ID never named in the generation.
const (
	WaitUnknown  WaitStatus = ""
	WaitOpen     WaitStatus = "open"
	WaitDone     WaitStatus = "completed" // a wait consumed a signal, a timer fired
	WaitLate     WaitStatus = "timed_out"
	WaitWithdrew WaitStatus = "withdrawn"
)

func newState(key RunKey) *State {
	return &State{key: key, status: Running}
}

// reset forgets what belongs to one generation only.
func (s *State) reset() {
	s.waits, s.timers, s.hooks, s.active = index[*wait]{}, nil, nil, nil
	s.tasks, s.working, s.engaged = index[*task]{}, nil, 0
	s.queue, s.ticking, s.bound, s.settled = nil, nil, 0, 0
	s.opening, s.cancelled, s.moments = 0, 0, nil
	s.updates, s.asking, s.done = index[*knownUpdate]{}, nil, nil
	s.pending = nil
	s.opened = false
}

// kindOf gives what an ID stands for in the generation.
func (s *State) kindOf(id string) (Kind, bool) {
	if _, ok := s.waits.get(id); ok {
		return KindWait, true
	}
	if _, ok := s.timers[id]; ok {
		return KindTimer, true
	}
	if _, ok := s.hooks[spec.HookID(id)]; ok {
		return KindHook, true
	}
	if t, ok := s.tasks.get(id); ok {
		return t.kind, true
	}
	return "", false
}

// mayBe says whether an ID is of the kind or of none yet.
func (s *State) mayBe(id string, kind Kind) bool {
	known, ok := s.kindOf(id)
	return !ok || known == kind
}

// settle gives a thing its place in the order of settling. What settled keeps the place that it has.
func (s *State) settle(place *int32) {
	if *place == 0 {
		s.settled++
		*place = s.settled
		s.moments = append(s.moments, s.clock.UnixMicro())
	}
}

// take shows the next accepted message. It reports whether seq is the next one.
func (s *State) take(seq int64) bool {
	if len(s.pending) == 0 || s.pending[0].seq != seq {
		return false
	}
	f := s.pending[0]
	if s.pending = s.pending[1:]; len(s.pending) == 0 {
		s.pending = nil // or the empty list would keep the array
	}
	s.takenTo = f.seq
	s.advance(f.at)
	switch f.kind {
	case factHook:
		h := s.hooks[f.hook]
		s.show(h, h.record.State)
	case factCancel:
		s.cancelShown = true
		s.settle(&s.cancelled)
	case factTask:
		t, _ := s.tasks.get(f.name)
		s.showTask(t)
	case factSignal: // it stays in the buffer until a wait takes it
	case factUpdate: // it stays open until it is answered
	}
	return true
}

func (s *State) advance(at time.Time) {
	if at.After(s.clock) {
		s.clock = at
	}
}

// pairable finds the earliest accepted signal that an open wait takes, and the oldest wait that takes it.
func (s *State) pairable() (*wait, *message) {
	var found *wait
	var first *message
	for _, w := range s.queue {
		m := s.unread.head(w.signal)
		if m == nil || m.seq > s.takenTo || !w.admits(m) {
			continue
		}
		if first == nil || m.seq < first.seq {
			found, first = w, m
		}
	}
	return found, first
}

// admits says whether the wait takes the message: one accepted before its deadline, or one that lay in the buffer when
// the wait was first opened.
func (w *wait) admits(m *message) bool {
	if w.deadline == nil || m.at.Before(*w.deadline) {
		return true
	}
	return !w.again && m.seq < w.openedSeq
}

func (s *State) unqueue(w *wait) {
	s.queue = slices.DeleteFunc(s.queue, func(q *wait) bool { return q == w })
}

func (s *State) stopTicking(t *timer) {
	s.ticking = slices.DeleteFunc(s.ticking, func(open *timer) bool { return open == t })
}
