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
	// start the run           201 verdict="accepted"
	// answer in a wrong form  422 verdict="invalid"
	// approve                 202 verdict="accepted"
	// approve again           202 verdict="duplicate"
	// reject after all        409 verdict="conflict" differs=["payload"]
	// wait for the end        200 verdict="accepted" output={"status":"approved","reviewer":"ada"}
	// approve after the end   202 verdict="duplicate"
	// look at the hook        200 verdict="accepted" state="resumed"
}
