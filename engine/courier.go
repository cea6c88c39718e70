package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// This file delivers what runs have to tell each other. Each delivery is an ordinary message to the other run, accepted once
// by its identity, so that doing it again after a crash does nothing; its outcome is one more, to the run that asked.

const (
	// maxDepth is how many parents a run may have above it.
	maxDepth = 32
	// deliverTime bounds one try of a delivery.
	deliverTime = 10 * time.Second
	// The pauses between deliveries that the other run does not take yet.
	firstDeliverPause = 100 * time.Millisecond
	lastDeliverPause  = 10 * time.Second
)

// parentEnded is the reason of a cancellation that a parent's end brings about.
const parentEnded = "its parent ended"

// errNotYet says that the other run is not there, which may change.
var errNotYet = errors.New("there is no such run yet")

// deliver does a task that is no step.
func (a *attempt) deliver() {
	ctx, cancel := context.WithTimeout(a.ctx, deliverTime)
	defer cancel()
	var failure *history.Failure
	var err error
	switch a.task.Task.Kind {
	case history.TaskStep: // is done, not delivered
		return
	case history.TaskCall:
		failure, err = a.sendCall(ctx)
	case history.TaskChild:
		a.startChild(ctx)
		return
	case history.TaskReport:
		err = a.report(ctx)
	case history.TaskStop:
		err = a.stop(ctx)
	}
	if err != nil {
		a.deliverLater(err)
		return
	}
	a.settle(&history.SettleTask{
		Run: a.task.Run, Task: a.task.Task.TaskKey, Attempt: a.task.Task.Attempt, Failure: failure, Begun: &a.task.Task,
	})
}

// deliverLater tries again after a pause that grows with the tries which the other run refused, not with our own trouble.
func (a *attempt) deliverLater(err error) {
	again := db.Attempt{Failed: true, Error: "", Pause: deliverPause(a.refusals())}
	switch {
	case errors.Is(context.Cause(a.ctx), ErrShuttingDown):
		again = db.Attempt{}
	case errors.Is(err, errNotYet), errors.Is(err, ErrBacklogFull):
		again.Error = err.Error()
	default:
		if !errors.Is(err, ErrUnavailable) && a.ctx.Err() == nil {
			a.w.log.Error().Err(err).Str("run", string(a.task.Run.RunID)).Str("task", a.task.Task.ID).
				Msg("a message between runs cannot be delivered; it is tried again")
		}
		again = db.Attempt{Pause: spread(a.w.random, time.Second)}
	}
	a.give(again)
}

// refusals is how often the other run did not take it: an attempt that was lost with its process is none.
func (a *attempt) refusals() int { return a.task.Failures - a.task.Strikes }

// deliverPause is the pause after so many refused tries before.
func deliverPause(before int) time.Duration {
	return min(firstDeliverPause<<min(before, 10), lastDeliverPause)
}

// patient says that a target which is not there may still come: it was tried for less than a time. What a crash or an outage
// took is no try.
func (a *attempt) patient(grace time.Duration) bool {
	var tried time.Duration
	for n := range a.refusals() {
		if tried += deliverPause(n); tried >= grace {
			return false
		}
	}
	return true
}

// sendCall sends a message of a run to another one. A failure is the other run's last word.
func (a *attempt) sendCall(ctx context.Context) (*history.Failure, error) {
	target := history.RunKey{Namespace: a.task.Run.Namespace, RunID: a.task.Task.Target}
	var m history.Message
	switch d := a.task.Asked.Data.(type) {
	case *history.SignalRequested:
		m = &history.SendSignal{
			Run: target, ID: d.SignalID, Name: d.Name, Payload: d.Payload, Source: "run", Actor: string(a.task.Run.RunID),
		}
	case *history.CancelRequested:
		m = &history.CancelRun{Run: target, Reason: d.Reason, Actor: string(a.task.Run.RunID)}
	default:
		return nil, fmt.Errorf("a call asked for by %T", d)
	}
	_, err := a.w.engine.accept(a.asRun(ctx), m)
	reason := callReason(err)
	switch {
	case err == nil:
		return nil, nil
	case reason == FailedTargetUnknown && a.patient(a.w.engine.cfg.TargetGrace):
		return nil, errNotYet
	case reason != "":
		return &history.Failure{Reason: reason}, nil
	}
	return nil, err
}

// callReason says why another run refuses a message for good; empty when it does not, or not for good.
func callReason(err error) FailureReason {
	switch {
	case errors.Is(err, ErrRunNotFound):
		return FailedTargetUnknown
	case errors.Is(err, ErrRunEnded):
		return FailedTargetEnded
	case errors.Is(err, ErrSignalUndeclared):
		return FailedUndeclared
	case as[*SchemaError](err):
		return FailedSchema
	case as[*SignalConflictError](err):
		return FailedConflict
	}
	return ""
}

