package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// HistoryQuery selects events of one generation.
type HistoryQuery struct {
	Generation int    // 0 means the newest
	Cursor     string // NextCursor of the page before
	Limit      int    // at most 200; 0 means 50
}

// HistoryEvent is one event as callers may see it: payloads are in Data; of a hook's token only its ID is.
type HistoryEvent struct {
	Generation int             `json:"generation"`
	Seq        int64           `json:"seq"` // runs on over the generations
	Type       string          `json:"type"`
	At         time.Time       `json:"at"`
	Data       json.RawMessage `json:"data"`
}

// HistoryPage is one page of a history, oldest first. NextCursor is empty on the last page; it stays in the generation
// it began in.
type HistoryPage struct {
	Events     []HistoryEvent `json:"events"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// History reads events. A generation that the run has not is empty. Errors: *InvalidError, ErrRunNotFound,
// ErrUnavailable.
func (h *Handle) History(ctx context.Context, id spec.RunID, q HistoryQuery) (HistoryPage, error) {
	key, err := h.key(id)
	if err != nil {
		return HistoryPage{}, err
	}
	if q.Generation < 0 {
		return HistoryPage{}, &InvalidError{Field: "generation", Rule: "must not be negative"}
	}
	if err := checkLimit(&q.Limit); err != nil {
		return HistoryPage{}, err
	}
	after, err := q.position()
	if err != nil {
		return HistoryPage{}, err
	}
	// One event more than asked for tells whether a next page exists.
	events, err := h.e.store.History(ctx, key, after.generation, after.seq, q.Limit+1)
	if err != nil {
		return HistoryPage{}, err
	}
	return showHistory(events, q.Limit)
}

func showHistory(events []history.Event, limit int) (HistoryPage, error) {
	p := HistoryPage{Events: []HistoryEvent{}}
	for i, e := range events {
		if i == limit {
			last := p.Events[limit-1]
			p.NextCursor = position{last.Generation, last.Seq}.String()
			break
		}
		data, err := history.Public(e)
		if err != nil {
			return HistoryPage{}, err
		}
		p.Events = append(p.Events, HistoryEvent{
			Generation: e.Generation, Seq: e.Seq, Type: string(e.Data.Type()), At: e.At, Data: data,
		})
	}
	return p, nil
}

// position is the last event that a reader has seen.
type position struct {
	generation int
	seq        int64
}

// String is the cursor.
func (p position) String() string { return fmt.Sprintf("%d.%d", p.generation, p.seq) }

// position reads the cursor. The generation it names holds, and must not contradict the query.
func (q HistoryQuery) position() (position, error) {
	p := position{generation: q.Generation}
	if q.Cursor == "" {
		return p, nil
	}
	invalid := &InvalidError{Field: "cursor", Rule: "must be the next_cursor of the page before"}
	if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &p.generation, &p.seq); err != nil || p.String() != q.Cursor {
		return p, invalid
	}
	if p.generation < 1 || p.seq < 1 || q.Generation != 0 && q.Generation != p.generation {
		return p, invalid
	}
	return p, nil
}
