package db

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// opens opens a hook and, when it is rejected, completes with the words of the rejection.
func opens(id, token string) author {
	return func(s *history.State) history.Decision {
		if h := s.Hook(spec.HookID(id)); h.Rejected != nil {
			return decide(&history.Fail{Message: fmt.Sprintf("%s by %q", h.Rejected.Reason, h.Rejected.OwnerRun)})
		}
		return decide(hookOn(id, token))
	}
}

func TestHookIsStoredAndResumed(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	code := func(s *history.State) history.Decision {
		if h := s.Hook("h"); h.State == history.StateResumed {
			return decide(&history.Complete{Output: h.Payload})
		}
		soon := time.Hour
		h := hookOn("h", "token").(*history.CreateHook)
		h.Metadata = spec.HumanApproval("invoice 7").WithLabel("team", "ap").WithData("n", 1)
		h.In = &soon
		h.Grant.MintKey, h.Grant.Nonce = "m1", []byte("nonce")
		h.HostDigests = nil
		return decide(h)
	}
	r.advance(by(code))
	h, err := r.Hook(t.Context(), keyOf("a"), "h")
	if err != nil || h.State != history.StateActive || h.Grant.MintKey != "m1" || string(h.Grant.Nonce) != "nonce" ||
		h.Metadata.Subject != "invoice 7" || h.ExpiresAt == nil || h.Run != keyOf("a") || h.SpecDigest != plainSpec {
		t.Errorf("%+v %v", h, err)
	}
	r.folded("a")
	r.ok(r.resume("a", "h", `"yes"`))
	r.advance(by(code))
	if v := r.view("a"); v.Status != history.Completed || string(v.Output) != `"yes"` {
		t.Errorf("%+v", v)
	}
	r.folded("a")
}

// A hook that is opened and closed in one turn is stored as closed.
func TestHookClosedInItsFirstTurn(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(func(s *history.State) history.Decision {
		return decide(hookOn("h", "token"), &history.Complete{Output: null})
	}))
	if h, err := r.Hook(t.Context(), keyOf("a"), "h"); err != nil || h.State != history.StateRunEnded || h.ResolvedAt == nil {
		t.Errorf("%+v %v", h, err)
	}
	r.folded("a")
}

func TestTokenIsTakenForAllTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		namespace spec.Namespace
		want      string
	}{
		"same namespace":    {"default", `taken by "owner"`},
		"another namespace": {"other", `taken by ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t)
			r.ok(r.startOf("owner"))
			// The owner has ended: its token stays taken.
			r.advance(by(func(*history.State) history.Decision {
				return decide(hookOn("h", "token"), &history.Complete{Output: null})
			}))
			m := r.startOf("late")
			m.Run.Namespace = tt.namespace
			r.ok(m)
			var seen calls
			r.advance(seen.watch(by(opens("h", "token"))))
			v, err := r.ReadRun(t.Context(), m.Run)
			if err != nil || v.Status != history.Failed || v.Error != tt.want {
				t.Errorf("%+v %v", v, err)
			}
			if n := seen.of("late", 2); n != 2 {
				t.Errorf("decided %d times, want twice", n)
			}
			if _, err := r.Hook(t.Context(), m.Run, "h"); err == nil {
				t.Error("a refused hook is stored")
			}
			r.consistent()
		})
	}
}

// Of several claims in one transaction the earliest run in key order wins, whichever was due first. The others learn in
// the next transaction who has the token.
func TestTwoClaimsOnATokenInOneBatch(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i, id := range []string{"c", "a", "b"} {
		r.ok(r.startOf(id))
		r.due(id, time.Duration(10-i)*time.Second)
	}
	if done := r.advance(by(opens("h", "token"))); done.Claimed != 3 || done.Committed != 1 || !done.Full {
		t.Fatalf("%+v", done)
	}
	if done := r.advance(by(opens("h", "token"))); done.Claimed != 2 || done.Committed != 2 || done.Full {
		t.Fatalf("%+v", done)
	}
	if v := r.view("a"); v.Status != history.Running {
		t.Errorf("a: %+v", v)
	}
	for _, id := range []string{"b", "c"} {
		if v := r.view(id); v.Error != `taken by "a"` {
			t.Errorf("%s: %s %q", id, v.Status, v.Error)
		}
	}
	r.folded("a", "b", "c")
}

// The winner of a token is itself refused another one, and goes on without it: it keeps the first.
func TestWinnerThatLosesAnotherTokenKeepsItsOwn(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("owner"))
	r.advance(by(opens("h", "t2")))
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	both := func(s *history.State) history.Decision {
		if s.Hook("y").Rejected != nil {
			return decide(hookOn("z", "t3"))
		}
		return decide(hookOn("x", "t1"), hookOn("y", "t2"))
	}
	r.drain(only("a", both, opens("h", "t1")))
	// The turn of a opened x before y was refused, so x stays: the level-triggered decision named it first.
	if got := r.types("a", 0); got != "run.started hook.created hook.rejected hook.created" {
		t.Errorf("a: %s", got)
	}
	if v := r.view("b"); v.Error != `taken by "a"` {
		t.Errorf("b: %s %q", v.Status, v.Error)
	}
	r.folded("owner", "a", "b")
}

// The winner of a token is itself refused another one, and does not want the first any more: the loser gets it.
func TestLoserGetsWhatTheWinnerLetGo(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("owner"))
	r.advance(by(opens("h", "t2")))
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	// Opens y first, and x only if y was not refused.
	picky := func(s *history.State) history.Decision {
		if s.Hook("y").Rejected != nil {
			return decide(hookOn("z", "t3"))
		}
		return decide(hookOn("y", "t2"), wait("w"))
	}
	first := true
	a := only("a", picky, opens("h", "t1"))
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		out, fate := inner(run, s, now, rej)
		if run.Key == keyOf("a") && first { // as if the first try had wanted t1 as well
			first = false
			extra := out.NewHooks[0]
			extra.ID, extra.Grant.Digest = "x", digestOf("t1")
			out.NewHooks = append(out.NewHooks, extra)
		}
		return out, fate
	}
	r.drain(a)
	if v := r.view("b"); v.Status != history.Running {
		t.Errorf("b: %s %q", v.Status, v.Error)
	}
	if n := value[int](r, `select count(*) from hooks where hook_id = 'x'`); n != 0 {
		t.Error("a hook of the first try is stored")
	}
	r.folded("owner", "a", "b")
}

func TestHookIDOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"same", "other"} {
		r := running(t)
		r.ok(r.startOf("a"))
		r.advance(by(func(s *history.State) history.Decision {
			if s.Generation() == 1 {
				return decide(hookOn("h", "same"), &history.WithdrawHook{ID: "h"}, &history.ContinueAsNew{Input: null})
			}
			return opens("h", token)(s)
		}))
		r.drain(by(opens("h", token)))
		if v := r.view("a"); v.Error != `id_used by ""` {
			t.Errorf("token %s: %s %q", token, v.Status, v.Error)
		}
		r.folded("a")
	}
}

// A token that another hook of the same run has is taken, by that run.
func TestTokenOfAnotherHookOfTheRun(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.advance(by(opens("h", "token")))
	r.ok(r.resume("a", "h", "1"))
	r.advance(by(func(s *history.State) history.Decision {
		s.Hook("h")
		return opens("i", "token")(s)
	}))
	if v := r.view("a"); v.Error != `taken by "a"` {
		t.Errorf("%s %q", v.Status, v.Error)
	}
	r.folded("a")
}

// A run that goes on claiming taken tokens is blocked; the others of its transaction are not held up.
func TestEndlessRejections(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("owner"))
	r.advance(by(func(*history.State) history.Decision {
		var all []history.Command
		for i := range 40 {
			all = append(all, hookOn(fmt.Sprint("h", i), fmt.Sprint("t", i)))
		}
		return decide(all...)
	}))
	r.ok(r.startOf("greedy"))
	r.ok(r.startOf("z"))
	greedy := func(s *history.State) history.Decision {
		i := 0
		for s.Hook(spec.HookID(fmt.Sprint("h", i))).Rejected != nil {
			i++
		}
		return decide(hookOn(fmt.Sprint("h", i), fmt.Sprint("t", i)), hookOn("mine", "mine"))
	}
	done := r.advance(only("greedy", greedy, approval))
	if done.Committed != 1 || len(done.Failed) != 1 || done.Failed[0].Run != keyOf("greedy") {
		t.Errorf("%+v", done)
	}
	if v := r.view("greedy"); v.Status != history.Blocked || v.BlockCause != history.BlockBudget {
		t.Errorf("%+v", v)
	}
	if n := value[int](r, `select count(*) from hooks where hook_id = 'mine'`); n != 0 {
		t.Error("a hook of a turn that was given up is stored")
	}
	r.folded("owner", "greedy", "z")
}

// Many dispatchers claim the same few tokens at once: each token has one owner, nobody waits for ever, and each run
// either has its hooks or knows who has them.
func TestTokensUnderConcurrency(t *testing.T) {
	t.Parallel()
	r := running(t)
	const runs = 40
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	var group sync.WaitGroup
	a := by(nil)
	a.Limit = 3
	a.Decide = func(run history.Run, st *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		var i int
		if _, err := fmt.Sscanf(string(run.Key.RunID), "r%d", &i); err != nil {
			t.Error(err)
		}
		return decideBy(opens("h", fmt.Sprint("t", i%10)))(run, st, now, rej)
	}
	for range 4 {
		s := r.open(r.pool)
		group.Go(func() {
			for {
				done, err := s.Advance(t.Context(), a)
				if err != nil || done.Claimed == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	group.Wait()
	r.drain(a) // what was locked when the last one looked
	rejected := value[int](r, `select count(*) from events where type = 'hook.rejected'`)
	stored := value[int](r, `select count(*) from hooks`)
	if stored != 10 || stored+rejected != runs {
		t.Errorf("%d hooks and %d rejections of %d runs", stored, rejected, runs)
	}
	var names []string
	for i := range runs {
		names = append(names, fmt.Sprint("r", i))
	}
	r.folded(names...)
}

// The words of a diagnosis and of an error hold no token digest.
func TestFailuresNameNoToken(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	a := by(opens("h", "token"))
	inner := a.Decide
	a.Decide = func(run history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		out, fate := inner(run, s, now, rej)
		out.NewHooks[0].Name = "bad\x00name"
		return out, fate
	}
	done := r.advance(a)
	v := r.view("a")
	digest := digestOf("token")
	for _, text := range []string{fmt.Sprint(done.Failed), v.BlockDiagnosis} {
		if strings.Contains(text, fmt.Sprintf("%x", digest[:4])) || strings.Contains(text, "bad") || text == "" {
			t.Errorf("%q", text)
		}
	}
	if diff := cmp.Diff(history.BlockHistory, v.BlockCause); diff != "" {
		t.Error(diff)
	}
}
