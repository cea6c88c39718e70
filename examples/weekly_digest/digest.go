package main

import (
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Week is the input of a generation: one generation is one week.
type Week struct {
	Number int           `json:"number"`
	Length time.Duration `json:"length"`           // in nanoseconds
	Ends   time.Time     `json:"ends,omitzero"`    // zero: a length after the run began
	Unsent []string      `json:"unsent,omitempty"` // of a week whose mail could not be sent
}

// Digest is the input of the step that sends one.
type Digest struct {
	Week  int      `json:"week"`
	Items []string `json:"items"`
}

// DigestSpec is the contract of Collect.
var DigestSpec = spec.WorkflowSpec{
	Name: "digest.weekly", Version: "1", Signals: []spec.Signal{{Name: "happened", Schema: engine.SchemaOf[string]()}},
}

// Collect takes what happens during a week, mails it when the week is over, and begins the next week as a new generation.
// Weeks follow each other without drift: each ends a length after the end of the one before, however late a turn was.
func Collect(ctx *engine.Context) (engine.Decision, error) {
	week, err := engine.Input[Week](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if week.Ends.IsZero() {
		week.Ends = ctx.StartedAt().Add(week.Length)
	}
	items := week.Unsent
	for n := 0; ; n++ {
		item, ok, err := engine.SignalPayload[string](ctx, engine.ID("item", n))
		if err != nil {
			return engine.Decision{}, err
		}
		if ok {
			items = append(items, item)
			continue
		}
		if ctx.TimerFired("week") {
			return send(ctx, week, items)
		}
		return ctx.Await(ctx.TimerUntil("week", week.Ends), ctx.WaitForSignal(engine.ID("item", n), "happened")), nil
	}
}

// send mails a digest, if there is anything in it. What comes in meanwhile waits for the next week, and so does what could
// not be sent.
func send(ctx *engine.Context, week Week, items []string) (engine.Decision, error) {
	next := Week{Number: week.Number + 1, Length: week.Length, Ends: week.Ends.Add(week.Length)}
	if _, failed := ctx.StepFailed("send"); failed {
		next.Unsent = items
		return ctx.ContinueAsNew(next), nil
	}
	_, sent, err := engine.StepOutput[any](ctx, "send")
	if err != nil {
		return engine.Decision{}, err
	}
	if sent || len(items) == 0 {
		return ctx.ContinueAsNew(next), nil
	}
	retry := spec.ExponentialRetry(20, time.Second, 10*time.Minute)
	return ctx.RunStep("send", "mail.digest", Digest{Week: week.Number, Items: items}, retry), nil
}
