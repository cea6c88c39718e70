package history

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

func guardedHooks(s *State) Decision {
	return decide(wait1("stop", "stop"), hookNamed("known"), hookNamed("signed"), hookNamed("hidden"), hookNamed("g"))
}

// A token alone is not enough where the spec says so, also for a repeat; another proof is none; and by IDs none is asked.
func TestAccept_second_factor(t *testing.T) {
	t.Parallel()
	credential := spec.Proof{Factor: spec.Credential}
	signature := spec.Proof{Factor: spec.Signature, Source: "pager"}
	for _, tc := range []struct {
		hook  spec.HookID
		right spec.Proof
		wrong []spec.Proof
	}{
		{"known", credential, []spec.Proof{{}, signature, {Factor: spec.Credential, Source: "pager"}}},
		{"signed", signature, []spec.Proof{{}, credential, {Factor: spec.Signature}, {Factor: spec.Signature, Source: "other"}, {Source: "pager"}}},
	} {
		r := newRig(t, guardedHooks)
		r.settle()
		resume := func(p spec.Proof, v any) (Receipt, error) {
			return r.accept(&ResumeHook{Run: testKey, HookID: tc.hook, Payload: payload(v), ByToken: true, Proof: p})
		}
		dispose := func(p spec.Proof) (Receipt, error) {
			return r.accept(&DisposeHook{Run: testKey, HookID: tc.hook, ByToken: true, Proof: p})
		}
		wants := func(what string, err error) {
			t.Helper()
			wanted, ok := errors.AsType[*FactorError](err)
			if !ok || wanted.Requires != tc.right || wanted.Run != testKey || wanted.HookID != tc.hook {
				t.Errorf("%s, %s: %v", tc.hook, what, err)
			}
		}
		refused := func() {
			t.Helper()
			for _, p := range tc.wrong {
				_, err := resume(p, 1)
				wants("the same", err)
				_, err = resume(p, 2)
				wants("another", err)
				_, err = dispose(p)
				wants("withdrawal", err)
			}
		}
		refused()
		if receipt, err := resume(tc.right, 1); err != nil || receipt.Verdict != Accepted {
			t.Errorf("%s: %+v %v", tc.hook, receipt, err)
		}
		refused()
		if receipt, err := resume(tc.right, 1); err != nil || receipt.Verdict != Duplicate {
			t.Errorf("%s again: %+v %v", tc.hook, receipt, err)
		}
		if receipt, err := r.resume(string(tc.hook), 1); err != nil || receipt.Verdict != Duplicate {
			t.Errorf("%s by its ID: %+v %v", tc.hook, receipt, err)
		}
	}
	r := newRig(t, guardedHooks)
	r.settle()
	if _, err := r.accept(&ResumeHook{Run: testKey, HookID: "hidden", Payload: payload(1), ByToken: true}); !errors.Is(err, ErrTokenNotFound) {
		t.Errorf("an internal hook says what it requires: %v", err)
	}
	if receipt, err := r.accept(&ResumeHook{Run: testKey, HookID: "g", Payload: payload(1), ByToken: true, Proof: credential}); err != nil || receipt.Verdict != Accepted {
		t.Errorf("a proof that nobody asked for: %+v %v", receipt, err)
	}
	if receipt, err := r.accept(&DisposeHook{Run: testKey, HookID: "known", ByToken: true, Proof: credential}); err != nil || receipt.Verdict != Accepted {
		t.Errorf("a withdrawal: %+v %v", receipt, err)
	}
}
