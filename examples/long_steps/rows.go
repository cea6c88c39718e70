package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// ImportSpec is the contract of Import, whose input is a number of rows.
var ImportSpec = spec.WorkflowSpec{Name: "rows.import", Version: "1", Signals: []spec.Signal{{Name: "stop"}}}

// Import copies rows, for up to an hour, until somebody stops it.
func Import(ctx *engine.Context) (engine.Decision, error) {
	rows, err := engine.Input[int](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if ctx.First("stop", "copy") == "stop" {
		return ctx.Await(ctx.CancelStep("copy"), ctx.Complete("stopped")), nil
	}
	copied, done, err := engine.StepOutput[int](ctx, "copy")
	if err != nil || done {
		return ctx.Complete(copied), err
	}
	return ctx.Await(
		ctx.RunStep("copy", "rows.copy", rows, spec.FixedRetry(5, 0),
			engine.StartToClose(time.Hour), engine.HeartbeatTimeout(30*time.Second)),
		ctx.WaitForSignal("stop", "stop"),
	), nil
}

// source has rows to copy. It fails once, and hangs at the last row of a run that is to be stopped.
type source struct {
	out     io.Writer
	hanging chan struct{}
	ended   chan error // the causes with which the contexts of hanging attempts ended
}

// copyRows says after each row how far it has come. The next attempt goes on there, and an attempt that has to stop hears
// of it.
func (s source) copyRows(ctx context.Context, step *engine.Step, rows int) (int, error) {
	next, _, err := engine.HeartbeatDetails[int](step)
	if err != nil {
		return 0, err
	}
	for ; next < rows; next++ {
		if err := s.copyRow(ctx, step, next); err != nil {
			return 0, err
		}
		if err := step.Heartbeat(next + 1); err != nil {
			return 0, err
		}
	}
	return next, nil
}

var errLineBroke = errors.New("the line broke")

func (s source) copyRow(ctx context.Context, step *engine.Step, row int) error {
	switch {
	case row == 2 && step.Attempt == 1:
		return errLineBroke
	case row == 4:
		s.hanging <- struct{}{}
		<-ctx.Done()
		s.ended <- context.Cause(ctx)
		return context.Cause(ctx)
	}
	_, err := fmt.Fprintf(s.out, "  attempt %d: row %d\n", step.Attempt, row)
	return err
}
