package db

import (
	"slices"
	"sync"
	"time"
)

const (
	// waitSamples bounds how many waits are kept, waitWindow for how long they count. Fewer than waitEnough of them say
	// nothing.
	waitSamples = 512
	waitWindow  = 5 * time.Second
	waitEnough  = 20
	// waitCached is how long the answer holds: it takes sorting, and every request may ask.
	waitCached = 100 * time.Millisecond
)

// waits are how long messages waited of late until a lane took them. What holds a run up, such as a lock that somebody
// keeps, is not in it: its messages are taken and set aside.
type waits struct {
	mu      sync.Mutex
	samples [waitSamples]waitSample
	next    int
	told    time.Time
	p95     time.Duration
}

type waitSample struct {
	at   time.Time
	wait time.Duration
}

// note keeps the wait of a message that came at since. A zero time is of a message that did not come by Accept.
func (w *waits) note(since, now time.Time) {
	if since.IsZero() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples[w.next] = waitSample{now, max(0, now.Sub(since))}
	w.next = (w.next + 1) % waitSamples
}

// most is the wait that 95 of 100 messages of the last seconds did not exceed; zero when there were too few to say.
func (w *waits) most(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.told); age >= 0 && age < waitCached {
		return w.p95
	}
	w.told, w.p95 = now, 0
	recent := make([]time.Duration, 0, waitSamples)
	for _, s := range w.samples {
		if !s.at.IsZero() && now.Sub(s.at) < waitWindow {
			recent = append(recent, s.wait)
		}
	}
	if len(recent) >= waitEnough {
		slices.Sort(recent)
		w.p95 = recent[len(recent)*95/100]
	}
	return w.p95
}

// AcceptWait is how long Accept makes its callers wait, before anything is done for them, while many of them come: the 95th
// percentile of the last 5 s, and zero when few came.
func (s *Store) AcceptWait() time.Duration { return s.waits.most(s.cfg.Clock()) }
