package db

import (
	"sync"
	"time"
)

const (
	// floorSlack is how long after it was decided a due time may become visible and still be found at once: an accept
	// transaction nearly always ends within it.
	floorSlack = 500 * time.Millisecond
	// lookBack is how often a claim looks at everything that is due, whatever its floor: for due times that became visible
	// later than that, as those of a long transaction of the host, and for runs that others had locked or gave up.
	lookBack = time.Second
)

// floors remember where the due runs of each code begin. Every turn leaves a dead entry in the index of due times until
// the table is vacuumed; without a floor each claim would walk over all of them. It is safe for concurrent use.
type floors struct {
	mu     sync.Mutex
	byCode map[Code]floor
}

type floor struct {
	at     time.Time // by the database's clock; zero looks at everything
	looked time.Time // when a claim last looked at everything, by this process's clock
}

func newFloors() *floors { return &floors{byCode: map[Code]floor{}} }

// of returns the due time at which a claim made now begins for each code.
func (f *floors) of(codes []Code, now time.Time) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := make([]time.Time, len(codes))
	for i, code := range codes {
		known := f.byCode[code]
		if now.Sub(known.looked) >= lookBack {
			known.looked = now
			f.byCode[code] = known
			continue
		}
		from[i] = known.at
	}
	return from
}

// lookIn is how long after now the next look at everything is due; zero when a claim made now is one. What a floor hides
// must not wait for the next poll on top.
func (f *floors) lookIn(codes []Code, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var soonest time.Duration
	for _, code := range codes {
		in := lookBack - now.Sub(f.byCode[code].looked)
		if in > 0 && (soonest == 0 || in < soonest) {
			soonest = in
		}
	}
	return soonest
}

// raise notes what a claim of these codes did: what was claimed last of each, since when what it claimed and did not
// advance is due, and whether it saw all that was due. askedAt is the time of the claim by the database's clock.
func (f *floors) raise(codes []Code, askedAt time.Time, last, stillDue map[Code]time.Time, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, code := range codes {
		known, at := f.byCode[code], askedAt.Add(-floorSlack)
		if !all {
			reached, ok := last[code]
			if !ok {
				continue
			}
			if reached.Before(at) {
				at = reached
			}
		}
		if since, ok := stillDue[code]; ok && since.Before(at) {
			at = since
		}
		known.at = at
		f.byCode[code] = known
	}
}

// resetAll makes the next claim of any code look at everything.
func (f *floors) resetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.byCode)
}
