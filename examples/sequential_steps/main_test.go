package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// order-1
	//   reserve a bicycle for order-1
	//   charge 90000 cents under a key of 64 characters
	//   ship reservation-of-order-1
	//   1 run.started
	//   2 step.scheduled
	//   3 step.completed
	//   4 step.scheduled
	//   5 step.completed
	//   6 step.scheduled
	//   7 step.completed
	//   8 run.completed
	//   completed: {"parcel":"parcel-1"}
	// order-2
	//   reserve a bell for order-2
	//   charge 900 cents under a key of 64 characters
	//   release reservation-of-order-2
	//   1 run.started
	//   2 step.scheduled
	//   3 step.completed
	//   4 step.scheduled
	//   5 step.failed
	//   6 step.scheduled
	//   7 step.completed
	//   8 run.completed
	//   completed: {"reason":"the card was declined"}
}

// A test says what comes of the steps; no function of a step is called.
func TestOrderGivesBackWhatItCannotSell(t *testing.T) {
	order := enginetest.New(t, OrderSpec, Order)
	order.Start(Purchase{Item: "bell", Cents: 900})
	order.CompleteStep("reserve", "r-1")
	order.FailStep("charge", "declined", "the bank says no")
	if name, input := order.StepInput("release"); name != "stock.release" || string(input) != `"r-1"` {
		t.Errorf("the order asks for %s of %s", name, input)
	}
	order.CompleteStep("release", nil)
	var receipt Receipt
	if order.Output(&receipt); receipt.Parcel != "" || receipt.Reason == "" {
		t.Errorf("the order ended with %+v", receipt)
	}
}

// A step that is used up fails the run, which says why, after what was done is undone.
func TestOrderFailsWithItsStep(t *testing.T) {
	order := enginetest.New(t, OrderSpec, Order)
	order.Start(Purchase{Item: "bell", Cents: 900})
	order.CompleteStep("reserve", "r-1")
	order.FailStep("charge", "down", "no answer")
	order.CompleteStep("release", nil)
	if got := order.Failure(); got != `step "charge" failed (exhausted): no answer` {
		t.Errorf("the order failed with %q", got)
	}
}
