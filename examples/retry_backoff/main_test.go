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
	// rates
	//   GET /rates: 503, the first time
	//   GET /rates: 503, again, under the same key and not too early
	//   GET /rates: 429, again, under the same key and not too early
	//   GET /rates: 200, again, under the same key and not too early
	//   completed: "1 EUR = 1.0842 USD"
	// none
	//   GET /none: 404, the first time
	//   failed: step "fetch" failed (non_retryable): the server says 404 Not Found
	// down
	//   GET /down: 503, the first time
	//   GET /down: 503, again, under the same key and not too early
	//   GET /down: 503, again, under the same key and not too early
	//   GET /down: 503, again, under the same key and not too early
	//   held: step fetch after attempt 4, the server says 503 Service Unavailable (unavailable)
	//   GET /down: 200, again, under the same key and not too early
	//   completed: "1 EUR = 1.0842 USD"
	//   the replay was accepted
}
