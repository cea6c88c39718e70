package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// dbosEntry is DBOS Transact with a pool of this many connections. Its default is 20.
func dbosEntry(name string, conns int32) entry {
	return entry{
		name:   name,
		module: "github.com/dbos-inc/dbos-transact-golang",
		note: fmt.Sprintf("pool of %d connections; signal = Send with an idempotency key; "+
			"a waiting run is a goroutine of its process", conns),
		open: func(ctx context.Context, p place) (engine, error) { return openDBOS(ctx, p, conns) },
	}
}

// dbosEngine runs the job as a DBOS workflow: one that receives one message, or one that runs steps.
type dbosEngine struct {
	dbos  dbos.Context
	board *board
	fn    dbos.Workflow[payload, payload]
}

// openDBOS launches DBOS on a pool of ours, which has the limit of the one that DBOS would make, so that the commits of
// its connections can be counted.
func openDBOS(ctx context.Context, p place, conns int32) (*dbosEngine, error) {
	pool, err := p.store.open(ctx, conns)
	if err != nil {
		return nil, err
	}
	d, err := dbos.NewContext(context.WithoutCancel(ctx), dbos.Config{AppName: "peers", SystemDBPool: pool, Logger: silent()})
	if err != nil {
		return nil, err
	}
	e := &dbosEngine{dbos: d, board: p.board}
	e.fn = e.approval
	if p.job == stepsJob {
		e.fn = dbosSteps
	}
	dbos.RegisterWorkflow(d, e.fn)
	return e, dbos.Launch(d)
}

const dbosTopic = "approval"

// approval is parked from where it calls Recv, which then looks for an earlier outcome and for the message, writes
// nothing, and waits.
func (e *dbosEngine) approval(ctx dbos.Context, _ payload) (payload, error) {
	run, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return payload{}, err
	}
	e.board.parked(run)
	got, err := dbos.Recv[payload](ctx, dbosTopic, time.Hour)
	if err != nil {
		return payload{}, err
	}
	return got, nil
}

// dbosSteps does its steps with the default of DBOS, no retries.
func dbosSteps(ctx dbos.Context, value payload) (payload, error) {
	for range stepCount {
		out, err := dbos.RunAsStep(ctx, func(context.Context) (payload, error) { return value, nil }, dbos.WithStepName("echo"))
		if err != nil {
			return payload{}, err
		}
		value = out
	}
	return value, nil
}

// start also waits, in a goroutine, for the handle's result. DBOS hands it over in memory, after it has committed the
// outcome.
func (e *dbosEngine) start(_ context.Context, run string) error {
	handle, err := dbos.RunWorkflow(e.dbos, e.fn, order, dbos.WithWorkflowID(run))
	if err != nil {
		return err
	}
	go func() {
		out, err := handle.GetResult()
		if err == nil {
			err = out.check()
		}
		e.board.ended(run, err)
	}()
	return nil
}

func (e *dbosEngine) signal(_ context.Context, run string) error {
	return dbos.Send(e.dbos, run, order, dbosTopic, dbos.WithIdempotencyKey("approval-1"))
}

func (e *dbosEngine) completed(context.Context) (int, error) {
	done, err := dbos.ListWorkflows(e.dbos, dbos.WithFilterStatus(dbos.WorkflowStatusSuccess),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	return len(done), err
}

func (e *dbosEngine) close(context.Context) error { return dbos.Shutdown(e.dbos, closeWithin) }
