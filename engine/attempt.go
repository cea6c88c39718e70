package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	// maxStrikes is how many workers a step may take down before it is quarantined.
	maxStrikes = 3
	// lastWords is how long a function has to return after its context ended; then the attempt has failed without it.
	lastWords = time.Second
	// maxDetails bounds what a heartbeat says, in bytes of JSON.
	maxDetails = 16 << 10
	// restPause is how long a task rests that cannot be done here: a newer program asked for it, or its time is over.
	restPause = 30 * time.Second
)

// The codes of failures that are not the function's own words.
const (
	codeTimeout = "timeout"
	codeSilence = "heartbeat_timeout"
	codePanic   = "panic"
	codeOutput  = "output" // what the function returned does not encode
	codeLost    = "worker_lost"
)

// attempt is one beginning of a task.
type attempt struct {
	w      *worker
	line   *line
	task   db.ClaimedTask
	ctx    context.Context
	cancel context.CancelCauseFunc
	stuck  chan struct{} // closed when a function that was given up ends; nil when none was

	renewedAt time.Time   // by the process's clock; under the worker's lock
	confirmed bool        // it was begun with a commit of unknown outcome and is this worker's; under the worker's lock
	lease     *time.Timer // ends the attempt with its lease

	mu      sync.Mutex
	details json.RawMessage // said and not known to be stored
	said    int             // how often
	silence *time.Timer     // until the heartbeat time-out; nil without one
	within  time.Duration   // the heartbeat time-out
}

func (a *attempt) key() attemptKey { return attemptKey{a.task.Run, a.task.Task.TaskKey} }

func (a *attempt) run() {
	switch {
	case a.task.Unsure && !a.confirm():
		return
	case a.task.Err() != nil:
		a.w.log.Error().Err(a.task.Err()).Str("run", string(a.task.Run.RunID)).Msg("a task cannot be read here")
		a.give(db.Attempt{Pause: restPause})
	case a.task.Task.Kind == history.TaskStep:
		a.runStep()
	default:
		a.deliver()
	}
}

// runStep does a step, unless it has used up what it may.
func (a *attempt) runStep() {
	asked, ok := a.task.Asked.Data.(*history.StepScheduled)
	code, known := a.w.engine.steps.get(a.task.Task.Name)
	if !ok || !known {
		a.give(db.Attempt{Pause: restPause})
		return
	}
	if in := a.task.CloseIn; in > 0 && in < time.Microsecond { // the next turn says so
		a.give(db.Attempt{Pause: restPause})
		return
	}
	lost := history.Failure{Code: codeLost, Message: "the process that did it was lost", Attempt: a.task.Task.Attempt - 1}
	switch {
	case a.task.Ended: // nobody is told
		a.count(attemptCancelled)
		a.settle(&history.SettleTask{
			Run: a.task.Run, Task: a.task.Task.TaskKey, Attempt: a.task.Task.Attempt, Failure: &history.Failure{Reason: FailedCancelled},
		})
		return
	case a.task.Strikes >= maxStrikes:
		lost.Reason = FailedQuarantined
		a.fail(asked, lost)
		return
	case a.task.Failures > 0 && !asked.Retry.Allows(a.task.Failures, ""):
		lost.Reason = FailedExhausted
		a.fail(asked, lost)
		return
	}
	result := a.call(asked, code.fn)
	if errors.Is(context.Cause(a.ctx), ErrStepCancelled) {
		a.count(attemptCancelled)
		return // nobody takes an outcome
	}
	a.conclude(asked, result)
}

// count counts what becomes of the attempt, which may still be refused.
func (a *attempt) count(how string) { a.w.engine.figures.attempts.Add(how) }

// stepResult is what a step's function came to.
type stepResult struct {
	output canon.Payload
	failed bool
	advice stepAdvice
	text   string
}

func failedStep(err error) stepResult {
	return stepResult{failed: true, advice: adviceOf(err), text: diagnosis(err.Error())}
}

