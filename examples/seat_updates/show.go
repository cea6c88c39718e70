package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Show is the input of a show's run.
type Show struct {
	Seats int            `json:"seats" jsonschema:"minimum=1"`
	Taken map[int]string `json:"taken,omitempty"`
}

// Reservation is the argument of the update seat.reserve. Seat 0 is any seat.
type Reservation struct {
	Guest string `json:"guest" jsonschema:"minLength=1"`
	Seat  int    `json:"seat,omitempty" jsonschema:"minimum=0"`
}

// Seat is its result.
type Seat struct {
	Seat int `json:"seat"`
	Left int `json:"left"`
}

// ShowSpec is the contract of Sell.
var ShowSpec = spec.WorkflowSpec{
	Name: "cinema.show", Version: "1", Description: "Sells the seats of one show.",
	Input:   engine.SchemaOf[Show](),
	Signals: []spec.Signal{{Name: "show.closed"}},
	Updates: []spec.Update{{
		Name: "seat.reserve", Description: "Reserves a seat, and says which.",
		Args: engine.SchemaOf[Reservation](), Response: engine.SchemaOf[Seat](),
	}},
}

var errSoldOut = errors.New("the show is sold out")

// Sell answers reservations until the show is closed, and ends with who sits where.
func Sell(ctx *engine.Context) (engine.Decision, error) {
	show, err := seated(ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if ctx.First("closed") != "" {
		return ctx.Complete(show.Taken), nil
	}
	decisions := []engine.Decision{ctx.WaitForUpdate("seat.reserve"), ctx.WaitForSignal("closed", "show.closed")}
	for _, update := range ctx.Updates("seat.reserve") {
		wish, err := engine.UpdateArg[Reservation](update)
		if err != nil {
			return engine.Decision{}, err
		}
		if seat, err := show.reserve(wish); err != nil {
			decisions = append(decisions, ctx.RejectUpdate(update.ID, err))
		} else {
			decisions = append(decisions, ctx.CompleteUpdate(update.ID, seat))
		}
	}
	return ctx.Await(decisions...), nil
}

// seated is the show as the updates left it that were completed so far.
func seated(run engine.Reader) (Show, error) {
	show, err := engine.Input[Show](run)
	for _, update := range run.CompletedUpdates("seat.reserve") {
		var given Seat
		wish, wrong := engine.UpdateArg[Reservation](update)
		if err = errors.Join(err, wrong, json.Unmarshal(update.Result, &given)); err != nil {
			return show, err
		}
		show.seat(given.Seat, wish.Guest)
	}
	return show, err
}

// reserve takes the seat that is wished for, or the first free one.
func (s *Show) reserve(wish Reservation) (Seat, error) {
	seat := wish.Seat
	for free := 1; seat == 0 && free <= s.Seats; free++ {
		if s.Taken[free] == "" {
			seat = free
		}
	}
	switch {
	case seat == 0:
		return Seat{}, errSoldOut
	case seat > s.Seats:
		return Seat{}, fmt.Errorf("there is no seat %d", seat)
	case s.Taken[seat] != "":
		return Seat{}, fmt.Errorf("seat %d is taken", seat)
	}
	s.seat(seat, wish.Guest)
	return Seat{Seat: seat, Left: s.Seats - len(s.Taken)}, nil
}

func (s *Show) seat(seat int, guest string) {
	if s.Taken == nil {
		s.Taken = map[int]string{}
	}
	s.Taken[seat] = guest
}
