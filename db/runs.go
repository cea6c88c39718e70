package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// RunView is a run's record with what its first and last event hold.
type RunView struct {
	history.Run
	Input  json.RawMessage // of the current generation, as received
	Output json.RawMessage // of a completed run
	Error  string          // of a failed run
}

// RunFilter says which runs to list. Empty fields pass everything.
type RunFilter struct {
	Namespace spec.Namespace // required
	Workflow  string
	Status    history.Status
	Labels    spec.Labels // all of them
	Cursor    string      // of the page before
	Limit     int         // at most 1,000, default 50
}

var statements = sqlc.New()

// ReadRun reads a run without a lock. Errors: history.ErrRunNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ReadRun(ctx context.Context, key history.RunKey) (RunView, error) {
	row, err := lookUpOne[sqlc.ViewRunRow](ctx, s, sqlc.ViewRun, sqlc.ViewRunParams{
		Namespace: string(key.Namespace), RunID: string(key.RunID),
	}, history.ErrRunNotFound)
	if err != nil {
		return RunView{}, err
	}
	run, err := runRecord(row.Run)
	if err != nil {
		return RunView{}, err
	}
	view := RunView{Run: run, Input: row.Input}
	switch run.Status {
	case history.Completed:
		view.Output = row.Output
	case history.Failed:
		var failed history.RunFailed
		if err := json.Unmarshal(row.Ending, &failed); err != nil {
			return RunView{}, fmt.Errorf("last event of run row %d: %w", row.Run.ID, err)
		}
		view.Error = failed.Message
	default: // not ended, or cancelled, which leaves neither
	}
	return view, nil
}

// ListRuns lists runs of one namespace, those started last first, without a lock. The cursor for the next page is empty
// on the last one. Errors: *spec.InvalidError for a bad cursor or label, ErrUnavailable, *DatabaseError.
func (s *Store) ListRuns(ctx context.Context, f RunFilter) (runs []history.Run, next string, err error) {
	before, err := runCursor.before(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	labels, err := labelFilter(f.Labels)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	all := sqlc.ListLabelledRunsParams{
		Namespace: string(f.Namespace), Before: before, Workflow: f.Workflow, Status: string(f.Status),
		Labels: labels, Count: int64(limit) + 1,
	}
	var rows []sqlc.Run
	if len(f.Labels) > 0 {
		rows, err = statements.ListLabelledRuns(ctx, replanned{s.pool}, all)
	} else {
		rows, err = statements.ListRuns(ctx, replanned{s.pool}, sqlc.ListRunsParams{
			Namespace: all.Namespace, Before: all.Before, Workflow: all.Workflow, Status: all.Status, Count: all.Count,
		})
	}
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, runCursor, func(r sqlc.Run) int64 { return r.ID })
	for _, row := range rows {
		run, err := runRecord(row)
		if err != nil {
			return nil, "", err
		}
		runs = append(runs, run)
	}
	return runs, next, nil
}

// EndedRuns tells which of the runs have ended, by one statement. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) EndedRuns(ctx context.Context, keys []history.RunKey) ([]history.RunKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var params sqlc.EndedRunsParams
	for _, key := range keys {
		params.Namespaces = append(params.Namespaces, string(key.Namespace))
		params.RunIds = append(params.RunIds, string(key.RunID))
	}
	rows, err := lookUp[sqlc.EndedRunsRow](ctx, s, sqlc.EndedRuns, params)
	if err != nil {
		return nil, err
	}
	ended := make([]history.RunKey, len(rows))
	for i, row := range rows {
		ended[i] = history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)}
	}
	return ended, nil
}
