package main

import (
	"context"
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
	// cleo         completed: {"outcome":"onboarded"}
	// acme-leaves  completed: {"told":2,"ended":1,"none":1}
	// ada          completed: {"outcome":"cleaned up"}
	// ben          completed: {"outcome":"cleaned up"}
	// 4 signals asked for, 2 delivered, 2 refused for good
}

func leaving(t *testing.T, onboardings ...spec.RunID) *enginetest.Run {
	t.Helper()
	cancel := enginetest.New(t, CancelSpec, CancelTenant)
	cancel.Start(Leaving{Tenant: "acme", Onboardings: onboardings})
	return cancel
}

// The history in which every signal was delivered: a repeat of any turn asks for nothing more.
func TestHistory_delivered(t *testing.T) {
	cancel := leaving(t, "ada", "ben")
	asked := len(cancel.Types())
	cancel.DeliverCall("tell-1")
	cancel.DeliverCall("tell-0")
	var left Left
	if cancel.Output(&left); left != (Left{Told: 2}) {
		t.Errorf("left %+v", left)
	}
	for _, typ := range cancel.Types()[asked:] {
		if typ == "call.signal_requested" {
			t.Error("a signal was asked for again")
		}
	}
}

// The history in which the others have ended, or never began: they count as told.
func TestHistory_ended(t *testing.T) {
	cancel := leaving(t, "ada", "ben", "cleo")
	cancel.FailCall("tell-0", engine.FailedTargetEnded)
	cancel.FailCall("tell-2", engine.FailedTargetUnknown)
	cancel.DeliverCall("tell-1")
	var left Left
	if cancel.Output(&left); left != (Left{Told: 1, Ended: 1, None: 1}) {
		t.Errorf("left %+v", left)
	}
}

// A run that does not know the signal is no onboarding.
func TestHistory_refused(t *testing.T) {
	cancel := leaving(t, "ada")
	cancel.FailCall("tell-0", engine.FailedUndeclared)
	if got := cancel.Failure(); got != `call "tell-0" failed (undeclared)` {
		t.Errorf("failed with %q", got)
	}
}

// The receiver cleans up, whatever it was doing when the signal came.
func TestHistory_receiver_cleans_up(t *testing.T) {
	for name, before := range map[string]bool{"while the mailbox is made": false, "after it was made": true} {
		t.Run(name, func(t *testing.T) {
			onboarding := enginetest.New(t, OnboardingSpec, Onboard)
			onboarding.Start(nil)
			if before {
				onboarding.CompleteStep("mailbox", "ada@acme")
			}
			onboarding.Signal(TenantCancelled, "acme")
			if !before {
				onboarding.CompleteStep("mailbox", "ada@acme")
			}
			if name, input := onboarding.StepInput("remove"); name != "mailbox.remove" || string(input) != `"ada@acme"` {
				t.Errorf("asks for %s of %s", name, input)
			}
			onboarding.CompleteStep("remove", nil)
			var end Onboarded
			if onboarding.Output(&end); end.Outcome != "cleaned up" {
				t.Errorf("ended with %+v", end)
			}
		})
	}
}

// A mailbox that could not be made leaves nothing to remove, and one that was accepted is kept.
func TestHistory_receiver_has_nothing_to_clean_up(t *testing.T) {
	onboarding := enginetest.New(t, OnboardingSpec, Onboard)
	onboarding.Start(nil)
	onboarding.Signal(TenantCancelled, "acme")
	onboarding.FailStep("mailbox", "full", "no room")
	var end Onboarded
	if onboarding.Output(&end); end.Outcome != "cleaned up" {
		t.Errorf("ended with %+v", end)
	}

	kept := enginetest.New(t, OnboardingSpec, Onboard)
	kept.Start(nil)
	kept.Signal("accepted", nil)
	kept.Signal(TenantCancelled, "acme")
	kept.CompleteStep("mailbox", "ada@acme")
	if kept.Output(&end); end.Outcome != "onboarded" {
		t.Errorf("ended with %+v", end)
	}
}
