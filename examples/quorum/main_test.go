package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// new-roof: ada says {"agrees":false}: accepted
	// new-roof: bob says {"agrees":"maybe"}: invalid
	// new-roof: bob says {"agrees":true}: accepted
	// new-roof: eve says {"agrees":true}: accepted
	// new-roof is "agreed"
	// new-roof: eve says {"agrees":false}: conflict
	// new-flag: bob says {"agrees":false}: accepted
	// new-flag: eve says {"agrees":false}: accepted
	// new-flag is "rejected"
	// new-flag: ada says {"agrees":true}: gone
}

// The motion is decided as soon as it can be, and whoever was not needed has no question left.
func TestBallotEndsWhenItIsDecided(t *testing.T) {
	for _, tc := range []struct {
		needed int
		votes  []bool
		want   string
	}{
		{2, []bool{true, true}, "agreed"},
		{2, []bool{false, false}, "rejected"},
		{3, []bool{false}, "rejected"},
		{1, []bool{false, false, true}, "agreed"},
	} {
		r := enginetest.New(t, BallotSpec, flow.Func(Ballot))
		r.Start(Motion{Text: "x", People: []string{"ada", "bob", "eve"}, Needed: tc.needed})
		names := []string{"ada", "bob", "eve"}
		for i, agrees := range tc.votes {
			r.Resume(spec.HookID("vote-"+names[i]), Vote{Agrees: agrees})
		}
		var got string
		if r.Output(&got); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}
