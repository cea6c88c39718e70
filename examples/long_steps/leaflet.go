package main

import (
	"context"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Printed is what the print shop says when it is done.
type Printed struct {
	Sheets int `json:"sheets" jsonschema:"minimum=1"`
}

// LeafletSpec is the contract of Leaflet.
var LeafletSpec = spec.WorkflowSpec{
	Name: "leaflet", Version: "1", Hooks: []spec.Hook{{Name: "printed", Schema: engine.SchemaOf[Printed]()}},
}

// Leaflet has something printed. The order is a step; the printing is done elsewhere and takes days, so that its end is the
// answer to a hook, whose link goes along with the order. No worker waits.
func Leaflet(ctx *engine.Context) (engine.Decision, error) {
	printed, done, err := engine.HookPayload[Printed](ctx, "printed")
	if err != nil || done {
		return ctx.Complete(printed), err
	}
	if failure, failed := ctx.StepFailed("order"); failed {
		return ctx.Fail(failure), nil
	}
	if ctx.HookExpired("printed") {
		return ctx.Fail(errNotPrinted), nil
	}
	return ctx.Await(
		ctx.CreateHook("printed", engine.ExpiresIn(10*24*time.Hour)),
		ctx.RunStep("order", "print.order", 500, spec.FixedRetry(5, time.Minute)),
	), nil
}

var errNotPrinted = errors.New("the print shop did not answer in ten days")

// job is an order as the print shop has it: how much, under which number, and where to say that it is done.
type job struct {
	sheets         int
	number, answer string
}

// printShop takes orders.
type printShop chan job

// order hands a job over. The link holds the hook's token: it belongs in no log and no output.
func (p printShop) order(ctx context.Context, step *engine.Step, sheets int) (any, error) {
	link, err := step.HookURL(ctx, "printed")
	if err != nil {
		return nil, err
	}
	select {
	case p <- job{sheets: sheets, number: step.IdempotencyKey, answer: link}:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
