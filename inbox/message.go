package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Kind is what a message is for a run.
type Kind string

// The kinds of messages.
const (
	Signal Kind = "signal"
	Hook   Kind = "hook"
)

// Message is a message of the outside world for a run. Its ID is its identity in the namespace, as a signal ID is, and
// begins with its source.
type Message struct {
	Namespace spec.Namespace
	Source    string
	ID        string
	Kind      Kind
	RunID     spec.RunID
	Name      string // of the signal, or the ID of the hook
	Payload   canon.Payload
}

// Policy says what becomes of a message that cannot be delivered now.
type Policy struct {
	// Hold is how long it waits for its run or hook; zero: not at all.
	Hold time.Duration
	// KeepConflicts keeps a message that says another thing under a known identity as a dead letter, instead of refusing it.
	KeepConflicts bool
}

// Outcome says what became of a message.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted"  // the run has it
	Duplicate Outcome = "duplicate" // the run, or the inbox, had it before
	Held      Outcome = "held"      // it waits
	Ignored   Outcome = "ignored"   // nobody takes it; the reason says why
)

// Reason says why a message is ignored or dead.
type Reason string

// The reasons.
const (
	ReasonRunNotFound  Reason = "run-not-found"  // there is no such run, and it does not wait
	ReasonHookNotFound Reason = "hook-not-found" // the run has no such hook, and it does not wait
	ReasonRunEnded     Reason = "run-ended"
	ReasonHookClosed   Reason = "hook-closed"
	ReasonUndeclared   Reason = "signal-not-declared"
	ReasonSchema       Reason = "payload-schema"
	ReasonPayload      Reason = "payload"   // it is too large, or no payload, by the limits of today
	ReasonNoPerson     Reason = "no-person" // the hook wants a person who is known and not who asks
	ReasonConflict     Reason = "conflict"
	ReasonExpired      Reason = "expired" // its run or hook did not come in time
)

// Result is what became of a message. Receipt is that of the run, and zero where the inbox answers.
type Result struct {
	Outcome Outcome
	Reason  Reason
	Receipt engine.Receipt
}

// ConflictError says that another message of the same identity is known. It names what differs, never its value.
type ConflictError struct{ Differs []string }

// Error implements error.
func (e *ConflictError) Error() string {
	return "a message of this identity is known that differs in " + strings.Join(e.Differs, ", ")
}

// ErrFull says that a source has as many messages in the inbox as it may. It matches engine.ErrUnavailable: sending the
// message again later is right.
var ErrFull = fmt.Errorf("the inbox of the source is full: %w", engine.ErrUnavailable)

// differs says what differs from a message of the same identity.
func (m Message) differs(known db.StoredMessage) (fields []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"kind", string(m.Kind) == known.Kind},
		{"run_id", m.RunID == known.RunID},
		{"name", m.Name == known.Name},
		{"payload", canon.Equal(m.Payload, known.Payload)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func (m Message) key() db.MessageKey { return db.MessageKey{Namespace: m.Namespace, ID: m.ID} }

// asConflict is the message under an identity of its own, made of all it says: no source has a name with this mark.
func (m Message) asConflict() Message {
	sum := sha256.New()
	digest := m.Payload.Digest()
	for _, part := range []string{m.ID, string(m.Kind), string(m.RunID), m.Name, string(digest[:])} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	m.ID = m.Source + "!conflict:" + hex.EncodeToString(sum.Sum(nil))
	return m
}

// refusedFor is why a run refuses a message for good; empty when it does not, or not for good.
func refusedFor(err error) Reason {
	switch {
	case errors.Is(err, engine.ErrRunEnded):
		return ReasonRunEnded
	case errors.Is(err, engine.ErrSignalUndeclared):
		return ReasonUndeclared
	case errors.Is(err, engine.ErrPayloadTooLarge), is[*engine.PayloadError](err), is[*engine.InvalidError](err):
		return ReasonPayload
	case is[*engine.HookClosedError](err):
		return ReasonHookClosed
	case errors.Is(err, engine.ErrSelfApproval):
		return ReasonNoPerson
	case is[*engine.SchemaError](err):
		return ReasonSchema
	case is[*engine.SignalConflictError](err), is[*engine.HookConflictError](err):
		return ReasonConflict
	}
	return ""
}

// absentFor is what of a message's target is not there; empty when it is.
func absentFor(err error) Reason {
	switch {
	case errors.Is(err, engine.ErrRunNotFound):
		return ReasonRunNotFound
	case errors.Is(err, engine.ErrHookNotFound):
		return ReasonHookNotFound
	}
	return ""
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
