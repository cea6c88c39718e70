package main

import (
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Leaving is the input of a tenant's cancellation.
type Leaving struct {
	Tenant      string       `json:"tenant"`
	Onboardings []spec.RunID `json:"onboardings"`
}

// Left is its output.
type Left struct {
	Told  int `json:"told"`  // onboardings that clean up
	Ended int `json:"ended"` // that had ended before
	None  int `json:"none"`  // that never began
}

// CancelSpec is the contract of CancelTenant.
var CancelSpec = spec.WorkflowSpec{Name: "tenant.cancel", Version: "1"}

// retry is how steps are tried again.
var retry = spec.ExponentialRetry(10, time.Second, 5*time.Minute)

// CancelTenant tells every onboarding of a tenant that the tenant leaves. Nobody conducts what follows: each onboarding
// cleans up after itself. One that has ended, or never began, has nothing to clean up, and that is as good.
func CancelTenant(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[Leaving](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	var left Left
	var calls []engine.Decision
	for i, onboarding := range in.Onboardings {
		id := engine.ID("tell", i)
		failure, failed := ctx.CallFailed(id)
		switch {
		case ctx.CallDelivered(id):
			left.Told++
		case !failed:
			calls = append(calls, ctx.SignalRun(id, onboarding, engine.OutgoingSignal{Name: TenantCancelled, Payload: in.Tenant}))
		case failure.Reason == engine.FailedTargetEnded:
			left.Ended++
		case failure.Reason == engine.FailedTargetUnknown:
			left.None++
		default:
			return ctx.Fail(failure), nil // not an onboarding: somebody has to look at it
		}
	}
	if len(calls) == 0 {
		return ctx.Complete(left), nil
	}
	return ctx.Await(calls...), nil
}
