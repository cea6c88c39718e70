package db

import (
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	// handedRuns and handedBytes bound what waits to be advanced: runs, and the events that came with them.
	handedRuns  = 4096
	handedBytes = 16 << 20
)

// handedRun is a run that a commit of this process made due, as it left it, with the events that it appended.
type handedRun struct {
	storedRun
	events []history.Event // the last ones of the run's record, without a gap
	size   int64
	came   time.Time // when the first of them was handed over, by this process's clock
	gone   bool      // somebody else advances it
}

func handedRecord(rec *record, now time.Time) *handedRun {
	h := &handedRun{storedRun: storedRun{ID: rec.id, Run: rec.Run, bare: rec.bare}, events: rec.Events, came: now}
	for _, e := range rec.Events {
		h.size += eventSize + e.PayloadSize()
	}
	return h
}

// handover passes due runs from the transactions that made them due to the one that advances them, in order, without a
// look at the database. It loses nothing that matters: a run that is not taken stays due there. It is safe for concurrent
// use.
type handover struct {
	mu    sync.Mutex
	line  []*handedRun // in the order handed over, those among them that are gone
	byRun map[int64]*handedRun
	bytes int64
}

func newHandover() *handover { return &handover{byRun: map[int64]*handedRun{}} }

// add takes a run. It reports false when too much waits already.
func (h *handover) add(r *handedRun) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes+r.size > handedBytes {
		return false
	}
	if known, ok := h.byRun[r.ID]; ok {
		h.join(known, r)
		return true
	}
	if len(h.line) >= handedRuns {
		return false
	}
	h.line = append(h.line, r)
	h.byRun[r.ID] = r
	h.bytes += r.size
	return true
}

// join brings what waits of a run up to date. Two commits may hand over in the other order; of events with a gap only the
// newer ones are kept.
func (h *handover) join(known, r *handedRun) {
	switch {
	case known.Run.NextSeq >= r.Run.NextSeq:
		return
	case known.Run.NextSeq == r.events[0].Seq:
		known.events = append(known.events, r.events...)
		known.size += r.size
		h.bytes += r.size
	default:
		h.bytes += r.size - known.size
		known.events, known.size = r.events, r.size
	}
	known.storedRun = r.storedRun
}

// take removes up to n runs, the first ones that may be advanced now. The others keep their places.
func (h *handover) take(n int, may func(history.RunKey) bool) (taken []*handedRun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.line[:0]
	for i, r := range h.line {
		switch {
		case r.gone:
		case len(taken) < n && may(r.Run.Key):
			h.remove(r)
			taken = append(taken, r)
		default:
			kept = append(kept, r)
		}
		if len(taken) == n {
			kept = append(kept, h.line[i+1:]...)
			break
		}
	}
	clear(h.line[len(kept):])
	if h.line = kept; len(kept) == 0 {
		h.line = nil
	}
	return taken
}

// forget withdraws a run that somebody else advances.
func (h *handover) forget(run int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.byRun[run]; ok {
		h.remove(r)
		r.gone, r.events = true, nil
	}
}

func (h *handover) remove(r *handedRun) {
	delete(h.byRun, r.ID)
	h.bytes -= r.size
}

// empty says that nothing waits.
func (h *handover) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byRun) == 0
}
