package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a scanner fetches bob's link 20 times
	// a robot presses bob's button: 400
	// carol sends "approve": 403
	// bob sends "approve": 303
	// bob sends "approve": 303
	// Bob sends "approve": 303
	// the run is running
	// eve sends "approve": 303
	// the run is completed: "approved by bob, eve"; 1 links were sent to bob
	// carol sends "reject": 410
	// bob's page says "Approved"
}

// C83: people are counted, not answers; who asks is not among them; and a veto is one.
func TestC83_distinct_people_are_counted(t *testing.T) {
	t.Parallel()
	type vote struct {
		by, hook string
		approved bool
	}
	for name, tc := range map[string]struct {
		votes []vote
		want  string
	}{
		"two people":              {[]vote{{"ada", "approve-ada", true}, {"bob", "approve-bob", true}}, "approved by ada, bob"},
		"one person, two links":   {[]vote{{"ada", "approve-ada", true}, {"Ada", "approve-bob", true}}, ""},
		"one person, two issuers": {[]vote{{"ada", "approve-ada", true}, {"corp#ada", "approve-bob", true}}, ""},
		"and then another one":    {[]vote{{"ada", "approve-ada", true}, {"ADA", "approve-bob", true}, {"eve", "approve-eve", true}}, "approved by ada, eve"},
		"one of each":             {[]vote{{"ada", "approve-ada", true}, {"bob", "approve-bob", false}}, "rejected by bob"},
		"silence":                 {nil, ""},
	} {
		r := enginetest.New(t, PaymentSpec, Approve)
		r.Start(Payment{Subject: "x", Amount: "1", Requester: "carol", Approvers: []string{"ada", "bob", "eve"}, Needed: 2})
		for _, v := range tc.votes {
			if _, err := r.TryResumeAs("carol", spec.HookID(v.hook), Decision{Approved: true, Reviewer: "ada"}); !errors.Is(err, engine.ErrSelfApproval) {
				t.Errorf("%s: who asks: %v", name, err)
			}
			r.ResumeAs(v.by, spec.HookID(v.hook), Decision{Approved: v.approved, Reviewer: "whoever"})
		}
		if tc.want == "" {
			if r.Status() != engine.StatusRunning {
				t.Errorf("%s: %s", name, r.Status())
			}
			continue
		}
		var got string
		if r.Output(&got); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
