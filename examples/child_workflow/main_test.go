package main

import (
	"context"
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
	// lisbon/flight  completed "flight to Lisbon, number F1"
	// lisbon/hotel   completed "room with a view, number H7"
	// lisbon         completed {"flight":"flight to Lisbon, number F1","hotel":"room with a view, number H7"}
	// lisbon/survey  completed 5
	// rome/hotel     failed    room with a view is sold out
	// rome           failed    child "hotel" failed (failed): room with a view is sold out
	// rome/flight    cancelled
	// rome/survey    completed 1
}

// A test says what comes of the children; no run but the parent is started.
func TestTripNeedsBoth(t *testing.T) {
	trip := enginetest.New(t, TripSpec, BookTrip)
	trip.Start(nil)
	trip.CompleteChild("hotel", "room 7")
	if got := trip.Status(); got != engine.StatusRunning {
		t.Fatalf("with a hotel alone the trip is %s", got)
	}
	trip.CompleteChild("flight", "seat 1")
	var booked Trip
	if trip.Output(&booked); booked != (Trip{Flight: "seat 1", Hotel: "room 7"}) {
		t.Errorf("booked %+v", booked)
	}
}

func TestTripFailsWithItsChild(t *testing.T) {
	trip := enginetest.New(t, TripSpec, BookTrip)
	trip.Start(nil)
	trip.FailChild("hotel", engine.FailedChild, "sold out")
	if got := trip.Failure(); got != `child "hotel" failed (failed): sold out` {
		t.Errorf("the trip failed with %q", got)
	}
}
