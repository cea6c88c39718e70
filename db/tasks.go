package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// TaskWant asks for tasks of one kind, and of one name where they are steps.
type TaskWant struct {
	Kind history.TaskKind
	Name string // of a step; empty for other kinds
	Most int    // at least 1
}

// ClaimedTask is a task that this claim began.
type ClaimedTask struct {
	Run               history.RunKey
	Workflow, Version string          // of the run
	Parent            *history.Parent // of the run
	Ended             bool            // the run has: it was cancelled by a program that knows of no tasks
	Task              history.Task
	Failures          int           // attempts before this one that failed
	Strikes           int           // of those, attempts that were lost with their worker
	Details           []byte        // of the last heartbeat of an attempt before
	Asked             history.Event // that asked for the task; without data for a report and a stop
	Since             time.Time     // by this process's clock, not after the lease began; zero for a claim, whose caller knows
	Unsure            bool          // whether it is this worker's is not known: RenewTasks says so
	CloseIn           time.Duration // until no outcome is taken any more; 0 where there is no such time

	run int64
	err error
}

// Err says that the task's row or event cannot be read.
func (t ClaimedTask) Err() error { return t.err }

// TaskClaim begins tasks.
type TaskClaim struct {
	Worker string        // the process
	Lease  time.Duration // how long a task is its own without being renewed
	Wants  []TaskWant
}

// ClaimedTasks is what a claim came to.
type ClaimedTasks struct {
	Tasks  []ClaimedTask
	NextIn time.Duration // until the next of the wanted tasks is due that is not yet, by the database's clock; ages if none is
}

// ClaimTasks begins tasks that are due, those that wait longest first, and those whose worker was lost. A task is begun by
// one worker at a time; an attempt that goes on after its lease ended is refused its outcome. Errors: ErrUnavailable,
// *DatabaseError; what was begun and not told comes back when the lease has ended.
func (s *Store) ClaimTasks(ctx context.Context, c TaskClaim) (ClaimedTasks, error) {
	params := sqlc.ClaimTasksParams{Worker: c.Worker, Lease: c.Lease.Seconds()}
	for _, w := range c.Wants {
		params.Kinds = append(params.Kinds, string(w.Kind))
		params.Names = append(params.Names, w.Name)
		params.Mosts = append(params.Mosts, int32(w.Most))
	}
	rows, err := changeRows(ctx, s, sqlc.ClaimTasks, params, pgx.RowToStructByPos[sqlc.ClaimTasksRow])
	if err != nil {
		return ClaimedTasks{}, err
	}
	claimed := ClaimedTasks{NextIn: rows[0].NextDue.Sub(rows[0].AskedAt)}
	for _, row := range rows {
		if row.Run != nil {
			claimed.Tasks = append(claimed.Tasks, claimedTask(row))
		}
	}
	return claimed, nil
}

// NextTask says in how long, by the database's clock, one of the wanted tasks is due; ages if none is. It is one statement,
// for whoever has nothing to do, and changes nothing. Errors: ErrUnavailable, *DatabaseError.
func (s *Store) NextTask(ctx context.Context, wants []TaskWant) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	var params sqlc.NextTaskParams
	for _, w := range wants {
		params.Kinds = append(params.Kinds, string(w.Kind))
		params.Names = append(params.Names, w.Name)
	}
	rows, err := statements.NextTask(ctx, replanned{s.pool}, params)
	if err != nil {
		return 0, readError(err, nil)
	}
	return rows[0].FirstDue.Sub(rows[0].AskedAt), nil
}

// changeRows sends one statement that changes something, in a transaction of its own, and returns its rows.
func changeRows[R any](ctx context.Context, s *Store, sql string, params any, read pgx.RowToFunc[R]) ([]R, error) {
	var rows *[]R
	err := s.transact(ctx, transactionTime, func(ctx context.Context, conn *pgx.Conn) error {
		p := &pipeline{}
		p.begin(s.cfg.LockTimeout)
		rows = queue(p, sql, params, read)
		p.commit()
		return p.send(ctx, conn)
	})
	if err != nil {
		return nil, translate(err)
	}
	return *rows, nil
}

