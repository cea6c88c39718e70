package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/history"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/core"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

// workflowsTempo is how go-workflows looks for tasks, on top of its defaults.
type workflowsTempo struct {
	note string
	slow bool
	tune func(*worker.Options)
}

var (
	workflowsDefault = workflowsTempo{note: "2 pollers, 200 ms", slow: true, tune: func(*worker.Options) {}}
	workflowsTuned   = workflowsTempo{note: "8 pollers, 5 ms, 64 tasks at once, 20,000 executors cached", tune: tuneWorkflows}
)

func tuneWorkflows(o *worker.Options) {
	o.WorkflowPollers = 8
	o.WorkflowPollingInterval = 5 * time.Millisecond
	o.MaxParallelWorkflowTasks = 64
	o.WorkflowExecutorCacheSize = 20_000
}

func workflowsEntry(name string, tempo workflowsTempo) entry {
	return entry{
		name:   name,
		module: "github.com/cschleiden/go-workflows",
		note: "SQLITE, NOT POSTGRESQL: the release has no PostgreSQL backend; a file in the folder for temporary files, " +
			"one connection, synchronous=FULL; " + tempo.note,
		slow:     tempo.slow,
		embedded: true,
		open:     func(ctx context.Context, p place) (engine, error) { return openWorkflows(ctx, p, tempo) },
	}
}

// workflowsEngine runs the job as a workflow that receives from one signal channel.
type workflowsEngine struct {
	dir     string
	backend *watchedBackend
	client  *client.Client
	worker  *worker.Worker
	stop    context.CancelFunc
	started atomic.Int64
}

func openWorkflows(ctx context.Context, p place, tempo workflowsTempo) (*workflowsEngine, error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	watched := &watchedBackend{
		Backend: sqlite.NewSqliteBackend(filepath.Join(dir, "workflows.sqlite"),
			sqlite.WithBackendOptions(backend.WithLogger(silent()))),
		board: p.board,
	}
	settings := worker.DefaultOptions
	tempo.tune(&settings)
	e := &workflowsEngine{dir: dir, backend: watched, client: client.New(watched), worker: worker.New(watched, &settings)}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	return e, errors.Join(e.worker.RegisterWorkflow(approvalWorkflow), e.worker.Start(working))
}

const workflowsSignal = "approval"

func approvalWorkflow(ctx workflow.Context, _ payload) (payload, error) {
	got, _ := workflow.NewSignalChannel[payload](ctx, workflowsSignal).Receive(ctx)
	return got, got.check()
}

// watchedBackend is a backend that tells the board of each checkpoint of a workflow once it is committed.
type watchedBackend struct {
	backend.Backend
	board *board
}

// CompleteWorkflowTask commits what a workflow did with its last events. A run that is still active after it waits for
// its signal.
func (b *watchedBackend) CompleteWorkflowTask(
	ctx context.Context, task *backend.WorkflowTask, state core.WorkflowInstanceState,
	executed, activities, timers []*history.Event, others []*history.WorkflowEvent,
) error {
	err := b.Backend.CompleteWorkflowTask(ctx, task, state, executed, activities, timers, others)
	if err != nil {
		return err
	}
	run := task.WorkflowInstance.InstanceID
	if state == core.WorkflowInstanceStateActive {
		b.board.parked(run)
		return nil
	}
	b.board.ended(run, outcome(executed))
	return nil
}

// outcome is the error of a finished workflow, found among its last events, or nil.
func outcome(events []*history.Event) error {
	for _, event := range events {
		if done, ok := event.Attributes.(*history.ExecutionCompletedAttributes); ok {
			if done.Error != nil {
				return done.Error
			}
			return nil
		}
	}
	return errors.New("the workflow ended without an outcome")
}

func (e *workflowsEngine) start(ctx context.Context, run string) error {
	_, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: run}, approvalWorkflow, order)
	if err == nil {
		e.started.Add(1)
	}
	return err
}

func (e *workflowsEngine) signal(ctx context.Context, run string) error {
	return e.client.SignalWorkflow(ctx, run, workflowsSignal, order)
}

// completed is what was started and is not active any more: the backend counts only active runs.
func (e *workflowsEngine) completed(ctx context.Context) (int, error) {
	stats, err := e.backend.GetStats(ctx)
	if err != nil {
		return 0, err
	}
	return int(e.started.Load() - stats.ActiveWorkflowInstances), nil
}

func (e *workflowsEngine) close(context.Context) error {
	e.stop()
	return errors.Join(e.worker.WaitForCompletion(), e.backend.Close(), os.RemoveAll(e.dir))
}
