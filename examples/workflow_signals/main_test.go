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
	// start the run                  201 verdict="accepted"
	// start it again                 200 verdict="duplicate"
	// signal the approval            202 verdict="accepted"
	// wait for the end               200 verdict="accepted" output={"status":"approved","reviewer":"ada"}
	// redeliver, spelled otherwise   202 verdict="duplicate"
	// the same key, another reviewer 409 verdict="conflict" differs=["payload"]
	// what became of the signal      200 verdict="accepted" state="consumed"
}
