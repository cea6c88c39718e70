package history

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

// Who asks does not answer, under any spelling of the name, nor does somebody nobody knows; the hook stays open for the
// others, and what is known is told to everybody.
func TestC82_who_asks_does_not_answer(t *testing.T) {
	t.Parallel()
	ask := hookNamed("h")
	ask.Metadata = spec.HumanApproval("x").WithRequester("Ada")
	r := newRig(t, func(*State) Decision { return decide(ask, wait1("stop", "stop")) })
	r.settle()
	resume := func(actor string, byToken bool, v any) (Receipt, error) {
		return r.accept(&ResumeHook{Run: testKey, HookID: "h", Payload: payload(v), ByToken: byToken, Actor: actor})
	}
	for _, actor := range []string{"", "Ada", "ada", "ADA", "corp#ada", "key:k1", "source:slack"} {
		for _, byToken := range []bool{true, false} {
			before := r.state().NextSeq()
			if _, err := resume(actor, byToken, 1); !errors.Is(err, ErrSelfApproval) {
				t.Errorf("%q by token %v: %v", actor, byToken, err)
			}
			if r.state().NextSeq() != before {
				t.Error("a refusal left an event")
			}
		}
	}
	if receipt, err := resume("bob", false, 1); err != nil || receipt.Verdict != Accepted {
		t.Fatalf("%+v %v", receipt, err)
	}
	if receipt, err := resume("ada", false, 1); err != nil || receipt.Verdict != Duplicate {
		t.Errorf("the same again: %+v %v", receipt, err)
	}
	r.settle()
	if actor := r.state().Hook("h").Actor; actor != "bob" {
		t.Errorf("answered by %q", actor)
	}
}

// A hook without a requester is answered as ever, and its actor is not shown before its answer is.
func TestHook_actor_is_shown_with_the_answer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(*State) Decision { return decide(hookNamed("g"), wait1("stop", "stop")) })
	r.settle()
	if _, err := r.accept(&ResumeHook{Run: testKey, HookID: "g", Payload: payload(1), Actor: "bob"}); err != nil {
		t.Fatal(err)
	}
	if view := r.state().Hook("g"); view.Actor != "" {
		t.Errorf("shown before the turn: %+v", view)
	}
	r.settle()
	if view := r.state().Hook("g"); view.Actor != "bob" || view.State != StateResumed {
		t.Errorf("%+v", view)
	}
}
