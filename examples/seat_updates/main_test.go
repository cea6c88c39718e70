package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the first guest opens the show  201 verdict="accepted" result={"seat":1,"left":1}
	// Bob wants the same seat         422 verdict="invalid" code="update-rejected" violations=[{"field_path":"","message":"seat 1 is taken"}]
	// Bob takes any seat              200 verdict="accepted" result={"seat":2,"left":0}
	// Bob's phone sends it again      200 verdict="duplicate" result={"seat":2,"left":0}
	// Cem comes too late              422 verdict="invalid" code="update-rejected" violations=[{"field_path":"","message":"the show is sold out"}]
	// somebody without a name         422 verdict="invalid" code="payload-schema" violations=[{"field_path":"/guest","message":"must have at least 1 characters"}]
	// what became of Ada's            200 verdict="accepted" result={"seat":1,"left":1}
	// the show begins                 202 verdict="accepted"
	// who sits where                  200 verdict="accepted" output={"1":"Ada","2":"Bob"}
	// Ada's phone sends hers again    200 verdict="duplicate" result={"seat":1,"left":1}
	// Dan comes after the end         410 verdict="gone" code="run-ended"
}

func TestSell(t *testing.T) {
	t.Parallel()
	show := enginetest.New(t, ShowSpec, Sell)
	show.Start(Show{Seats: 1})
	ada := show.Update("seat.reserve", Reservation{Guest: "Ada"})
	bob := show.Update("seat.reserve", Reservation{Guest: "Bob"})

	var seat Seat
	show.UpdateResult(ada, &seat)
	if seat != (Seat{Seat: 1, Left: 0}) {
		t.Errorf("Ada got %+v", seat)
	}
	_, err := show.TryUpdateResult(bob)
	if rejected := new(engine.UpdateRejectedError); !errors.As(err, &rejected) || rejected.Reason != errSoldOut.Error() {
		t.Errorf("Bob was told %v", err)
	}

	if again := show.UpdateAs(ada, "seat.reserve", Reservation{Guest: "Ada"}); again.Verdict != engine.VerdictDuplicate {
		t.Errorf("sent again: %+v", again)
	}
	show.Signal("show.closed", nil)
	var seats map[int]string
	if show.Output(&seats); len(seats) != 1 || seats[1] != "Ada" {
		t.Errorf("got %v", seats)
	}
}

func TestSell_refuses_at_the_door_what_is_no_reservation(t *testing.T) {
	t.Parallel()
	show := enginetest.New(t, ShowSpec, Sell)
	show.Start(Show{Seats: 1})
	for _, bad := range []any{nil, 7, map[string]any{}, Reservation{}, map[string]any{"guest": "Ada", "seat": -1}} {
		_, err := show.TryUpdate("u", "seat.reserve", bad)
		if invalid := new(engine.SchemaError); !errors.As(err, &invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := show.TryUpdate("u", "seat.sell", nil); !errors.Is(err, engine.ErrUpdateUndeclared) {
		t.Error(err)
	}
}
