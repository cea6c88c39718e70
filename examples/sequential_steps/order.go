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

// Purchase is the input of a run.
type Purchase struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
	Card  string `json:"card"`
}

// Receipt is the output of a run.
type Receipt struct {
	Parcel string `json:"parcel,omitempty"`
	Reason string `json:"reason,omitempty"` // why nothing was shipped
}

// OrderSpec is the contract of Order.
var OrderSpec = spec.WorkflowSpec{Name: "shop.order", Version: "1"}

// retry is how all steps of an order are tried again. A card that was declined is not asked twice.
var retry = spec.ExponentialRetry(10, time.Second, 5*time.Minute).WithNonRetryable("declined")

// Order reserves an item, charges the card and ships, one after the other. What was reserved is given back when the card
// cannot be charged.
func Order(ctx *engine.Context) (engine.Decision, error) {
	order, err := engine.Input[Purchase](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	reservation, reserved, err := engine.StepOutput[string](ctx, "reserve")
	if err != nil {
		return engine.Decision{}, err // used up: the run fails with the words of the step
	}
	if !reserved {
		return ctx.RunStep("reserve", "stock.reserve", order.Item, retry), nil
	}
	if failure, failed := ctx.StepFailed("charge"); failed {
		return giveBack(ctx, reservation, failure)
	}
	_, charged, err := engine.StepOutput[string](ctx, "charge")
	if err != nil {
		return engine.Decision{}, err
	}
	if !charged {
		return ctx.RunStep("charge", "card.charge", order, retry, engine.StartToClose(30*time.Second)), nil
	}
	parcel, shipped, err := engine.StepOutput[string](ctx, "ship")
	if err != nil || shipped {
		return ctx.Complete(Receipt{Parcel: parcel}), err
	}
	return ctx.RunStep("ship", "parcel.send", reservation, retry), nil
}

// giveBack ends an order that was not paid.
func giveBack(ctx *engine.Context, reservation string, failure *engine.StepFailure) (engine.Decision, error) {
	_, released, err := engine.StepOutput[any](ctx, "release")
	switch {
	case err != nil:
		return engine.Decision{}, err
	case !released:
		return ctx.RunStep("release", "stock.release", reservation, retry), nil
	case failure.Code == "declined":
		return ctx.Complete(Receipt{Reason: "the card was declined"}), nil
	}
	return ctx.Fail(failure), nil
}

// shop does the steps: side effects, outside the turns of the run.
type shop struct{ out io.Writer }

func (s shop) reserve(_ context.Context, step *engine.Step, item string) (string, error) {
	_, err := fmt.Fprintf(s.out, "  reserve a %s for %s\n", item, step.RunID)
	return "reservation-of-" + string(step.RunID), err
}

// charge gives the provider the step's key: it is the same on every attempt, so that nobody pays twice.
func (s shop) charge(ctx context.Context, step *engine.Step, order Purchase) (string, error) {
	err := s.provider(ctx, step.IdempotencyKey, order)
	if errors.Is(err, errDeclined) {
		return "", engine.Coded("declined", err)
	}
	return "paid", err
}

func (s shop) ship(_ context.Context, _ *engine.Step, reservation string) (string, error) {
	_, err := fmt.Fprintf(s.out, "  ship %s\n", reservation)
	return "parcel-1", err
}

func (s shop) release(_ context.Context, _ *engine.Step, reservation string) (any, error) {
	_, err := fmt.Fprintf(s.out, "  release %s\n", reservation)
	return nil, err
}

var errDeclined = errors.New("the bank says no")

// provider stands for a payment provider.
func (s shop) provider(_ context.Context, key string, order Purchase) error {
	if _, err := fmt.Fprintf(s.out, "  charge %d cents under a key of %d characters\n", order.Cents, len(key)); err != nil {
		return err
	}
	if order.Card == "stolen" {
		return errDeclined
	}
	return nil
}
