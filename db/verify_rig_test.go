package db

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// verified runs a verification that must not fail, and adds its pages up.
func (r *acceptRig) verified(q VerifyQuery) Verified {
	r.t.Helper()
	var all Verified
	for page, err := range r.Verify(r.t.Context(), q) {
		if err != nil {
			r.t.Fatalf("verify: %v", err)
		}
		all.Runs += page.Runs
		all.Events += page.Events
		all.Differences += page.Differences
		all.Found = append(all.Found, page.Found...)
	}
	return all
}

// agrees verifies everything and wants no difference.
func (r *acceptRig) agrees() Verified {
	r.t.Helper()
	all := r.verified(VerifyQuery{})
	for _, d := range all.Found {
		r.t.Error(d)
	}
	if all.Differences != len(all.Found) {
		r.t.Errorf("%d differences", all.Differences)
	}
	return all
}

// cast is workflow code that brings each run, by its ID, to another place.
func cast(s *history.State) history.Decision {
	d := castDecision(s)
	if len(d.Commands) == 0 {
		return d
	}
	return answering(s, d.Commands...)
}

func castDecision(s *history.State) history.Decision {
	if done, _ := s.Wait("go"); done == history.WaitDone {
		return castEnding(s)
	}
	minted := &history.CreateHook{
		ID: "minted", Name: "approval",
		Grant:    history.TokenGrant{Digest: digestOf("minted-" + string(s.Key().RunID)), DigestKey: "k1", MintKey: "m1", Nonce: []byte("nonce")},
		Metadata: spec.HumanApproval("invoice 7").WithLabel("team", "ap").WithData("amount", 12.5),
	}
	soon, none := time.Hour, time.Duration(0)
	minted.In = &soon
	switch s.Key().RunID {
	case "blocked":
		return decide()
	case "asleep":
		return decide(&history.StartTimer{ID: "t", In: &soon}, wait("go"))
	case "parked":
		return decide(wait("go"))
	case "eventful", "cancelled", "elsewhere":
		late := hookOn("late", "late-"+string(s.Key().RunID)).(*history.CreateHook)
		late.In = &none
		return decide(wait("go"), minted, late, hookOn("asked", "asked-"+string(s.Key().RunID)),
			hookOn("disposable", "disposable-"+string(s.Key().RunID)), hookOn("left", "left-"+string(s.Key().RunID)))
	}
	return decide(wait("go"))
}

func castEnding(s *history.State) history.Decision {
	switch {
	case s.Key().RunID == "failed":
		return decide(&history.Fail{Message: "no"})
	case s.Key().RunID == "eventful" && s.Generation() == 1:
		return decide(&history.ContinueAsNew{Input: null})
	}
	return decide(&history.Complete{Output: null})
}

// everything is a database in which every kind of row, event and state occurs, and all agree.
func everything(t *testing.T) *acceptRig {
	t.Helper()
	r := everythingAnd(t, func(r *acceptRig) []history.Message {
		return []history.Message{
			r.update("eventful", "u1", `"result"`), r.update("eventful", "u2", `"refuse"`), r.update("eventful", "u3", `"leave"`),
			r.update("cancelled", "u1", `"leave"`),
		}
	})
	r.taskRuns()
	return r
}

// everythingButTasks is everything that there was before there were steps, children, calls and updates.
func everythingButTasks(t *testing.T) *acceptRig {
	t.Helper()
	return everythingAnd(t, func(*acceptRig) []history.Message { return nil })
}

// everythingAnd is what there was then, and what comes of other messages.
func everythingAnd(t *testing.T, others func(*acceptRig) []history.Message) *acceptRig {
	t.Helper()
	r := running(t)
	for _, id := range []string{"eventful", "cancelled", "failed", "blocked", "asleep", "parked", "pending", "done"} {
		m := r.startOf(id)
		m.Labels = spec.Labels{"team": "ap"}
		r.ok(m)
	}
	elsewhere := r.startOf("elsewhere")
	elsewhere.Run.Namespace = "other"
	r.ok(elsewhere)
	r.drain(by(cast))

	disposed := &history.DisposeHook{Run: keyOf("eventful"), HookID: "disposable", Actor: "eve", Source: "test"}
	r.ok(disposed)
	r.ok(r.resume("eventful", "minted", `"yes"`))
	for _, m := range others(r) {
		r.ok(m)
	}
	r.ok(r.signal("eventful", "s1", "1"))
	r.ok(r.signal("eventful", "s2", "2"))
	r.ok(r.signal("eventful", "s3", "3"))
	r.ok(r.signal("failed", "s1", "1"))
	r.ok(r.signal("done", "s1", "1"))
	r.drain(by(cast))
	r.ok(&history.CancelRun{Run: keyOf("cancelled"), Reason: "enough", Actor: "ada"})
	wish := r.startOf("wish")
	wish.SpecDigest = coopSpec
	r.ok(wish)
	r.drain(by(cast))
	r.ok(&history.CancelRun{Run: keyOf("wish")})
	r.ok(r.signal("pending", "s1", "1"))
	r.ok(r.startOf("fresh"))

	for id, want := range map[string]history.Status{
		"eventful": history.Completed, "cancelled": history.Cancelled, "failed": history.Failed, "blocked": history.Blocked,
		"asleep": history.Running, "wish": history.Running,
	} {
		if v := r.view(id); v.Status != want {
			t.Fatalf("run %s is %s, want %s", id, v.Status, want)
		}
	}
	return r
}
