package main

import (
	"errors"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Trip is the output of a trip.
type Trip struct {
	Flight string `json:"flight"`
	Hotel  string `json:"hotel"`
}

// TripSpec is the contract of BookTrip.
var TripSpec = spec.WorkflowSpec{Name: "trip", Version: "1"}

// BookTrip books a flight and a hotel at once, each in a run of its own, and ends with both. A flight without a hotel is no
// trip: when one of them fails, so does the trip, and the other one is cancelled with it.
func BookTrip(ctx *engine.Context) (engine.Decision, error) {
	flight, booked, err := engine.ChildOutput[string](ctx, "flight")
	if err != nil {
		return engine.Decision{}, err // a *engine.ChildFailure: the trip fails with it
	}
	hotel, found, err := engine.ChildOutput[string](ctx, "hotel")
	if err != nil {
		return engine.Decision{}, err
	}
	if booked && found {
		return ctx.Complete(Trip{Flight: flight, Hotel: hotel}), nil
	}
	return ctx.Await(
		ctx.StartChild("flight", BookingSpec.Name, ctx.RunID()+"/flight", "flight to Lisbon"),
		ctx.StartChild("hotel", BookingSpec.Name, ctx.RunID()+"/hotel", "room with a view",
			engine.WhenParentEnds(engine.RequestCancel)), // the default
		ctx.StartChild("survey", SurveySpec.Name, ctx.RunID()+"/survey", nil,
			engine.WhenParentEnds(engine.Abandon)), // lives on, whatever becomes of the trip
	), nil
}

// BookingSpec is the contract of Book.
var BookingSpec = spec.WorkflowSpec{
	Name: "trip.booking", Version: "1", Signals: []spec.Signal{{Name: "confirmed"}, {Name: "sold-out"}},
}

// Book waits for what the seller says.
func Book(ctx *engine.Context) (engine.Decision, error) {
	what, err := engine.Input[string](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	switch ctx.First("yes", "no") {
	case "yes":
		number, _, err := engine.SignalPayload[string](ctx, "yes")
		return ctx.Complete(what + ", number " + number), err
	case "no":
		return ctx.Fail(errors.New(what + " is sold out")), nil
	}
	return ctx.Await(ctx.WaitForSignal("yes", "confirmed"), ctx.WaitForSignal("no", "sold-out")), nil
}

// SurveySpec is the contract of Ask.
var SurveySpec = spec.WorkflowSpec{Name: "trip.survey", Version: "1", Signals: []spec.Signal{{Name: "rated"}}}

// Ask waits for what the traveller thinks, which may take longer than the trip.
func Ask(ctx *engine.Context) (engine.Decision, error) {
	stars, rated, err := engine.SignalPayload[int](ctx, "stars")
	if err != nil || rated {
		return ctx.Complete(stars), err
	}
	return ctx.WaitForSignal("stars", "rated"), nil
}
