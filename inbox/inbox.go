package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Config is what an Inbox is made of. Store and Engine are required, and are of one database.
type Config struct {
	Store  *db.Store
	Engine *engine.Engine
	Logger zerolog.Logger // gets what no sender is told, and nothing of a message but its source and where it stands
	// Random is the source of jitter; default crypto/rand.
	Random io.Reader
	// Clock measures how long deliveries take; default time.Now. Its values must keep the monotonic reading.
	Clock func() time.Time
	// Room is how many messages of a source may be held or dead; default 10,000. Senders at the same time may each find the
	// last place.
	Room int
	// Poll is how often the database is asked for what can be delivered, ± 20 %; default 1 s.
	Poll time.Duration
	// Lease is how long a message stays with a process that is gone; default 30 s.
	Lease time.Duration
	// Keep is how long messages stay in the inbox after they were delivered or discarded; default 7 days, longer than
	// providers send again.
	Keep time.Duration
}

const (
	defaultRoom  = 10_000
	defaultPoll  = time.Second
	defaultLease = 30 * time.Second
	defaultKeep  = 7 * 24 * time.Hour
	// leastReplay is how long a replayed message waits at least.
	leastReplay = 10 * time.Minute
)

// Inbox gives messages to runs. It is safe for concurrent use; several processes may have one on a database.
type Inbox struct {
	cfg   Config
	store *db.Store
	after atomic.Int64 // the last message that was looked at; zero: from the first one on
}

// New makes an inbox. It starts nothing.
func New(cfg Config) *Inbox {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Room = or(cfg.Room, defaultRoom)
	cfg.Poll = or(cfg.Poll, defaultPoll)
	cfg.Lease = or(cfg.Lease, defaultLease)
	cfg.Keep = or(cfg.Keep, defaultKeep)
	return &Inbox{cfg: cfg, store: cfg.Store}
}

func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Receive gives a message to its run, or keeps it. What comes back without an error is durable. It is idempotent by the
// message's identity: an equal message is a duplicate, whether a run or the inbox has it, another one is a conflict.
//
// A run or a hook that is not there has the message held, if the policy lets it wait. What the run refuses for good is
// ignored: an ended run, a closed hook, a signal that is not declared; a payload that breaks the schema is ignored, too,
// and kept as a dead letter.
//
// Errors: *ConflictError; *engine.InvalidError, *engine.PayloadError, engine.ErrPayloadTooLarge for a message that can be
// none; ErrFull and engine.ErrUnavailable, engine.ErrBacklogFull, after which the same message is safe to send again.
func (b *Inbox) Receive(ctx context.Context, m Message, p Policy) (Result, error) {
	known, err := b.store.KnownMessage(ctx, m.key())
	switch {
	case err == nil:
		return b.again(ctx, m, known, p)
	case !errors.Is(err, db.ErrMessageNotFound):
		return Result{}, err
	}
	receipt, err := b.deliver(ctx, m)
	if err == nil {
		return Result{Outcome: Outcome(receipt.Verdict), Receipt: receipt}, nil
	}
	if absent := absentFor(err); absent != "" {
		if p.Hold <= 0 {
			return Result{Outcome: Ignored, Reason: absent}, nil
		}
		return b.keep(ctx, m, "", p)
	}
	switch reason := refusedFor(err); {
	case reason == ReasonConflict:
		return b.conflict(ctx, m, conflictOf(err), p)
	case reason == ReasonSchema:
		return b.keep(ctx, m, reason, p)
	case reason != "" && reason != ReasonPayload:
		return Result{Outcome: Ignored, Reason: reason}, nil
	}
	return Result{}, err
}

// again answers a message whose identity the inbox knows.
func (b *Inbox) again(ctx context.Context, m Message, known db.StoredMessage, p Policy) (Result, error) {
	if differs := m.differs(known); len(differs) > 0 {
		return b.conflict(ctx, m, differs, p)
	}
	return Result{Outcome: Duplicate}, nil
}

// keep keeps a message, dead if there is a reason.
func (b *Inbox) keep(ctx context.Context, m Message, reason Reason, p Policy) (Result, error) {
	known, err := b.store.HoldMessage(ctx, db.NewMessage{
		Key: m.key(), Source: m.Source, Kind: string(m.Kind), RunID: m.RunID, Name: m.Name, Payload: m.Payload,
		Reason: string(reason), Hold: p.Hold, Room: b.cfg.Room,
	})
	if errors.Is(err, db.ErrMessageNotFound) {
		b.cfg.Logger.Warn().Str("source", m.Source).Int("room", b.cfg.Room).Msg("the inbox of a source is full: its messages are refused")
		return Result{}, ErrFull
	}
	if err != nil {
		return Result{}, err
	}
	if differs := m.differs(known); len(differs) > 0 { // somebody was faster
		return b.conflict(ctx, m, differs, p)
	}
	switch {
	case reason == "" && known.State == db.MessageHeld:
		return Result{Outcome: Held}, nil
	case known.State != db.MessageDead || known.Reason != string(reason): // another one kept it, and more has happened
		return Result{Outcome: Duplicate}, nil
	}
	b.cfg.Logger.Warn().Str("source", m.Source).Str("reason", string(reason)).Str("letter", letterID(known.Row)).
		Msg("a message cannot be delivered: it is a dead letter")
	return Result{Outcome: Ignored, Reason: reason}, nil
}

// conflict refuses a message that says another thing than the one of its identity, or keeps it under an identity of its own.
func (b *Inbox) conflict(ctx context.Context, m Message, differs []string, p Policy) (Result, error) {
	if !p.KeepConflicts {
		return Result{}, &ConflictError{Differs: differs}
	}
	p.KeepConflicts = false
	return b.keep(ctx, m.asConflict(), ReasonConflict, p)
}

func conflictOf(err error) []string {
	if e, ok := errors.AsType[*engine.SignalConflictError](err); ok {
		return e.Differs
	}
	if e, ok := errors.AsType[*engine.HookConflictError](err); ok {
		return e.Differs
	}
	return nil
}

// deliver gives a message to its run.
func (b *Inbox) deliver(ctx context.Context, m Message) (engine.Receipt, error) {
	handle, err := b.cfg.Engine.Namespace(m.Namespace)
	if err != nil {
		return engine.Receipt{}, err
	}
	const source = "ingress"
	actor := spec.SourceActor + m.Source
	if m.Kind == Hook {
		return handle.ResumeHook(ctx, engine.HookRequest{
			RunID: m.RunID, HookID: spec.HookID(m.Name), Payload: m.Payload.Bytes(), Source: source, Actor: actor,
		})
	}
	return handle.SendSignal(ctx, engine.SignalRequest{
		RunID: m.RunID, SignalID: spec.SignalID(m.ID), Name: m.Name, Payload: m.Payload.Bytes(), Source: source, Actor: actor,
	})
}
