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
	// start the run          201 verdict="accepted"
	// withdraw the request   200 verdict="accepted"
	// withdraw it again      200 verdict="duplicate"
	// approve, too late      410 verdict="gone" cause="disposed"
	// wait for the end       200 verdict="accepted" output={"status":"withdrawn"}
	// approve after the end  410 verdict="gone" cause="disposed"
	// look at the hook       200 verdict="accepted" state="disposed"
}
