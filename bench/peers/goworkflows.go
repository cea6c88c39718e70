package main

import (
	"context"
	"encoding/json"
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
	tune func(*worker.Options, job)
}

var (
	workflowsDefault = workflowsTempo{note: "2 pollers, 200 ms", slow: true, tune: func(*worker.Options, job) {}}
	workflowsTuned   = workflowsTempo{note: "8 pollers, 5 ms, 64 tasks at once, 20,000 executors cached", tune: tuneWorkflows}
)

// tuneWorkflows has activities looked for as often as workflow tasks where there are some: to look for none costs the
// one connection of the store.
func tuneWorkflows(o *worker.Options, j job) {
	o.WorkflowPollers = 8
	o.WorkflowPollingInterval = 5 * time.Millisecond
	o.MaxParallelWorkflowTasks = 64
	o.WorkflowExecutorCacheSize = 20_000
	if j == stepsJob {
		o.ActivityPollers = 8
		o.ActivityPollingInterval = 5 * time.Millisecond
		o.MaxParallelActivityTasks = 64
	}
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

// workflowsEngine runs the job as a workflow: one that receives from one signal channel, or one that executes activities.
type workflowsEngine struct {
	dir     string
	backend *watchedBackend
	client  *client.Client
	worker  *worker.Worker
	stop    context.CancelFunc
	fn      workflow.Workflow
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
	tempo.tune(&settings, p.job)
	e := &workflowsEngine{dir: dir, backend: watched, client: client.New(watched), worker: worker.New(watched, &settings), fn: approvalWorkflow}
	if p.job == stepsJob {
		e.fn = stepsWorkflow
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	return e, errors.Join(e.worker.RegisterWorkflow(e.fn), e.worker.RegisterActivity(echoActivity), e.worker.Start(working))
}

const workflowsSignal = "approval"

func approvalWorkflow(ctx workflow.Context, _ payload) (payload, error) {
	got, _ := workflow.NewSignalChannel[payload](ctx, workflowsSignal).Receive(ctx)
	return got, nil
}

// stepsWorkflow does its steps with the default options.
func stepsWorkflow(ctx workflow.Context, value payload) (payload, error) {
	for range stepCount {
		out, err := workflow.ExecuteActivity[payload](ctx, workflow.DefaultActivityOptions, echoActivity, value).Get(ctx)
		if err != nil {
			return payload{}, err
		}
		value = out
	}
	return value, nil
}

func echoActivity(_ context.Context, value payload) (payload, error) { return value, nil }

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

// outcome is the error of a finished workflow, found among its last events, or nil for one with the right output.
func outcome(events []*history.Event) error {
	for _, event := range events {
		if done, ok := event.Attributes.(*history.ExecutionCompletedAttributes); ok {
			if done.Error != nil {
				return done.Error
			}
			var out payload
			if err := json.Unmarshal(done.Result, &out); err != nil {
				return err
			}
			return out.check()
		}
	}
	return errors.New("the workflow ended without an outcome")
}

func (e *workflowsEngine) start(ctx context.Context, run string) error {
	_, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: run}, e.fn, order)
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
