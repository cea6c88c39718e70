package db

import (
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// holdBackTime is how long the calls to a run wait for its turn. It bounds what slow workflow code, or one turn among many,
// can take from a message: after that the message goes first, and the turn is decided again.
const holdBackTime = 20 * time.Millisecond

// turning keeps what this process does with one run in order: either its messages are being stored or its turn is being
// taken. A message that is stored meanwhile would make the turn worthless, and one that has to wait for the run's lock
// takes a detour; so calls wait here for a moment, and a turn waits for the batch under way. The calls of a run keep their
// order, as long as no more than limit wait. It is about speed alone: other processes know nothing of it, and the rows decide. It is safe for concurrent use.
type turning struct {
	limit int
	over  chan struct{} // holds one: calls may go

	mu     sync.Mutex
	runs   map[history.RunKey]*paced
	queued int // calls that wait, at most limit
}

// paced is what goes on with one run.
type paced struct {
	storing int       // batches under way that hold messages of it
	turns   int       // under way
	handed  bool      // its turn waits to be taken
	since   time.Time // the first of the turns, or the wait for it, began
	calls   []*call   // wait for the turn
	release bool      // a turn ended since the first of the calls came
}

func newTurning(limit int) *turning {
	return &turning{limit: limit, over: make(chan struct{}, 1), runs: map[history.RunKey]*paced{}}
}

func (t *turning) of(key history.RunKey) *paced {
	p := t.runs[key]
	if p == nil {
		p = &paced{}
		t.runs[key] = p
	}
	return p
}

func (t *turning) forget(key history.RunKey, p *paced) {
	if p.storing == 0 && p.turns == 0 && !p.handed && len(p.calls) == 0 {
		delete(t.runs, key)
	}
}

// store begins to store the message of a call, or has it wait: for a turn, or behind other calls that do.
func (t *turning) store(c *call, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(c.run)
	if t.waits(p, now) && t.queued < t.limit {
		p.calls = append(p.calls, c)
		t.queued++
		return false
	}
	p.storing++
	return true
}

func (t *turning) waits(p *paced, now time.Time) bool {
	return len(p.calls) > 0 || (p.turns > 0 || p.handed) && now.Sub(p.since) < holdBackTime
}

// stored ends what store began. It reports whether a turn waited for that.
func (t *turning) stored(key history.RunKey) (turn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.runs[key]
	p.storing--
	t.forget(key, p)
	return p.storing == 0 && p.handed
}

// hand says that the run's turn waits to be taken.
func (t *turning) hand(key history.RunKey, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(key)
	if !p.handed && p.turns == 0 {
		p.since = now
	}
	p.handed = true
}

// unhand takes back what hand said: the run was not handed over.
func (t *turning) unhand(key history.RunKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.runs[key]; p != nil {
		p.handed = false
		t.forget(key, p)
	}
}

// try begins a turn, unless messages of the run are being stored: then there is more to see in a moment.
func (t *turning) try(key history.RunKey, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.runs[key]; p != nil && p.storing > 0 {
		return false
	}
	t.start(key, now)
	return true
}

// begin begins a turn of a run that is locked.
func (t *turning) begin(key history.RunKey, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start(key, now)
}

func (t *turning) start(key history.RunKey, now time.Time) {
	p := t.of(key)
	if p.turns == 0 {
		p.since = now
	}
	p.handed = false
	p.turns++
}

// end ends a turn, and lets the calls go that waited for it.
func (t *turning) end(key history.RunKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.runs[key]
	p.turns--
	if len(p.calls) == 0 {
		t.forget(key, p)
		return
	}
	p.release = true
	t.letGo()
}

// take removes the calls of runs whose turns are over, or took too long, until add says that it is enough, and begins to
// store them. A run whose next turn has begun since does not wait for that, too.
func (t *turning) take(now time.Time, add func(*call) (enough bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queued == 0 {
		return
	}
	for _, p := range t.runs {
		if len(p.calls) == 0 || !p.release && now.Sub(p.since) < holdBackTime {
			continue
		}
		for p.release = true; len(p.calls) > 0; {
			c := p.calls[0]
			p.calls = p.calls[1:]
			t.queued--
			p.storing++
			if add(c) {
				t.letGo() // the rest
				return
			}
		}
		p.calls, p.release = nil, false
	}
}

// letGo has the lane look for calls that may go.
func (t *turning) letGo() {
	select {
	case t.over <- struct{}{}:
	default:
	}
}

// drain removes all calls.
func (t *turning) drain() (calls []*call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, p := range t.runs {
		calls = append(calls, p.calls...)
		p.calls, p.release = nil, false
		t.forget(key, p)
	}
	t.queued = 0
	return calls
}

// underWay says that a turn of the run is being taken, or is about to be.
func (t *turning) underWay(key history.RunKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.runs[key]
	return p != nil && (p.turns > 0 || p.handed)
}

// idle says that no call waits.
func (t *turning) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queued == 0
}
