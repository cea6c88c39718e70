package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the order is placed        201 verdict="accepted"
	// the payment is captured    202 verdict="accepted"
	// wait for the end           200 verdict="accepted" output={"status":"captured","capture_id":"cap_77"}
	// the provider says it again 202 verdict="duplicate"
	// another event, too late    410 verdict="gone"
	// what became of the event   200 verdict="accepted" state="consumed"
}