// call runs the function. One that does not return although its context ended is given up.
func (a *attempt) call(asked *history.StepScheduled, fn StepFunc) stepResult {
	deadline := time.Now().Add(time.Duration(asked.StartToClose))
	if in := a.task.CloseIn; in > 0 && in < time.Duration(asked.StartToClose) {
		deadline = time.Now().Add(in)
	}
	ctx, cancel := context.WithDeadlineCause(a.ctx, deadline, ErrAttemptTimeout)
	defer cancel()
	a.listen(time.Duration(asked.Heartbeat))
	defer a.deafen()
	done := make(chan stepResult, 1)
	ended := make(chan struct{})
	go func() { // ends with the function; forget sees to one that does not
		defer close(ended)
		a.protect(ctx, fn, deadline, done)
	}()
	select {
	case r := <-done:
		return a.timed(ctx, r)
	case <-ctx.Done():
	}
	patience := time.NewTimer(lastWords)
	defer patience.Stop()
	select {
	case r := <-done:
		return a.timed(ctx, r)
	case <-patience.C:
	case <-a.w.final.Done():
	}
	a.stuck = ended
	return a.timed(ctx, failedStep(context.Cause(ctx)))
}

// protect calls the function and gives what it came to, also when it panics or ends its goroutine.
func (a *attempt) protect(ctx context.Context, fn StepFunc, deadline time.Time, done chan<- stepResult) {
	var r stepResult
	returned := false
	defer func() { // after runtime.Goexit nothing but what is deferred is done
		if p := recover(); p != nil {
			r = failedStep(Coded(codePanic, fmt.Errorf("the function panicked with a value of type %T at %s", p, panicPlace())))
		} else if !returned {
			r = failedStep(Coded(codePanic, errors.New("the function ended its goroutine (runtime.Goexit)")))
		}
		done <- r
	}()
	out, err := fn(ctx, a.stepFor(deadline))
	if err != nil {
		r = failedStep(err)
	} else if r.output, err = canon.Marshal(out); err != nil {
		r = failedStep(NonRetryable(Coded(codeOutput, encodeError(err))))
	}
	returned = true
}

// timed says of a failure that came because the time was over that it did.
func (a *attempt) timed(ctx context.Context, r stepResult) stepResult {
	if !r.failed || r.advice.code != "" {
		return r
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrAttemptTimeout):
		r.advice.code = codeTimeout
	case errors.Is(cause, ErrHeartbeatTimeout):
		r.advice.code = codeSilence
	}
	return r
}

func (a *attempt) stepFor(deadline time.Time) *Step {
	t := a.task
	return &Step{
		Namespace: t.Run.Namespace, RunID: t.Run.RunID, Workflow: t.Workflow, Version: t.Version,
		Generation: t.Task.Generation, ID: t.Task.ID, Name: t.Task.Name, Attempt: t.Task.Attempt,
		IdempotencyKey: idempotencyKey(t.Run, t.Task.Generation, t.Task.ID),
		Input:          t.Asked.Data.(*history.StepScheduled).Input.Bytes(), Deadline: deadline,
		details: t.Details, door: a,
	}
}

// conclude stores what an attempt came to: the step's outcome, or when to try again.
func (a *attempt) conclude(asked *history.StepScheduled, r stepResult) {
	t := a.task
	if !r.failed {
		a.count(attemptDone)
		a.settle(&history.SettleTask{
			Run: t.Run, Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Output: r.output, Begun: &t.Task,
		})
		return
	}
	if errors.Is(context.Cause(a.ctx), ErrShuttingDown) {
		a.count(attemptReturned)
		a.give(db.Attempt{})
		return
	}
	failures := t.Failures + 1
	if !r.advice.final && asked.Retry.Allows(failures, r.advice.code) {
		pause := asked.Retry.Pause(failures, idempotencyKey(t.Run, t.Task.Generation, t.Task.ID))
		if r.advice.after != nil {
			pause = min(*r.advice.after, spec.MaxRetryDelay)
		}
		a.count(attemptRetried)
		a.give(db.Attempt{Failed: true, Error: r.text, Pause: pause})
		return
	}
	f := history.Failure{Reason: FailedExhausted, Code: r.advice.code, Message: r.text, Attempt: t.Task.Attempt}
	if r.advice.final || !asked.Retry.Allows(0, r.advice.code) {
		f.Reason = FailedNonRetryable
	}
	a.fail(asked, f)
}

// fail ends a step as failed, or holds it. What is used up goes to the dead letters.
func (a *attempt) fail(asked *history.StepScheduled, f history.Failure) {
	t := a.task
	letter := &history.Letter{Failure: f}
	switch {
	case f.Reason == FailedNonRetryable:
		letter = nil
	case asked.Retry.Hold:
		a.count(attemptHeld)
		a.settle(&history.HoldTask{Run: t.Run, Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Letter: *letter})
		return
	}
	a.count(attemptFailed)
	a.settle(&history.SettleTask{
		Run: t.Run, Task: t.Task.TaskKey, Attempt: t.Task.Attempt, Failure: &f, Letter: letter,
	})
}