func claimedTask(row sqlc.ClaimTasksRow) ClaimedTask {
	t := ClaimedTask{
		Run:      history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)},
		Workflow: row.Workflow, Version: row.Version, Ended: history.Status(row.Status).Ended(),
		Failures: int(orZero(row.Failures)), Strikes: int(orZero(row.Strikes)),
		Details: row.Details, run: orZero(row.Run),
		Task: taskRecord(sqlc.Task{
			Generation: orZero(row.Generation), Kind: orZero(row.Kind), TaskID: orZero(row.TaskID), Name: orZero(row.Name),
			Seq: orZero(row.Seq), Target: orZero(row.Target), Policy: orZero(row.Policy), CloseAt: row.CloseAt,
			Attempt: orZero(row.Attempt),
		}),
	}
	if row.CloseAt != nil {
		t.CloseIn = max(row.CloseAt.Sub(row.AskedAt), 1)
	}
	if t.Parent, t.err = parentOf(row.Parent); t.err != nil || row.EventType == "" {
		return t
	}
	t.Asked, t.err = history.Decode(t.Task.Generation, t.Task.Seq, time.Time{}, history.Encoded{
		Type: row.EventType, Data: row.EventData, Payload: row.EventPayload,
	})
	return t
}

// TaskLease is a task that this worker has begun, with what its heartbeats said since it was renewed last.
type TaskLease struct {
	Task    ClaimedTask
	Details []byte // empty: nothing new
}

// RenewTasks renews the leases of tasks and says which of them are this worker's own still: the others were withdrawn, or
// another worker has begun them. Errors: ErrUnavailable, *DatabaseError; nothing is known then.
func (s *Store) RenewTasks(ctx context.Context, worker string, lease time.Duration, tasks []TaskLease) (own []bool, err error) {
	own = make([]bool, len(tasks))
	if len(tasks) == 0 {
		return own, nil
	}
	params := sqlc.RenewTasksParams{Worker: worker, Lease: lease.Seconds()}
	for _, l := range tasks {
		t := l.Task
		params.Runs = append(params.Runs, t.run)
		params.Generations = append(params.Generations, int32(t.Task.Generation))
		params.Kinds = append(params.Kinds, string(t.Task.Kind))
		params.TaskIds = append(params.TaskIds, t.Task.ID)
		params.Attempts = append(params.Attempts, int32(t.Task.Attempt))
		params.Details = append(params.Details, orEmpty(l.Details))
	}
	places, err := changeRows(ctx, s, sqlc.RenewTasks, params, pgx.RowTo[int32])
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		own[place-1] = true
	}
	return own, nil
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Attempt is how an attempt ended that settles nothing.
type Attempt struct {
	Failed bool          // it counts as a failed one
	Error  string        // of a failed one, for who looks at the task
	Pause  time.Duration // until the next attempt
	Parked bool          // there is none until somebody else says so: a child was started
	// Details are what heartbeats said that is not stored yet; empty when that is nothing.
	Details []byte
}

// ReturnTask ends an attempt without an outcome. False: it was not this worker's any more, and nothing changed. Errors:
// ErrUnavailable, *DatabaseError; it may have ended then.
func (s *Store) ReturnTask(ctx context.Context, worker string, t ClaimedTask, a Attempt) (bool, error) {
	pause := a.Pause.Seconds()
	if a.Parked {
		pause = -1
	}
	rows, err := changeRows(ctx, s, sqlc.ReturnTask, sqlc.ReturnTaskParams{
		Failed: a.Failed, LastError: a.Error, Details: orEmpty(a.Details), Pause: pause, Run: t.run, Generation: int32(t.Task.Generation),
		Kind: string(t.Task.Kind), TaskID: t.Task.ID, Attempt: int32(t.Task.Attempt), Worker: worker,
	}, pgx.RowTo[int32])
	return len(rows) > 0, err
}

// ReturnUntold gives back the wanted tasks that a worker has begun, whose leases end within a time, but for those that it
// knows of: after a commit whose answer was lost. They are due at once, and nothing counts as failed. It says how many there
// were. Errors: ErrUnavailable, *DatabaseError; the others come back when their lease has ended.
func (s *Store) ReturnUntold(
	ctx context.Context, worker string, within time.Duration, wants []TaskWant, known []ClaimedTask,
) (int, error) {
	params := sqlc.ReturnUntoldParams{Worker: worker, Within: within.Seconds()}
	for _, w := range wants {
		params.Kinds = append(params.Kinds, string(w.Kind))
		params.Names = append(params.Names, w.Name)
	}
	for _, t := range known {
		params.Runs = append(params.Runs, t.run)
		params.Generations = append(params.Generations, int32(t.Task.Generation))
		params.TaskKinds = append(params.TaskKinds, string(t.Task.Kind))
		params.TaskIds = append(params.TaskIds, t.Task.ID)
	}
	rows, err := changeRows(ctx, s, sqlc.ReturnUntold, params, pgx.RowTo[int32])
	return len(rows), err
}
