package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// UpdateRequest asks a run for a change that has a result. Source and Actor are as those of a SignalRequest.
type UpdateRequest struct {
	RunID    spec.RunID
	UpdateID spec.UpdateID // the caller's identity of the update: the same one on every retry
	Name     string        // one of the updates that the run's spec declares
	Payload  []byte        // JSON; null for none
	Source   string
	Actor    string
}

// SendUpdate stores an update for a run. The receipt is durable and needs no workflow code: a nil error means that the
// update is committed and that the run will see it. What the run answers is told by WaitUpdate and UpdateResult.
//
// It is idempotent by (run, UpdateID) for the life of the run, over generations, after the answer and after the run's end:
// an equal update gets the first receipt as a duplicate and is not done again, another name or payload gets
// *UpdateConflictError and changes nothing. Updates and signals are two spaces of IDs.
//
// Errors of form: *InvalidError, *PayloadError, ErrPayloadTooLarge. Of the run: ErrRunNotFound, ErrRunEnded,
// ErrUpdateUndeclared, *SchemaError, ErrBacklogFull. Else ErrUnavailable, after which the same call is safe to repeat.
func (h *Handle) SendUpdate(ctx context.Context, req UpdateRequest) (r Receipt, err error) {
	defer func() { h.e.figures.received(MessageUpdate, r.Verdict, err) }()
	m, err := h.update(req)
	if err != nil {
		return Receipt{}, err
	}
	return h.e.accept(ctx, m)
}

// update checks the form of a request.
func (h *Handle) update(req UpdateRequest) (*history.SendUpdate, error) {
	key, err := h.updateKey(req.RunID, req.UpdateID)
	if err != nil {
		return nil, err
	}
	if err := spec.CheckName("name", req.Name); err != nil {
		return nil, err
	}
	if err := checkSource(req.Source, req.Actor); err != nil {
		return nil, err
	}
	payload, err := h.parse(req.Payload)
	if err != nil {
		return nil, err
	}
	return &history.SendUpdate{
		Run: key.Run, ID: key.ID, Name: req.Name, Payload: payload, Source: req.Source, Actor: req.Actor,
	}, nil
}

func (h *Handle) updateKey(run spec.RunID, id spec.UpdateID) (db.UpdateKey, error) {
	key, err := h.key(run)
	if err != nil {
		return db.UpdateKey{}, err
	}
	return db.UpdateKey{Run: key, ID: id}, id.Validate()
}

// UpdateState is where an update stands.
type UpdateState = history.UpdateState

// The states of an update; all but the first are final.
const (
	UpdateOpen      = history.UpdateIsOpen
	UpdateCompleted = history.UpdateIsCompleted
	UpdateRejected  = history.UpdateIsRejected
	UpdateOrphaned  = history.UpdateIsOrphaned
)

// UpdateResult is an accepted update and what became of it. Its JSON is the update of the HTTP contract.
type UpdateResult struct {
	RunID      spec.RunID      `json:"run_id"`
	UpdateID   spec.UpdateID   `json:"update_id"`
	Name       string          `json:"name"`
	Sequence   int64           `json:"sequence"`
	ReceivedAt time.Time       `json:"received_at"`
	Actor      string          `json:"actor,omitempty"`
	Source     string          `json:"source"`
	State      UpdateState     `json:"state"`
	ResolvedAt *time.Time      `json:"resolved_at,omitempty"` // when it was answered, or its run ended
	Result     json.RawMessage `json:"result,omitempty"`      // of a completed one, as workflow code gave it
}

// UpdateRejectedError says that workflow code refused the update. It is final.
type UpdateRejectedError struct {
	Reason string // the code's words, in one line of at most 1 KiB, without what looks like a token
}

// Error has the words of the workflow.
func (e *UpdateRejectedError) Error() string { return "the update was rejected: " + e.Reason }

// UpdateOrphanedError says that the run ended before it answered the update. It is final.
type UpdateOrphanedError struct {
	Cause history.HookState // run_ended or cancelled
}

// Error names the cause.
func (e *UpdateOrphanedError) Error() string {
	return fmt.Sprintf("the run ended before it answered the update: %s", e.Cause)
}

// UpdateResult tells what became of an update, for the life of the run: an open one and a completed one without an error,
// others with *UpdateRejectedError or *UpdateOrphanedError beside the rest.
//
// Other errors: *InvalidError, ErrRunNotFound, ErrUpdateNotFound, ErrUnavailable.
func (h *Handle) UpdateResult(ctx context.Context, run spec.RunID, id spec.UpdateID) (UpdateResult, error) {
	key, err := h.updateKey(run, id)
	if err != nil {
		return UpdateResult{}, err
	}
	return h.e.updateResult(ctx, key)
}

func (e *Engine) updateResult(ctx context.Context, key db.UpdateKey) (UpdateResult, error) {
	view, err := e.store.ReadUpdate(ctx, key)
	if errors.Is(err, ErrUpdateNotFound) {
		// No run and a run without this update are two answers.
		if _, missing := e.store.ReadRun(ctx, key.Run); missing != nil {
			err = missing
		}
	}
	if err != nil {
		return UpdateResult{}, err
	}
	return showUpdate(key.Run.RunID, view)
}

func showUpdate(run spec.RunID, v db.UpdateView) (UpdateResult, error) {
	shown := UpdateResult{
		RunID: run, UpdateID: v.ID, Name: v.Name, Sequence: v.Seq, ReceivedAt: v.ReceivedAt, Actor: v.Actor, Source: v.Source,
		State: v.State, ResolvedAt: v.ResolvedAt, Result: bytes.Clone(v.Result),
	}
	switch v.State {
	case UpdateRejected:
		return shown, &UpdateRejectedError{Reason: v.Reason}
	case UpdateOrphaned:
		return shown, &UpdateOrphanedError{Cause: v.Cause}
	case UpdateOpen, UpdateCompleted:
	}
	return shown, nil
}

// WaitUpdate is UpdateResult once the update is not open any more, or the context's error when that ends first. It holds no
// database connection while it waits, and it costs other runs nothing. A process serves 10,000 waiters for updates; beyond
// that and while shutting down it answers ErrUnavailable.
func (h *Handle) WaitUpdate(ctx context.Context, run spec.RunID, id spec.UpdateID) (UpdateResult, error) {
	key, err := h.updateKey(run, id)
	if err != nil {
		return UpdateResult{}, err
	}
	woken, leave, ok := h.e.answers.join(key)
	if !ok {
		return UpdateResult{}, fmt.Errorf("%w: no more callers can wait for updates in this process", ErrUnavailable)
	}
	defer leave()
	if h.e.store.UnderWay(key.Run) {
		soon(ctx, woken)
	}
	for {
		// The look comes after joining, so an answer between the two is not missed.
		result, err := h.e.updateResult(ctx, key)
		switch {
		case ctx.Err() != nil:
			return UpdateResult{}, ctx.Err()
		case err != nil || result.State != UpdateOpen:
			return result, err
		}
		select {
		case <-ctx.Done():
			return UpdateResult{}, ctx.Err()
		case _, open := <-woken:
			if !open {
				return UpdateResult{}, fmt.Errorf("%w: the process is shutting down", ErrUnavailable)
			}
		}
	}
}
