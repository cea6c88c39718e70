package main

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// TenantCancelled is the signal by which an onboarding hears that its tenant is leaving.
const TenantCancelled = "tenant.cancelled"

// Onboarded is the output of an onboarding.
type Onboarded struct {
	Outcome string `json:"outcome"` // "onboarded" or "cleaned up"
}

// OnboardingSpec is the contract of Onboard.
var OnboardingSpec = spec.WorkflowSpec{
	Name: "tenant.onboarding", Version: "1", Signals: []spec.Signal{{Name: TenantCancelled}, {Name: "accepted"}},
}

// Onboard sets up what one person of a tenant needs, and waits until the person has accepted. When the tenant leaves before
// that, it takes back what it did: each run knows best what that is.
func Onboard(ctx *engine.Context) (engine.Decision, error) {
	if ctx.First("accepted", "cancelled") == "cancelled" {
		return cleanUp(ctx)
	}
	_, there, err := engine.StepOutput[string](ctx, "mailbox")
	if err != nil {
		return engine.Decision{}, err
	}
	if _, accepted, err := engine.SignalPayload[any](ctx, "accepted"); err != nil || accepted && there {
		return ctx.Complete(Onboarded{Outcome: "onboarded"}), err
	}
	waits := ctx.Await(
		ctx.WaitForSignal("accepted", "accepted"),
		ctx.WaitForSignal("cancelled", TenantCancelled),
	)
	if there {
		return waits, nil
	}
	return ctx.Await(waits, ctx.RunStep("mailbox", "mailbox.create", ctx.RunID(), retry)), nil
}

// cleanUp removes the mailbox. It may be under way still: what was asked for comes to an end first.
func cleanUp(ctx *engine.Context) (engine.Decision, error) {
	if _, failed := ctx.StepFailed("mailbox"); failed {
		return ctx.Complete(Onboarded{Outcome: "cleaned up"}), nil // it could not be made: nothing is to be removed
	}
	mailbox, there, err := engine.StepOutput[string](ctx, "mailbox")
	if err != nil {
		return engine.Decision{}, err
	}
	if !there {
		return ctx.RunStep("mailbox", "mailbox.create", ctx.RunID(), retry), nil
	}
	_, removed, err := engine.StepOutput[any](ctx, "remove")
	if err != nil || removed {
		return ctx.Complete(Onboarded{Outcome: "cleaned up"}), err
	}
	return ctx.RunStep("remove", "mailbox.remove", mailbox, retry), nil
}
