package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// StepFunc does a step: a side effect, outside the turns of the run. What it returns encodes as JSON and is the step's
// output; nil is JSON null. It runs at least once for each step that a run schedules, and may run again after a failed
// attempt or when its process died: give IdempotencyKey to whoever must not do a thing twice.
//
// ctx ends when the attempt's time is over, when the step was cancelled or its run ended, and when the process shuts down;
// context.Cause says which. An error, and a panic, is a failed attempt: the step's retry policy says what follows. See
// NonRetryable, RetryAfter and Coded.
type StepFunc func(ctx context.Context, step *Step) (any, error)

// Step is one attempt of a step, as its function sees it. It belongs to one call of the function.
type Step struct {
	Namespace  spec.Namespace
	RunID      spec.RunID
	Workflow   string // of the run
	Version    string // of the run's workflow
	Generation int    // of the run, when it scheduled the step
	ID         string // names the step within the generation
	Name       string // under which the function is registered
	// Attempt counts from 1 every time that the step is begun.
	Attempt int
	// IdempotencyKey is the same for every attempt of the step, and of no other step.
	IdempotencyKey string
	// Input is the JSON that the workflow gave.
	Input json.RawMessage
	// Deadline is when the attempt's time is over.
	Deadline time.Time

	// details are what the last attempt said with Heartbeat.
	details json.RawMessage
	door    stepDoor
}

// stepDoor is what an attempt may ask of the engine.
type stepDoor interface {
	// heartbeat notes progress.
	heartbeat(details json.RawMessage) error
	// hookURL is the link of a hook of the run.
	hookURL(ctx context.Context, hookID spec.HookID) (string, error)
	// pageURL is the link of a hook's page for a person.
	pageURL(ctx context.Context, hookID spec.HookID, recipient string) (string, error)
}

// idempotencyKey names a step among all steps of all runs: 64 hex digits, the same for every attempt.
func idempotencyKey(run history.RunKey, generation int, stepID string) string {
	h := sha256.New()
	for _, part := range []string{string(run.Namespace), string(run.RunID), strconv.Itoa(generation), stepID} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // lengths, or two names could be split elsewhere
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TypedStep makes a StepFunc of a function with types of its own, and nil of nil. An input that does not decode into In
// fails the step at once, with the code "input".
func TypedStep[In, Out any](fn func(ctx context.Context, step *Step, in In) (Out, error)) StepFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, step *Step) (any, error) {
		in, err := decode[In](fmt.Sprintf("input of step %q", step.ID), step.Input)
		if err != nil {
			return nil, NonRetryable(Coded(CodeInput, err))
		}
		return fn(ctx, step, in)
	}
}
