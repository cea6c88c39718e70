package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrUpdateNotFound: the run has accepted no update of this ID.
var ErrUpdateNotFound = errors.New("update not found")

// UpdateKey names an update over all namespaces.
type UpdateKey struct {
	Run history.RunKey
	ID  spec.UpdateID
}

// UpdateView is an update and what became of it.
type UpdateView struct {
	history.Update
	Result []byte            // JSON as workflow code gave it, of a completed one
	Reason string            // of a rejected one
	Cause  history.HookState // of an orphaned one: run_ended or cancelled
}

// ReadUpdate reads an update without a lock. Errors: ErrUpdateNotFound, also when there is no such run; ErrUnavailable,
// also for an end that a newer program wrote; *history.DecodeError; *DatabaseError.
func (s *Store) ReadUpdate(ctx context.Context, key UpdateKey) (UpdateView, error) {
	row, err := lookUpOne[sqlc.ReadUpdateRow](ctx, s, sqlc.ReadUpdate, sqlc.ReadUpdateParams{
		Namespace: string(key.Run.Namespace), RunID: string(key.Run.RunID), UpdateID: string(key.ID),
	}, ErrUpdateNotFound)
	if err != nil {
		return UpdateView{}, err
	}
	u, err := updateRecord(sqlc.Update{
		Run: row.Run, UpdateID: row.UpdateID, Name: row.Name, Digest: row.Digest, Seq: row.Seq, ReceivedAt: row.ReceivedAt,
		Source: row.Source, Actor: row.Actor, State: row.State, ResolvedAt: row.ResolvedAt, ResolvedSeq: row.ResolvedSeq,
	})
	if err != nil || u.State == history.UpdateIsOpen {
		return UpdateView{Update: u}, err
	}
	return endOf(u, row)
}

var errNoEnd = errors.New("the event that ended it is another one")

// endOf reads the event that ended an update.
func endOf(u history.Update, row sqlc.ReadUpdateRow) (UpdateView, error) {
	view := UpdateView{Update: u}
	e, err := history.Decode(0, u.ResolvedSeq, *u.ResolvedAt, history.Encoded{
		Type: row.EndingType, Data: row.EndingData, Payload: row.EndingPayload,
	})
	if errors.Is(err, history.ErrNewerEvent) && row.EndingType != "" {
		return UpdateView{}, unavailable(err) // not here: a process of that version shows it
	}
	if err != nil {
		return UpdateView{}, err
	}
	switch d := e.Data.(type) {
	case *history.UpdateCompleted:
		view.Result = d.Output.Bytes()
	case *history.UpdateRejected:
		view.Reason = d.Message
	case *history.UpdateOrphaned:
		view.Cause = d.Cause
	default:
		return UpdateView{}, fmt.Errorf("update of run row %d: %w", row.Run, errNoEnd)
	}
	return view, nil
}

// EndedUpdates tells which of the updates are not open any more, by one statement. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) EndedUpdates(ctx context.Context, keys []UpdateKey) ([]UpdateKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var params sqlc.EndedUpdatesParams
	for _, key := range keys {
		params.Namespaces = append(params.Namespaces, string(key.Run.Namespace))
		params.RunIds = append(params.RunIds, string(key.Run.RunID))
		params.UpdateIds = append(params.UpdateIds, string(key.ID))
	}
	rows, err := lookUp[sqlc.EndedUpdatesRow](ctx, s, sqlc.EndedUpdates, params)
	if err != nil {
		return nil, err
	}
	ended := make([]UpdateKey, len(rows))
	for i, row := range rows {
		ended[i] = UpdateKey{
			Run: history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}, ID: spec.UpdateID(row.UpdateID),
		}
	}
	return ended, nil
}
