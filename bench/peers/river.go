package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverTempo is how River looks for jobs; zero values are its defaults.
type riverTempo struct {
	note           string
	cooldown, poll time.Duration
}

var (
	riverDefault = riverTempo{note: "fetch cooldown 100 ms, poll 1 s"}
	riverTuned   = riverTempo{"fetch cooldown 1 ms, poll 100 ms", time.Millisecond, 100 * time.Millisecond}
)

// River makes no pool of its own. Both entries have one connection per client of the burst.
const (
	riverConns   = 64
	riverWorkers = 100
)

func riverEntry(name string, tempo riverTempo) entry {
	return entry{
		name:   name,
		module: "github.com/riverqueue/river",
		note: "a queue, no workflow: a run is a row of ours, the signal a job unique by its arguments that completes " +
			"row and job in one transaction; without steps, so left out of that job; " + tempo.note,
		slow:  tempo.cooldown == 0,
		queue: true,
		open:  func(ctx context.Context, p place) (engine, error) { return openRiver(ctx, p, tempo) },
	}
}

// riverEngine runs the job as a row that waits, and a unique job that completes it.
type riverEngine struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	board  *board
}

const riverTable = `create table peer_run (id text primary key, state text not null, input jsonb not null, result jsonb)`

func openRiver(ctx context.Context, p place, tempo riverTempo) (*riverEngine, error) {
	pool, err := p.store.open(ctx, riverConns)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, riverTable); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &approver{pool: pool, board: p.board})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
		Logger:            silent(),
		FetchCooldown:     tempo.cooldown,
		FetchPollInterval: tempo.poll,
	})
	if err != nil {
		return nil, err
	}
	return &riverEngine{pool: pool, client: client, board: p.board}, client.Start(context.WithoutCancel(ctx))
}

// approval are the arguments of the signal's job.
type approval struct {
	Run     string  `json:"run"`
	Payload payload `json:"payload"`
}

// Kind names the job.
func (approval) Kind() string { return "approval" }

// InsertOpts makes a second signal with the same arguments the same job, for as long as River keeps the job's row.
func (approval) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// approver is the worker that completes runs.
type approver struct {
	river.WorkerDefaults[approval]
	pool  *pgxpool.Pool
	board *board
}

const riverComplete = `update peer_run set state = 'completed', result = $2 where id = $1 and state = 'waiting'`

// Work completes a waiting run and its job in one transaction, and reports the run once that is committed. A job that
// fails is tried again by River; the run is reported as failed at the first time.
func (w *approver) Work(ctx context.Context, job *river.Job[approval]) error {
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if err := job.Args.Payload.check(); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, riverComplete, job.Args.Run, job.Args.Payload)
		if err != nil {
			return err
		}
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("run %s does not wait", job.Args.Run)
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	w.board.ended(job.Args.Run, err)
	return err
}

// start inserts the row: the run is parked when that is committed.
func (e *riverEngine) start(ctx context.Context, run string) error {
	_, err := e.pool.Exec(ctx, `insert into peer_run (id, state, input) values ($1, 'waiting', $2)`, run, order)
	if err == nil {
		e.board.parked(run)
	}
	return err
}

func (e *riverEngine) signal(ctx context.Context, run string) error {
	inserted, err := e.client.Insert(ctx, approval{Run: run, Payload: order}, nil)
	if err == nil && inserted.UniqueSkippedAsDuplicate {
		return fmt.Errorf("the signal of run %s counts as sent before", run)
	}
	return err
}

func (e *riverEngine) completed(ctx context.Context) (n int, err error) {
	err = e.pool.QueryRow(ctx, `select count(*) from peer_run where state = 'completed' and result is not null`).Scan(&n)
	return n, err
}

func (e *riverEngine) close(ctx context.Context) error { return e.client.StopAndCancel(ctx) }
