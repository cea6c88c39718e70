package db

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// troubleRows bounds each part of a Trouble.
const troubleRows = 100

// Trouble is what is stored about a run beside its row and its events: what may hold it up. Of each part it has at most
// 100 entries.
type Trouble struct {
	ReadAt   time.Time // by the database's clock
	Tasks    []TaskProgress
	Letters  []Letter        // of steps of the generation, that nobody has decided about
	Messages []StoredMessage // that the inbox holds or could not deliver, without their payloads
}

// TaskProgress is how far an open task of a run is.
type TaskProgress struct {
	Kind      history.TaskKind // step, child or call
	ID        string
	Attempt   int // how often it was begun
	Failures  int // of these, since it was scheduled or replayed
	Begun     bool
	Held      bool
	NextTry   *time.Time // of one that is not begun: when it may be; nil while it waits for somebody else
	LastError string
}

// ReadTrouble reads it in one round trip, in the generation given. Errors: history.ErrRunNotFound, ErrUnavailable,
// *DatabaseError.
func (s *Store) ReadTrouble(ctx context.Context, run history.RunKey, generation int) (Trouble, error) {
	row, err := lookUpOne[sqlc.Run](ctx, s, sqlc.ReadRun, sqlc.ReadRunParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID),
	}, history.ErrRunNotFound)
	if err != nil {
		return Trouble{}, err
	}
	p := &pipeline{}
	p.settings(s.cfg.LockTimeout)
	clock := queueValues[time.Time](p, sqlc.Clock, nil)
	tasks := queueRows[sqlc.ExplainTasksRow](p, sqlc.ExplainTasks, sqlc.ExplainTasksParams{
		Run: row.ID, Generation: int32(generation), Count: troubleRows,
	})
	letters := queueRows[sqlc.ExplainLettersRow](p, sqlc.ExplainLetters, sqlc.ExplainLettersParams{
		Run: row.ID, Generation: int32(generation), Count: troubleRows,
	})
	messages := queueRows[sqlc.ExplainMessagesRow](p, sqlc.ExplainMessages, sqlc.ExplainMessagesParams{
		Namespace: string(run.Namespace), RunID: string(run.RunID), Count: troubleRows,
	})
	if err := p.send(ctx, s.pool); err != nil {
		return Trouble{}, readError(err, nil)
	}
	t := Trouble{ReadAt: (*clock)[0].UTC()}
	for _, r := range *tasks {
		t.Tasks = append(t.Tasks, taskProgress(r))
	}
	for _, r := range *letters {
		t.Letters = append(t.Letters, Letter{
			ID: r.ID, Run: run, Generation: generation, StepID: spec.StepID(r.StepID), Name: r.Name,
			Failure:   history.Failure{Reason: history.FailureReason(r.Reason), Code: r.Code, Message: r.Message},
			CreatedAt: r.CreatedAt.UTC(), State: history.LetterState(r.State),
		})
	}
	for _, r := range *messages {
		t.Messages = append(t.Messages, StoredMessage{
			Row: r.ID, Source: r.Source, Kind: r.Kind, RunID: run.RunID, Name: r.Name, State: MessageState(r.State),
			Reason: r.Reason, ReceivedAt: r.ReceivedAt.UTC(),
		})
	}
	return t, nil
}

func taskProgress(r sqlc.ExplainTasksRow) TaskProgress {
	t := TaskProgress{
		Kind: history.TaskKind(r.Kind), ID: r.TaskID, Attempt: int(r.Attempt), Failures: int(r.Failures), Begun: r.Begun,
		Held: r.Held, LastError: orZero(r.LastError),
	}
	if at := r.RunAfter.UTC(); !r.Begun && at.Year() < 9999 {
		t.NextTry = &at
	}
	return t
}
