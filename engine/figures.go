package engine

import (
	"context"
	"errors"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/tally"
)

// MessageKind is what a message asks for, in counters.
type MessageKind string

// The kinds of messages.
const (
	MessageStart           MessageKind = "start"
	MessageSignal          MessageKind = "signal"
	MessageUpdate          MessageKind = "update"
	MessageSignalWithStart MessageKind = "signal_with_start"
	MessageUpdateWithStart MessageKind = "update_with_start"
	MessageHook            MessageKind = "hook"    // an answer to one
	MessageDispose         MessageKind = "dispose" // the withdrawal of one
	MessageCancel          MessageKind = "cancel"
	MessageTerminate       MessageKind = "terminate"
	MessageRetry           MessageKind = "retry"
	MessageReplay          MessageKind = "replay"  // of a dead letter
	MessageDiscard         MessageKind = "discard" // likewise
)

var messageKinds = []string{
	string(MessageStart), string(MessageSignal), string(MessageUpdate), string(MessageSignalWithStart),
	string(MessageUpdateWithStart), string(MessageHook), string(MessageDispose), string(MessageCancel),
	string(MessageTerminate), string(MessageRetry), string(MessageReplay), string(MessageDiscard),
}

// The words of the other counters.
var (
	verdicts = []string{
		string(VerdictAccepted), string(VerdictDuplicate), string(VerdictConflict), string(VerdictGone), string(VerdictUnknown),
		string(VerdictInvalid), string(VerdictDenied), string(VerdictBusy),
	}
	conflictKinds    = []string{"run", "signal", "update", "hook", "letter"}
	unresolvedTokens = []string{tokenMalformed, tokenUnknown, tokenForeign, tokenInternal}
	attemptOutcomes  = []string{attemptDone, attemptRetried, attemptFailed, attemptHeld, attemptReturned, attemptCancelled}
)

// Why a token stands for nothing on a surface.
const (
	tokenMalformed = "malformed"
	tokenUnknown   = "unknown"
	tokenForeign   = "foreign"  // of another namespace
	tokenInternal  = "internal" // of a hook that tokens do not answer
)

// What becomes of an attempt of a step.
const (
	attemptDone      = "completed"
	attemptRetried   = "retried"
	attemptFailed    = "failed"
	attemptHeld      = "held"
	attemptReturned  = "returned" // the process ends; it is begun again elsewhere
	attemptCancelled = "cancelled"
)

// figures count what an engine does.
type figures struct {
	receipts, conflicts, unresolved, attempts *tally.Grid
	turns                                     *tally.Histogram
}

func newFigures() *figures {
	return &figures{
		receipts: tally.NewGrid(messageKinds, verdicts), conflicts: tally.NewGrid(conflictKinds),
		unresolved: tally.NewGrid(unresolvedTokens), attempts: tally.NewGrid(attemptOutcomes),
		turns: tally.NewHistogram(tally.Seconds()),
	}
}

// received counts what the caller of a use case is told. A FactorError is a question and no answer yet: whoever asks it
// counts what comes of it, with NoteRefused.
func (f *figures) received(kind MessageKind, receipt Verdict, err error) {
	verdict := receipt
	switch {
	case as[*FactorError](err):
		return
	case err != nil:
		verdict = VerdictOf(err)
	case verdict == "": // of what has no receipt
		verdict = VerdictAccepted
	}
	f.receipts.Add(string(kind), string(verdict))
	if verdict == VerdictConflict {
		f.conflicts.Add(conflictKind(err))
	}
}

// receivedInTx counts what the caller of a call in its own transaction is told: a receipt of each request, or the refusal of
// one of them. Whether the caller commits is not known.
func (f *figures) receivedInTx(kind MessageKind, receipts []PendingReceipt, err error) {
	if err != nil {
		f.received(kind, "", err)
		return
	}
	for _, r := range receipts {
		f.received(kind, r.Receipt.Verdict, nil)
	}
}

func conflictKind(err error) string {
	switch {
	case as[*RunConflictError](err):
		return "run"
	case as[*SignalConflictError](err):
		return "signal"
	case as[*UpdateConflictError](err):
		return "update"
	case as[*HookConflictError](err):
		return "hook"
	case errors.Is(err, ErrLetterDecided):
		return "letter"
	}
	return tally.Other
}

// NoteRefused counts a message that somebody in front of the engine refused, with those that the engine did: one whose
// sender could not prove what a *FactorError asks for.
func (e *Engine) NoteRefused(kind MessageKind, verdict Verdict) {
	e.figures.receipts.Add(string(kind), string(verdict))
}

// NoteMalformedToken counts a message whose token was seen to be none before the engine was asked.
func (e *Engine) NoteMalformedToken(kind MessageKind) {
	e.figures.unresolved.Add(tokenMalformed)
	e.NoteRefused(kind, VerdictUnknown)
}

// Gauges are figures of all that the database holds, of all namespaces.
type Gauges = db.Gauges

// Gauges reads them from the database, which is bounded work for it: ask a few times a minute. Errors: ErrUnavailable, and
// others of package db.
func (e *Engine) Gauges(ctx context.Context) (Gauges, error) { return e.store.Gauges(ctx) }

// Count says how often something happened that its labels name. The labels are words of fixed sets.
type Count = tally.Count

// Distribution says how long something took.
type Distribution = tally.Distribution

// Stats are figures of this process since its engine was made. All words in them are of fixed sets: none was sent by a
// caller, and none names a namespace, a run or a workflow.
type Stats struct {
	AbandonedCalls   int // calls of workflow functions that ran too long and have not returned
	AbandonedQueries int // calls of query handlers, likewise
	Waiters          int // callers in Wait and WaitUpdate

	// Receipts counts what callers of use cases were told, by MessageKind and Verdict. What another call repeats because
	// the engine retries it is one call.
	Receipts         []Count
	Conflicts        []Count // by what was there: run, signal, update, hook, letter
	UnresolvedTokens []Count // of hooks, by why: malformed, unknown, foreign, internal
	// StepAttempts counts attempts of steps by what became of them: completed, retried, failed, held, returned (the process
	// ended before) and cancelled.
	StepAttempts []Count
	TurnTime     Distribution // of deciding a turn, which is mostly the workflow's code
	SpansLost    int64        // turns without a span because too many were waiting for theirs
	Store        db.Stats
}

// Stats reads them; it costs no query.
func (e *Engine) Stats() Stats {
	return Stats{
		AbandonedCalls: e.exec.stuck.count(), AbandonedQueries: int(e.exec.strayQueries.Load()),
		Waiters:  e.waiters.waiting() + e.answers.waiting(),
		Receipts: e.figures.receipts.Counts(), Conflicts: e.figures.conflicts.Counts(),
		UnresolvedTokens: e.figures.unresolved.Counts(), StepAttempts: e.figures.attempts.Counts(),
		TurnTime: e.figures.turns.Distribution(), SpansLost: e.tracing.lostTurns(), Store: e.store.Stats(),
	}
}