// startChild starts the run that a parent asked for, and leaves the task open until that run ends.
func (a *attempt) startChild(ctx context.Context) {
	asked, ok := a.task.Asked.Data.(*history.ChildRequested)
	if !ok {
		a.give(db.Attempt{Pause: restPause})
		return
	}
	parent := &history.Parent{
		RunID: a.task.Run.RunID, Generation: a.task.Task.Generation, ChildID: asked.ChildID, Depth: 1,
	}
	if above := a.task.Parent; above != nil {
		parent.Depth = above.Depth + 1
	}
	key := history.RunKey{Namespace: a.task.Run.Namespace, RunID: asked.RunID}
	err := error(nil)
	reason := FailureReason("")
	if parent.Depth > maxDepth {
		reason = FailedDepth
	} else {
		err = a.w.engine.startChild(ctx, key, asked, parent)
		reason = childReason(err)
	}
	switch {
	case reason != "":
		a.settle(&history.SettleTask{
			Run: a.task.Run, Task: a.task.Task.TaskKey, Attempt: a.task.Task.Attempt, Failure: &history.Failure{Reason: reason},
		})
	case err != nil:
		a.deliverLater(err)
	case !a.give(db.Attempt{Parked: true}) && asked.OnParentEnd != Abandon:
		a.stopOrphan(key, parent, asked.OnParentEnd)
	}
}

// stopOrphan ends a child whose task has gone while it was being started: its parent has ended, and told nobody of it, or
// it has ended itself, and nothing is left to stop.
func (a *attempt) stopOrphan(child history.RunKey, parent *history.Parent, policy OnParentEnd) {
	err := a.persist(func(ctx context.Context) error {
		view, err := a.w.store.ReadRun(ctx, a.task.Run)
		if err != nil || !view.Status.Ended() {
			return err // else another attempt sees to it
		}
		_, err = a.w.engine.accept(a.asRun(ctx), &history.CancelRun{
			Run: child, Terminate: policy == Terminate, Reason: parentEnded, ChildOf: parent,
		})
		return err
	})
	if err != nil && !errors.Is(err, ErrRunEnded) {
		a.w.log.Error().Err(err).Str("run", string(child.RunID)).Msg("a child whose parent has ended cannot be told so")
	}
}

// startChild is Start with a parent. Known identity comes first, as for any start.
func (e *Engine) startChild(ctx context.Context, key history.RunKey, asked *history.ChildRequested, parent *history.Parent) error {
	m := &history.StartRun{
		Run: key, Workflow: asked.Workflow, Version: asked.Version, NamedVersion: asked.Version != "", Input: asked.Input,
		Parent: parent,
	}
	if refusal := e.resolve(ctx, m); refusal != nil {
		_, err := e.startedBefore(ctx, m, refusal)
		return err
	}
	_, err := e.accept(ctx, m)
	return err
}

// childReason says why a child cannot be started; empty when it can, or may be able to later.
func childReason(err error) FailureReason {
	switch {
	case as[*RunConflictError](err):
		return FailedConflict
	case errors.Is(err, ErrWorkflowNotFound):
		return FailedUnknownWorkflow
	case as[*SchemaError](err):
		return FailedSchema
	}
	return ""
}

// report tells the parent of a run that ended how it did.
func (a *attempt) report(ctx context.Context) error {
	view, err := a.w.store.ReadRun(ctx, a.task.Run)
	switch {
	case err != nil:
		return err
	case view.Parent == nil:
		return nil
	}
	m := &history.SettleTask{
		Run:  history.RunKey{Namespace: a.task.Run.Namespace, RunID: view.Parent.RunID},
		Task: history.TaskKey{Generation: view.Parent.Generation, Kind: history.TaskChild, ID: string(view.Parent.ChildID)},
	}
	switch view.Status {
	case StatusCompleted:
		if m.Output, err = restored(view.Output); err != nil {
			return err
		}
	case StatusFailed:
		m.Failure = &history.Failure{Reason: FailedChild, Message: view.Error}
	default:
		m.Failure = &history.Failure{Reason: FailedCancelled}
	}
	_, err = a.w.engine.accept(a.asRun(ctx), m)
	if errors.Is(err, ErrTaskClosed) || errors.Is(err, ErrRunNotFound) {
		return nil // the parent does not wait for it any more
	}
	return err
}

// restored is a payload that was stored, whatever today's limits are.
func restored(raw json.RawMessage) (canon.Payload, error) {
	return canon.Parse(raw, canon.Limits{MaxBytes: max(len(raw), 1), MaxDepth: maxStoredDepth})
}

// maxStoredDepth is deeper than any payload a host would let in.
const maxStoredDepth = 10_000

// stop tells a child that its parent ended.
func (a *attempt) stop(ctx context.Context) error {
	t := a.task
	_, err := a.w.engine.accept(a.asRun(ctx), &history.CancelRun{
		Run:       history.RunKey{Namespace: t.Run.Namespace, RunID: t.Task.Target},
		Terminate: t.Task.Policy == Terminate, Reason: parentEnded,
		ChildOf: &history.Parent{RunID: t.Run.RunID, Generation: t.Task.Generation, ChildID: spec.ChildID(t.Task.ID)},
	})
	switch {
	case errors.Is(err, ErrRunEnded):
		return nil
	case errors.Is(err, ErrRunNotFound) && a.patient(max(a.w.engine.cfg.TargetGrace, a.w.lease+deliverTime)): // it may be being started
		return errNotYet
	case errors.Is(err, ErrRunNotFound):
		return nil
	}
	return err
}
