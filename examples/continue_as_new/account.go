package main

import (
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Account is the input of a generation, and the output of the run: all that the next generation has to know.
type Account struct {
	Balance  int `json:"balance"`
	Bookings int `json:"bookings"`
}

// AccountSpec is the contract of Keep.
var AccountSpec = spec.WorkflowSpec{
	Name: "account", Version: "1", Signals: []spec.Signal{{Name: "booked"}},
	Hooks: []spec.Hook{{Name: "close"}},
}

// perGeneration is how many bookings one generation takes. A real account would take a thousand or more.
const perGeneration = 3

// Keep books what it is sent, for as long as nobody closes the account. Its history would grow with every booking, and the
// time of its turns with it, so it begins a new generation now and then.
func Keep(ctx *engine.Context) (engine.Decision, error) {
	account, err := engine.Input[Account](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	taken := 0
	for ; taken < perGeneration; taken++ {
		cents, booked, err := engine.SignalPayload[int](ctx, engine.ID("booking", taken))
		if err != nil {
			return engine.Decision{}, err
		}
		if !booked {
			break
		}
		account.Balance, account.Bookings = account.Balance+cents, account.Bookings+1
	}
	if ctx.HookState("close") == engine.Answered {
		return ctx.Complete(account), nil
	}
	if taken == perGeneration {
		return ctx.ContinueAsNew(account), nil // unread signals and the open hook go along
	}
	return ctx.Await(
		ctx.WaitForSignal(engine.ID("booking", taken), "booked"),
		ctx.CreateHook("close"),
	), nil
}
