package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ErrLetterNotFound says that the namespace has no dead letter of the ID.
var ErrLetterNotFound = errors.New("dead letter not found")

// Letter is a dead letter as it is stored.
type Letter struct {
	ID         int64
	Run        history.RunKey
	Workflow   string
	Generation int
	StepID     spec.StepID
	Name       string // of the step
	Failure    history.Failure
	CreatedAt  time.Time
	State      history.LetterState
	ResolvedAt *time.Time
	Actor      string // who decided
}

// LetterFilter says which dead letters to list. Empty fields pass everything.
type LetterFilter struct {
	Namespace spec.Namespace // required
	State     history.LetterState
	Name      string // of the step
	Cursor    string // of the page before
	Limit     int    // at most 1,000, default 50
}

// ReadLetter reads a dead letter. Errors: ErrLetterNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) ReadLetter(ctx context.Context, ns spec.Namespace, id int64) (Letter, error) {
	params := sqlc.ReadLetterParams{ID: id, Namespace: string(ns)}
	row, err := lookUpOne[sqlc.ReadLetterRow](ctx, s, sqlc.ReadLetter, params, ErrLetterNotFound)
	if err != nil {
		return Letter{}, err
	}
	return letterOf(row.DeadLetter, row.RunID, row.Workflow), nil
}

// ListLetters lists dead letters of one namespace, the newest first. The cursor for the next page is empty on the last one.
// Errors: *spec.InvalidError for a bad cursor, ErrUnavailable, *DatabaseError.
func (s *Store) ListLetters(ctx context.Context, f LetterFilter) (letters []Letter, next string, err error) {
	before, err := letterCursor.before(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	limit := pageSize(f.Limit)
	rows, err := statements.ListLetters(ctx, replanned{s.pool}, sqlc.ListLettersParams{
		Namespace: string(f.Namespace), Before: before, State: string(f.State), Name: f.Name, Count: int64(limit) + 1,
	})
	if err != nil {
		return nil, "", readError(err, nil)
	}
	rows, next = page(rows, limit, letterCursor, func(r sqlc.ListLettersRow) int64 { return r.DeadLetter.ID })
	for _, row := range rows {
		letters = append(letters, letterOf(row.DeadLetter, row.RunID, row.Workflow))
	}
	return letters, next, nil
}

// DiscardLetter marks a letter, as it was read, whose step is no more. False: it was decided before. Errors: ErrUnavailable,
// *DatabaseError.
func (s *Store) DiscardLetter(ctx context.Context, ns spec.Namespace, l Letter, actor string) (bool, error) {
	params := sqlc.DiscardLetterParams{Actor: actor, ID: l.ID, Namespace: string(ns)}
	rows, err := changeAudited(ctx, s, sqlc.DiscardLetter, params, pgx.RowTo[int64], func([]int64) AuditEntry {
		return AuditEntry{
			Namespace: ns, RunID: l.Run.RunID, Kind: AuditLetterDiscarded, Name: string(l.StepID), Identity: string(l.StepID), Actor: actor,
		}
	})
	return len(rows) > 0, err
}

func letterOf(row sqlc.DeadLetter, run, workflow string) Letter {
	return Letter{
		ID: row.ID, Run: history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(run)}, Workflow: workflow,
		Generation: int(row.Generation), StepID: spec.StepID(row.StepID), Name: row.Name,
		Failure: history.Failure{
			Reason: history.FailureReason(row.Reason), Code: row.Code, Message: row.Message, Attempt: int(row.Attempt),
		},
		CreatedAt: row.CreatedAt.UTC(), State: history.LetterState(row.State), ResolvedAt: utc(row.ResolvedAt), Actor: row.Actor,
	}
}
