package engine_test

import (
	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
)

// task reads a row of tasks.
func (r *recordReader) task(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		run int64
		t   proof.TaskRow
	)
	err = row.Scan(&run, &t.Generation, &t.Kind, &t.ID, &t.Name, &t.Seq, &t.CloseAt, &t.Attempt, &t.Failures, &t.Strikes,
		&t.RunAfter, &t.Begun, &t.Held, &t.LastError)
	r.byID[run].Tasks[t.TaskKey] = &t
	return none, err
}

// letter reads a dead letter.
func (r *recordReader) letter(row pgx.CollectableRow) (none struct{}, err error) {
	var (
		run int64
		l   proof.LetterRow
	)
	f := &l.Letter.Failure
	l.Task.Kind = history.TaskStep
	err = row.Scan(&run, &l.Task.Generation, &l.Task.ID, &l.Task.Name, &f.Reason, &f.Code, &f.Message, &f.Attempt,
		&l.At, &l.State)
	one := r.byID[run]
	one.Letters = append(one.Letters, l)
	return none, err
}
