package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrMessageNotFound says that the inbox of the namespace has no such message.
var ErrMessageNotFound = errors.New("message not found")

// MessageState is where a message of the inbox stands.
type MessageState string

// The states of a message.
const (
	MessageHeld      MessageState = "held"      // waits for its run or hook
	MessageDead      MessageState = "dead"      // cannot be delivered, and waits for a decision
	MessageDelivered MessageState = "delivered" // its receipt is the run's
	MessageDiscarded MessageState = "discarded" // somebody decided that nobody cares
)

// MessageKey names a message: its identity among all of a namespace.
type MessageKey struct {
	Namespace spec.Namespace
	ID        string
}

// NewMessage is a message to keep.
type NewMessage struct {
	Key     MessageKey
	Source  string
	Kind    string // signal or hook
	RunID   spec.RunID
	Name    string // of the signal, or the ID of the hook
	Payload canon.Payload
	Reason  string        // why it is dead; empty: it is held
	Hold    time.Duration // until its deadline, by the database's clock
	Room    int           // how many messages the source may have that are held or dead
}

// StoredMessage is a message of the inbox. In lists it has neither payload nor digest.
type StoredMessage struct {
	Row        int64 // its number in the inbox
	Key        MessageKey
	Source     string
	Kind       string
	RunID      spec.RunID
	Name       string
	Payload    canon.Payload
	State      MessageState
	Reason     string
	ReceivedAt time.Time
	Deadline   time.Time
	Attempt    int  // tries to deliver it
	Late       bool // of one that was taken: its deadline has passed
	ResolvedAt *time.Time
	Actor      string // who decided
}

// HoldMessage keeps a message that is not known yet, and returns what is known then. Nothing is known when the source has
// no room; of several at a time each may find the last place. Doing it again changes nothing. Errors: ErrMessageNotFound
// for want of room, ErrUnavailable, *DatabaseError.
func (s *Store) HoldMessage(ctx context.Context, m NewMessage) (StoredMessage, error) {
	state := MessageHeld
	if m.Reason != "" {
		state = MessageDead
	}
	digest := m.Payload.Digest()
	var rows *[]sqlc.Inbox
	err := s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		p.exec(sqlc.HoldMessage, sqlc.HoldMessageParams{
			Namespace: string(m.Key.Namespace), Source: m.Source, MessageID: m.Key.ID, Kind: m.Kind, RunID: string(m.RunID),
			Name: m.Name, Digest: digest[:], Payload: m.Payload.Bytes(), State: string(state), Reason: m.Reason,
			Hold: m.Hold.Seconds(), Room: int64(m.Room),
		})
		// A later statement sees what a rival that was waited for has stored.
		rows = queue(p, sqlc.KnownMessage, sqlc.KnownMessageParams{Namespace: string(m.Key.Namespace), MessageID: m.Key.ID}, rowTo[sqlc.Inbox])
		p.commit()
		return p.send(ctx, conn)
	})
	switch {
	case err != nil:
		return StoredMessage{}, translate(err)
	case len(*rows) == 0:
		return StoredMessage{}, ErrMessageNotFound
	}
	return messageOf((*rows)[0])
}

// KnownMessage reads a message by its identity. Errors: ErrMessageNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) KnownMessage(ctx context.Context, key MessageKey) (StoredMessage, error) {
	params := sqlc.KnownMessageParams{Namespace: string(key.Namespace), MessageID: key.ID}
	row, err := lookUpOne[sqlc.Inbox](ctx, s, sqlc.KnownMessage, params, ErrMessageNotFound)
	if err != nil {
		return StoredMessage{}, err
	}
	return messageOf(row)
}

// ReadMessage reads a message by its number. Errors: ErrMessageNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ReadMessage(ctx context.Context, ns spec.Namespace, row int64) (StoredMessage, error) {
	found, err := lookUpOne[sqlc.Inbox](ctx, s, sqlc.ReadMessage, sqlc.ReadMessageParams{ID: row, Namespace: string(ns)}, ErrMessageNotFound)
	if err != nil {
		return StoredMessage{}, err
	}
	return messageOf(found)
}

// MessageFilter says which messages to list. Empty fields pass everything.
type MessageFilter struct {
	Namespace spec.Namespace // required
	State     MessageState
	Source    string
	RunID     spec.RunID
	Reason    string
	Cursor    string // of the page before
	Limit     int    // at most 1,000, default 50
}

// ListMessages lists messages of one namespace without their payloads, the newest first. The cursor for the next page is
// empty on the last one. Errors: *spec.InvalidError for a bad cursor, ErrUnavailable, *DatabaseError.
func (s *Store) ListMessages(ctx context.Context, f MessageFilter) (found []StoredMessage, next string, err error) {
	before, err := messageCursor.before(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	rows, err := statements.ListMessages(ctx, replanned{s.pool}, sqlc.ListMessagesParams{
		Namespace: string(f.Namespace), Before: before, State: string(f.State), Source: f.Source, RunID: string(f.RunID),
		Reason: f.Reason, Count: int64(limit) + 1,
	})
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, messageCursor, func(r sqlc.ListMessagesRow) int64 { return r.ID })
	for _, r := range rows {
		m := StoredMessage{
			Row: r.ID, Key: MessageKey{spec.Namespace(r.Namespace), r.MessageID}, Source: r.Source, Kind: r.Kind,
			RunID: spec.RunID(r.RunID), Name: r.Name, State: MessageState(r.State), Reason: r.Reason, ReceivedAt: r.ReceivedAt.UTC(),
			Deadline: r.Deadline.UTC(), Attempt: int(r.Attempt), ResolvedAt: utc(r.ResolvedAt), Actor: r.Actor,
		}
		found = append(found, m)
	}
	return found, next, nil
}

func messageOf(row sqlc.Inbox) (StoredMessage, error) {
	digest, err := canon.FromBytes(row.Digest)
	if err != nil {
		return StoredMessage{}, fmt.Errorf("message %d of the inbox: %w", row.ID, err)
	}
	return StoredMessage{
		Row: row.ID, Key: MessageKey{spec.Namespace(row.Namespace), row.MessageID}, Source: row.Source, Kind: row.Kind,
		RunID: spec.RunID(row.RunID), Name: row.Name, Payload: canon.Restore(row.Payload, digest), State: MessageState(row.State),
		Reason: row.Reason, ReceivedAt: row.ReceivedAt.UTC(), Deadline: row.Deadline.UTC(), Attempt: int(row.Attempt),
		ResolvedAt: utc(row.ResolvedAt), Actor: row.Actor,
	}, nil
}

// Run is the key of the run that a message is for.
func (m StoredMessage) Run() history.RunKey {
	return history.RunKey{Namespace: m.Key.Namespace, RunID: m.RunID}
}
