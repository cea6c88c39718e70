package inbox

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Foresee says what Receive would make of a message now. It reads only, and needs no engine. It does not check the payload
// against a schema. Errors: *ConflictError, engine.ErrUnavailable.
func (b *Inbox) Foresee(ctx context.Context, m Message, p Policy) (Result, error) {
	known, err := b.store.KnownMessage(ctx, m.key())
	switch {
	case err == nil:
		if differs := m.differs(known); len(differs) > 0 {
			return b.foreseeConflict(differs, p)
		}
		return Result{Outcome: Duplicate}, nil
	case !errors.Is(err, db.ErrMessageNotFound):
		return Result{}, err
	}
	run := history.RunKey{Namespace: m.Namespace, RunID: m.RunID}
	view, err := b.store.ReadRun(ctx, run)
	if errors.Is(err, engine.ErrRunNotFound) {
		return absent(ReasonRunNotFound, p), nil
	}
	if err != nil {
		return Result{}, err
	}
	if m.Kind == Hook {
		return b.foreseeHook(ctx, m, run, p)
	}
	return b.foreseeSignal(ctx, m, view, p)
}

func absent(reason Reason, p Policy) Result {
	if p.Hold > 0 {
		return Result{Outcome: Held}
	}
	return Result{Outcome: Ignored, Reason: reason}
}

func (b *Inbox) foreseeConflict(differs []string, p Policy) (Result, error) {
	if p.KeepConflicts {
		return Result{Outcome: Ignored, Reason: ReasonConflict}, nil
	}
	return Result{}, &ConflictError{Differs: differs}
}

func (b *Inbox) foreseeSignal(ctx context.Context, m Message, view db.RunView, p Policy) (Result, error) {
	sent, err := b.store.Signal(ctx, view.Key, spec.SignalID(m.ID))
	switch {
	case err == nil && sent.Name != m.Name:
		return b.foreseeConflict([]string{"name"}, p)
	case err == nil && sent.Digest != m.Payload.Digest():
		return b.foreseeConflict([]string{"payload"}, p)
	case err == nil:
		return Result{Outcome: Duplicate}, nil
	case !errors.Is(err, engine.ErrSignalNotFound):
		return Result{}, err
	case view.Status.Ended():
		return Result{Outcome: Ignored, Reason: ReasonRunEnded}, nil
	}
	declared, err := b.declares(ctx, view.SpecDigest, m.Name)
	if err != nil || declared {
		return Result{Outcome: Accepted}, err
	}
	return Result{Outcome: Ignored, Reason: ReasonUndeclared}, nil
}

// declares says whether the spec that a run was started against has a signal.
func (b *Inbox) declares(ctx context.Context, digest canon.Digest, name string) (bool, error) {
	document, err := b.store.SpecByDigest(ctx, digest)
	if err != nil {
		return false, err
	}
	var s spec.WorkflowSpec
	if err := json.Unmarshal(document, &s); err != nil {
		return false, err
	}
	_, declared := s.Signal(name)
	return declared, nil
}

func (b *Inbox) foreseeHook(ctx context.Context, m Message, run history.RunKey, p Policy) (Result, error) {
	view, err := b.store.Hook(ctx, run, spec.HookID(m.Name))
	switch {
	case errors.Is(err, engine.ErrHookNotFound):
		return absent(ReasonHookNotFound, p), nil
	case err != nil:
		return Result{}, err
	case view.State == history.StateResumed && view.PayloadDigest == m.Payload.Digest():
		return Result{Outcome: Duplicate}, nil
	case view.State == history.StateResumed:
		return b.foreseeConflict([]string{"payload"}, p)
	case view.State != history.StateActive, view.ExpiresAt != nil && !view.ReadAt.Before(*view.ExpiresAt):
		return Result{Outcome: Ignored, Reason: ReasonHookClosed}, nil
	}
	return Result{Outcome: Accepted}, nil
}
