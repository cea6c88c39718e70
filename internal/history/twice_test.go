package history

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// hostHook is a hook with a host-supplied token, which has these digests under two keys.
func hostHook(id string, token byte) *CreateHook {
	return &CreateHook{
		ID: spec.HookID(id), Grant: TokenGrant{Digest: TokenDigest{token, 1}, DigestKey: "k1"},
		HostDigests: []TokenDigest{{token, 1}, {token, 2}},
	}
}

func TestTurn_an_ID_may_be_named_twice_alike(t *testing.T) {
	t.Parallel()
	again := epoch.Add(time.Hour).In(time.FixedZone("elsewhere", 3600))
	r := newRig(t, func(*State) Decision {
		return decide(
			wait1For("w", "go", time.Second), wait1For("w", "go", time.Second), hookUntil("h", time.Hour),
			&CreateHook{ID: "h", Name: "h", At: &again, Grant: TokenGrant{MintKey: "m", Nonce: []byte("another")}},
			&WaitHook{ID: "h"}, timerIn("t", time.Minute), timerIn("t", time.Minute), hostHook("i", 1), hostHook("i", 1),
		)
	})
	r.settle()
	equalStory(t, r, "run.started", "wait.opened w", "hook.created h", "timer.started t", "hook.created i")
}

// A run that claims one token for two hooks has it for the first; the other is told at once, whatever key either stands
// under, and both keep what they were told.
func TestTurn_a_token_is_taken_by_another_hook_of_the_run(t *testing.T) {
	t.Parallel()
	seen := map[spec.HookID]Rejection{}
	r := newRig(t, func(s *State) Decision {
		for _, id := range []spec.HookID{"b", "c"} {
			if v := s.Hook(id); v.Rejected != nil {
				seen[id] = *v.Rejected
			}
		}
		if len(s.Peek("more")) == 0 {
			return decide(hostHook("a", 7), hostHook("b", 7), wait1("end", "end"))
		}
		turned := hostHook("c", 7) // of a process with another current key
		turned.Grant.Digest, turned.Grant.DigestKey = turned.HostDigests[1], "k2"
		turned.HostDigests = []TokenDigest{turned.HostDigests[1], turned.HostDigests[0]}
		return decide(turned, hostHook("d", 8), wait1("end", "end"))
	})
	r.settle()
	sending("m", "more")(r)
	r.settle()
	equalStory(t, r, "run.started", "hook.created a", "hook.rejected b", "wait.opened end", "signal.received m",
		"hook.rejected c", "hook.created d")
	want := Rejection{Reason: RejectTaken, OwnerRun: testKey.RunID}
	if seen["b"] != want || seen["c"] != want {
		t.Errorf("told %+v", seen)
	}
}
