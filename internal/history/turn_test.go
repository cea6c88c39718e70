package history

import (
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

func decide(cs ...Command) Decision { return Decision{Commands: cs} }

func wait1(id, name string) *OpenWait { return &OpenWait{ID: spec.WaitID(id), Signal: name} }

func wait1For(id, name string, d time.Duration) *OpenWait {
	return &OpenWait{ID: spec.WaitID(id), Signal: name, Timeout: &d}
}

func timerIn(id string, d time.Duration) *StartTimer {
	return &StartTimer{ID: spec.TimerID(id), In: &d}
}

func hookNamed(id string) *CreateHook {
	c := &CreateHook{ID: spec.HookID(id), Grant: TokenGrant{DigestKey: "d", MintKey: "m", Nonce: []byte("n")}}
	copy(c.Grant.Digest[:], id)
	return c
}

func hookFor(id string, d time.Duration) *CreateHook {
	c := hookNamed(id)
	c.In = &d
	return c
}

func complete(v any) *Complete { return &Complete{Output: payload(v)} }

func got(s *State, id string) (canon.Payload, bool) {
	status, p := s.Wait(id)
	return p, status == WaitDone
}

// collect consumes n signals named item, one wait after the other.
func collect(n int) author {
	return func(s *State) Decision {
		var items []string
		for i := range n {
			id := "item-" + string(rune('0'+i))
			p, ok := got(s, id)
			if !ok {
				return decide(wait1(id, "item"))
			}
			items = append(items, strings.Trim(string(p.Bytes()), `"`))
		}
		return decide(complete(strings.Join(items, "")))
	}
}

func TestTurn_opens_waits_and_pairs_in_order_of_acceptance(t *testing.T) {
	t.Parallel()
	r := newRig(t, collect(3))
	for _, id := range []string{"a", "b", "c"} {
		if _, err := r.signal(id, "item", id); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	equalStory(t, r,
		"run.started", "signal.received a", "signal.received b", "signal.received c",
		"wait.opened item-0", "wait.completed item-0<a", "wait.opened item-1", "wait.completed item-1<b",
		"wait.opened item-2", "wait.completed item-2<c", `run.completed "abc"`)
}

func anyOf(s *State) Decision {
	switch s.First("paid", "void") {
	case "paid":
		return decide(complete("paid"))
	case "void":
		return decide(complete("void"))
	}
	return decide(wait1("paid", "paid"), wait1("void", "void"))
}

func TestTurn_a_loser_never_eats_a_message(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]string{{"paid", "void"}, {"void", "paid"}} {
		r := newRig(t, anyOf)
		for _, name := range order {
			if _, err := r.signal(name, name, 1); err != nil {
				t.Fatal(err)
			}
		}
		r.settle()
		if r.run.Status != Completed || r.run.Backlog != 1 {
			t.Errorf("%v: status %s with %d unread, want completed with the loser's message unread", order, r.run.Status, r.run.Backlog)
		}
		if r.signals[spec.SignalID(order[1])].ConsumedBy != nil {
			t.Errorf("%v: the message of the losing branch was consumed", order)
		}
	}
}

func TestTurn_withdraws_what_is_no_longer_named_in_the_same_turn(t *testing.T) {
	t.Parallel()
	r := newRig(t, anyOf)
	r.settle()
	if _, err := r.signal("1", "void", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "wait.opened paid", "wait.opened void", "signal.received 1",
		"wait.completed void<1", "wait.withdrawn paid", `run.completed "void"`)
}

// rounds waits for go up to n times, a second each.
func rounds(n int) author {
	return func(s *State) Decision {
		out := ""
		for i := range n {
			id := "go-" + string(rune('0'+i))
			switch status, p := s.Wait(id); status {
			case WaitDone:
				out += string(p.Bytes())
			case WaitLate:
				out += "T"
			default:
				return decide(wait1For(id, "go", time.Second))
			}
		}
		return decide(complete(out))
	}
}

func TestTurn_C12_an_expired_wait_does_not_swallow_the_next_message(t *testing.T) {
	t.Parallel()
	r := newRig(t, rounds(4))
	r.settle()
	for range 3 {
		r.pass(time.Second)
		r.settle()
	}
	if _, err := r.signal("s", "go", 7); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if last := r.story()[len(r.events)-1]; last != `run.completed "TTT7"` {
		t.Errorf("last event %s", last)
	}
}

func TestTurn_the_acceptance_time_decides_however_late_the_turn_runs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after time.Duration
		want  string
	}{
		"before the deadline": {time.Second - time.Microsecond, `run.completed "7"`},
		"at the deadline":     {time.Second, `run.completed "T"`},
	} {
		r := newRig(t, rounds(1))
		r.settle()
		r.pass(tc.after)
		if _, err := r.signal("s", "go", 7); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Hour)
		r.settle()
		if last := r.story()[len(r.events)-1]; last != tc.want {
			t.Errorf("%s: %s, want %s", name, last, tc.want)
		}
	}
}

