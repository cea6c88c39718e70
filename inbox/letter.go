package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// State is where a message of the inbox stands.
type State = db.MessageState

// The states.
const (
	StateHeld      = db.MessageHeld
	StateDead      = db.MessageDead
	StateDelivered = db.MessageDelivered
	StateDiscarded = db.MessageDiscarded
)

// Letter is a message of the inbox as operators see it. Payload is there when one is read, not in lists.
type Letter struct {
	ID         string          `json:"letter_id"`
	Kind       string          `json:"kind"` // always "message"
	Source     string          `json:"source"`
	MessageID  string          `json:"message_id"`
	RunID      spec.RunID      `json:"run_id"`
	Signal     string          `json:"signal,omitempty"`
	HookID     spec.HookID     `json:"hook_id,omitempty"`
	State      State           `json:"state"`
	Reason     Reason          `json:"reason,omitempty"`
	ReceivedAt time.Time       `json:"received_at"`
	Deadline   time.Time       `json:"deadline"`
	Attempt    int             `json:"attempt"`
	ResolvedAt *time.Time      `json:"resolved_at,omitempty"`
	Actor      string          `json:"actor,omitempty"` // who decided
	Payload    json.RawMessage `json:"payload,omitempty"`
}

// Filter says which messages to list. Empty fields pass everything.
type Filter struct {
	State  State
	Source string
	RunID  spec.RunID
	Reason Reason
	Cursor string // of the page before
	Limit  int    // at most 200, default 50
}

// maxPage bounds a list.
const maxPage = 200

// letterPrefix tells messages from steps among dead letters.
const letterPrefix = "m-"

func letterID(row int64) string { return db.MessageLetter(row) }

// IsLetterID says that an ID is one of a message, if it is one at all.
func IsLetterID(id string) bool { return strings.HasPrefix(id, letterPrefix) }

// List lists messages of a namespace, the newest first; next is empty on the last page. Errors: *engine.InvalidError,
// engine.ErrUnavailable.
func (b *Inbox) List(ctx context.Context, ns spec.Namespace, f Filter) (letters []Letter, next string, err error) {
	switch f.State {
	case "", StateHeld, StateDead, StateDelivered, StateDiscarded:
	default:
		return nil, "", &engine.InvalidError{Field: "state", Rule: "must be held, dead, delivered or discarded"}
	}
	if f.Limit < 0 || f.Limit > maxPage {
		return nil, "", &engine.InvalidError{Field: "limit", Rule: "must be from 1 to 200"}
	}
	for _, part := range []struct{ field, text string }{{"source", f.Source}, {"run", string(f.RunID)}, {"reason", string(f.Reason)}} {
		if part.text == "" {
			continue
		}
		if err := spec.CheckName(part.field, part.text); err != nil {
			return nil, "", err
		}
	}
	found, next, err := b.store.ListMessages(ctx, db.MessageFilter{
		Namespace: ns, State: f.State, Source: f.Source, RunID: f.RunID, Reason: string(f.Reason), Cursor: f.Cursor, Limit: f.Limit,
	})
	if err != nil {
		return nil, "", err
	}
	letters = make([]Letter, len(found))
	for i, m := range found {
		letters[i] = showLetter(m)
	}
	return letters, next, nil
}

// Letter reads one. Errors: engine.ErrLetterNotFound, also for an ID that is none, engine.ErrUnavailable.
func (b *Inbox) Letter(ctx context.Context, ns spec.Namespace, id string) (Letter, error) {
	m, err := b.letter(ctx, ns, id)
	if err != nil {
		return Letter{}, err
	}
	l := showLetter(m)
	l.Payload = m.Payload.Bytes()
	return l, nil
}

func (b *Inbox) letter(ctx context.Context, ns spec.Namespace, id string) (db.StoredMessage, error) {
	number, ok := strings.CutPrefix(id, letterPrefix)
	row, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || row <= 0 || letterID(row) != id {
		return db.StoredMessage{}, engine.ErrLetterNotFound
	}
	m, err := b.store.ReadMessage(ctx, ns, row)
	if errors.Is(err, db.ErrMessageNotFound) {
		err = engine.ErrLetterNotFound
	}
	return m, err
}

// Replay has a dead message wait again, as long as it was to wait at first, at least 10 minutes. Of one that waits or was
// delivered it is a duplicate. Errors: *engine.InvalidError for the actor, engine.ErrLetterNotFound,
// engine.ErrLetterDecided for one that was discarded, engine.ErrUnavailable.
func (b *Inbox) Replay(ctx context.Context, ns spec.Namespace, id, actor string) (engine.Verdict, error) {
	return b.decide(ctx, ns, id, actor, decision{
		from: []State{StateDead}, same: []State{StateHeld, StateDelivered},
		do: func(row int64) (bool, error) { return b.store.ReplayMessage(ctx, ns, row, leastReplay, actor) },
	})
}

// Discard puts a held or dead message away; it is never delivered then. Discarding again is a duplicate. Errors:
// *engine.InvalidError for the actor, engine.ErrLetterNotFound, engine.ErrLetterDecided for one that was delivered,
// engine.ErrUnavailable, also for one that is being delivered.
func (b *Inbox) Discard(ctx context.Context, ns spec.Namespace, id, actor string) (engine.Verdict, error) {
	return b.decide(ctx, ns, id, actor, decision{
		from: []State{StateHeld, StateDead}, same: []State{StateDiscarded},
		do: func(row int64) (bool, error) { return b.store.DiscardMessage(ctx, ns, row, actor) },
	})
}
