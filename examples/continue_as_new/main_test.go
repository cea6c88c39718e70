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
	// booking-0: 1, accepted
	// booking-1: 2, accepted
	// booking-2: 3, accepted
	// booking-3: 4, accepted
	// booking-4: 5, accepted
	// booking-5: 6, accepted
	// booking-6: 7, accepted
	// booking-7: 8, accepted
	// booking-8: 9, accepted
	// booking-9: 10, accepted
	// booking-0: 1, duplicate
	// completed in generation 4: {"balance":55,"bookings":10}
}

// Seven bookings at once: none is lost when the generation changes between them.
func TestNothingIsLostBetweenGenerations(t *testing.T) {
	account := enginetest.New(t, AccountSpec, Keep)
	account.Start(Account{})
	for i := range 7 {
		account.Signal("booked", i+1)
	}
	if s := account.Snapshot(); s.Generation != 3 || s.UnreadSignals != 0 {
		t.Errorf("generation %d with %d unread bookings", s.Generation, s.UnreadSignals)
	}
	account.Resume("close", nil)
	var end Account
	if account.Output(&end); end != (Account{Balance: 28, Bookings: 7}) {
		t.Errorf("the account ended with %+v", end)
	}
}
