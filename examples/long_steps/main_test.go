package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// four-rows
	//   attempt 1: row 0
	//   attempt 1: row 1
	//   attempt 2: row 2
	//   attempt 2: row 3
	//   completed: 4
	// five-rows
	//   attempt 1: row 0
	//   attempt 1: row 1
	//   attempt 2: row 2
	//   attempt 2: row 3
	//   the function is told: step cancelled
	//   completed: "stopped"
	// leaflet
	//   ordered: 500 sheets
	//   completed: {"sheets":500}
}

// A print shop that says nothing fails the run, and its late answer is refused.
func TestThePrintShopIsSilent(t *testing.T) {
	leaflet := enginetest.New(t, LeafletSpec, Leaflet)
	leaflet.Start(nil)
	leaflet.CompleteStep("order", nil)
	leaflet.Advance(10 * 24 * time.Hour)
	if got := leaflet.Failure(); got != errNotPrinted.Error() {
		t.Errorf("failed with %q", got)
	}
	if _, err := leaflet.TryResume("printed", Printed{Sheets: 500}); err == nil {
		t.Error("the late answer was taken")
	}
}