func TestTurn_a_wait_first_opened_takes_what_is_buffered_whatever_its_timeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		switch status, _ := s.Wait("w"); status {
		case WaitDone:
			return decide(complete("had one"))
		case WaitLate:
			return decide(complete("had none"))
		}
		return decide(wait1For("w", "go", 0))
	})
	if _, err := r.signal("s", "go", 1); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if last := r.story()[len(r.events)-1]; last != `run.completed "had one"` {
		t.Error(last)
	}
}

// reminders names the deadline in every second decision only, which withdraws it in between.
func reminders(s *State) Decision {
	if s.TimerFired("deadline") {
		return decide(complete("late"))
	}
	for i := 0; ; i++ {
		tick := "tick-" + string(rune('0'+i))
		if s.TimerFired(tick) {
			continue
		}
		if i%2 == 0 {
			return decide(timerIn(tick, time.Second))
		}
		return decide(timerIn(tick, time.Second), timerIn("deadline", 4*time.Second))
	}
}

func TestTurn_a_withdrawn_claim_keeps_its_first_deadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, reminders)
	r.settle()
	for range 8 {
		r.pass(time.Second)
		r.settle()
	}
	if r.run.Status != Completed {
		t.Fatalf("the deadline never fired:\n%s", strings.Join(r.story(), "\n"))
	}
	// First named at 1 s for 4 s, withdrawn from 2 s to 3 s and 4 s to 5 s: it ends when it is named again at 5 s.
	if r.run.ClosedAt.Sub(epoch) != 5*time.Second {
		t.Errorf("ended after %s, want 5s", r.run.ClosedAt.Sub(epoch))
	}
}

func quorum(needed int, names ...string) author {
	return func(s *State) Decision {
		var ask, rest []Command
		yes := ""
		for _, n := range names {
			switch v := s.Hook(spec.HookID(n)); v.State {
			case "", StateActive:
				ask, rest = append(ask, hookNamed(n)), append(rest, &WithdrawHook{ID: spec.HookID(n)})
			case StateResumed:
				yes += n
			}
		}
		if len(yes) >= needed {
			return decide(append(rest, complete(yes))...)
		}
		return decide(ask...)
	}
}

func TestTurn_answers_are_shown_one_by_one(t *testing.T) {
	t.Parallel()
	r := newRig(t, quorum(2, "a", "b", "c"))
	r.settle()
	for _, id := range []string{"c", "b", "a"} {
		if _, err := r.resume(id, true); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created a", "hook.created b", "hook.created c",
		"hook.resumed c", "hook.resumed b", "hook.resumed a", `run.completed "bc"`)
	if r.hooks["a"].State != StateResumed {
		t.Errorf("the answer accepted behind the cursor became %s", r.hooks["a"].State)
	}
}

func TestTurn_disposes_of_the_rest_with_its_own_cause(t *testing.T) {
	t.Parallel()
	r := newRig(t, quorum(1, "a", "b"))
	r.settle()
	if _, err := r.resume("b", true); err != nil {
		t.Fatal(err)
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created a", "hook.created b", "hook.resumed b", "hook.disposed a", `run.completed "b"`)
}

func hookOnce(s *State) Decision {
	switch v := s.Hook("approval"); v.State {
	case "", StateActive:
		return decide(hookFor("approval", time.Minute))
	default:
		return decide(complete(string(v.State)))
	}
}

func TestTurn_expires_a_hook_and_a_deadline_goes_before_a_message_of_the_same_instant(t *testing.T) {
	t.Parallel()
	r := newRig(t, hookOnce)
	r.settle()
	r.pass(time.Minute)
	if _, err := r.resume("approval", true); err == nil {
		t.Error("an answer at the deadline was accepted")
	}
	r.settle()
	equalStory(t, r, "run.started", "hook.created approval", "hook.expired approval", `run.completed "expired"`)
}

func TestTurn_an_ending_closes_hooks_with_run_ended_or_expired(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if _, ok := got(s, "stop"); ok {
			return decide(complete("done"))
		}
		return decide(hookFor("short", time.Second), hookNamed("open"), wait1("stop", "stop"))
	})
	r.settle()
	if _, err := r.signal("1", "stop", 1); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Minute)
	r.turn()
	equalStory(t, r, "run.started", "hook.created short", "hook.created open", "wait.opened stop", "signal.received 1",
		"wait.completed stop<1", "hook.closed open run_ended", "hook.expired short", `run.completed "done"`)
}

func TestTurn_a_rejected_hook_is_a_branch(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if v := s.Hook("h"); v.Rejected != nil {
			return decide(complete(string(v.Rejected.OwnerRun)))
		}
		return decide(hookNamed("h"))
	})
	r.refuse = map[spec.HookID]Rejection{"h": {Reason: RejectTaken, OwnerRun: "other"}}
	r.settle()
	equalStory(t, r, "run.started", "hook.rejected h", `run.completed "other"`)
}
