package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Duplicates, conflicts, identities.

type vote struct {
	Approve bool   `json:"approve"`
	By      string `json:"by"`
}

// ask creates one hook and tells its answer.
var ask = workflow{
	spec.WorkflowSpec{Name: "ask", Version: "1", Hooks: []spec.Hook{
		{Name: "open", DisposableByToken: true}, {Name: "inside", Audience: spec.Internal},
	}},
	func(c *engine.Context) (engine.Decision, error) {
		name, err := engine.Input[string](c)
		if err != nil {
			return engine.Decision{}, err
		}
		switch c.HookState("h") {
		case engine.None, engine.Open:
			if name == "" {
				return c.CreateHook("h"), nil
			}
			return c.CreateHook("h", engine.As(name)), nil
		case engine.Answered:
			v, _, err := engine.HookPayload[any](c, "h")
			if err != nil {
				return engine.Decision{}, err
			}
			return c.Complete(v), nil
		default:
			return c.Complete(c.HookState("h")), nil
		}
	},
}

func TestC30_OneOfFiftyEqualCallbacksIsFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, ask)
	other := r.beside(ask)
	r.start(ask, "run", "")
	r.waiting("run", "h")
	token := r.link("run", "h").Token.Reveal()
	var accepted, duplicate atomic.Int64
	parallel(50, func(i int) {
		switch v := verdict([]*rig{r, other}[i%2].callback(token, vote{true, "ada"})); v {
		case engine.VerdictAccepted:
			accepted.Add(1)
		case engine.VerdictDuplicate:
			duplicate.Add(1)
		default:
			t.Errorf("callback %d: %s", i, v)
		}
	})
	if accepted.Load() != 1 || duplicate.Load() != 49 {
		t.Errorf("%d accepted, %d duplicates", accepted.Load(), duplicate.Load())
	}
	r.completed("run")
	if diff := cmp.Diff([]string{"run.started", "hook.created", "hook.resumed", "run.completed"}, dropTaken(r.types("run"))); diff != "" {
		t.Errorf("the run went on more than once:\n%s", diff)
	}
}

func dropTaken(types []string) []string {
	var kept []string
	for _, kind := range types {
		if kind != "facts.taken" {
			kept = append(kept, kind)
		}
	}
	return kept
}

func TestC31_SecondCallbackIsDuplicateOrConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t, ask)
	r.start(ask, "run", "")
	r.waiting("run", "h")
	token := r.link("run", "h").Token.Reveal()
	first, err := r.callback(token, vote{true, "ada"})
	if err != nil {
		t.Fatal(err)
	}
	r.completed("run")
	again, err := r.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: []byte(`{"by":"\u0061da", "approve":true}`)})
	first.Verdict = engine.VerdictDuplicate
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	var conflict *engine.HookConflictError
	if _, err := r.callback(token, vote{false, "ada"}); !errors.As(err, &conflict) || !cmp.Equal(conflict.Differs, []string{"payload"}) {
		t.Errorf("another payload: %v", err)
	}
}

func TestC32_OneOfTwoOppositeDecisionsStands(t *testing.T) {
	t.Parallel()
	r := newRig(t, ask)
	for n := range 20 {
		run := spec.RunID(engine.ID("run", n))
		r.start(ask, run, "")
		r.waiting(run, "h")
		votes := []vote{{true, "ada"}, {false, "eve"}}
		var verdicts [2]engine.Verdict
		parallel(2, func(i int) { verdicts[i] = verdict(r.resume(run, "h", votes[i])) })
		winner := 0
		if verdicts[0] == engine.VerdictConflict {
			winner = 1
		}
		if verdicts[winner] != engine.VerdictAccepted || verdicts[1-winner] != engine.VerdictConflict {
			t.Fatalf("verdicts %v", verdicts)
		}
		if out := r.completed(run); out != string(encode(t, map[string]any{"approve": votes[winner].Approve, "by": votes[winner].By})) {
			t.Errorf("winner %d, output %s", winner, out)
		}
	}
}

func TestC34_KeyIsRecordedWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, roller)
	gate := r.beside()
	gate.start(roller, "run", entity{Of: 2})
	if v := verdict(gate.send("run", "key", "item", 1)); v != engine.VerdictAccepted {
		t.Fatal(v)
	}
	for range 3 {
		if v := verdict(gate.send("run", "key", "item", 1)); v != engine.VerdictDuplicate {
			t.Errorf("retry: %s", v)
		}
	}
	r.until("run", "in generation 2", func(s engine.Snapshot) bool { return s.Generation == 2 && len(s.Waiting) == 1 })
	if v := verdict(r.send("run", "key", "item", 1)); v != engine.VerdictDuplicate {
		t.Errorf("retry while a later wait is open: %s", v)
	}
	r.mustSend("run", "other", "item", 2)
	if out := r.completed("run"); out != "[1,2]" {
		t.Errorf("delivered more than once: %s", out)
	}
}

func TestC38_EmptyIdentityIsInvalid(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	for _, id := range []spec.SignalID{"", " ", "\t", "a ", "\x00", "\xff"} {
		var invalid *engine.InvalidError
		if _, err := r.send("run", id, "hello", "x"); !errors.As(err, &invalid) || invalid.Field != "signal_id" {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := r.resume("run", spec.HookID(id), "x"); !errors.As(err, &invalid) || invalid.Field != "hook_id" {
			t.Errorf("hook %q: %v", id, err)
		}
		if id == "" {
			continue // Start makes a name
		}
		if _, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "greet", RunID: spec.RunID(id)}); !errors.As(err, &invalid) {
			t.Errorf("run %q: %v", id, err)
		}
	}
}

func TestC41_AnswerIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "two-prompts", Version: "1", Signals: []spec.Signal{{Name: "poke"}}},
		func(c *engine.Context) (engine.Decision, error) {
			for _, id := range []string{"first", "second"} {
				if c.HookState(id) != engine.Answered {
					return c.CreateHook(id), nil
				}
			}
			v, _, err := engine.HookPayload[string](c, "second")
			return c.Complete(v), err
		},
	}
	r := newRig(t, w)
	r.start(w, "run", nil)
	r.waiting("run", "first")
	if _, err := r.resume("run", "first", "one"); err != nil {
		t.Fatal(err)
	}
	r.waiting("run", "second")
	for i := range 3 { // wake-ups that bring nothing
		r.Nudge()
		r.mustSend("run", spec.SignalID(engine.ID("poke", i)), "poke", nil)
	}
	again := r.beside(w)
	r.stop()
	again.mustSend("run", "last", "poke", nil)
	again.until("run", "quiet", func(s engine.Snapshot) bool { return s.UnreadSignals == 4 })
	again.waiting("run", "second")
	if _, err := again.resume("run", "second", "two"); err != nil {
		t.Fatal(err)
	}
	if out := again.completed("run"); out != `"two"` {
		t.Errorf("output %s", out)
	}
}

func TestTokensOfDifferentAudiences(t *testing.T) {
	t.Parallel()
	r := newRig(t, ask)
	for run, name := range map[spec.RunID]string{"public": "", "inside": "inside", "open": "open"} {
		r.start(ask, run, name)
		r.waiting(run, "h")
	}
	inside := r.link("inside", "h").Token.Reveal()
	unknown := ringWith(t, "k2", "x").Mint(tokens.Binding{}, tokens.Nonce{}).Token.Reveal()
	texts := map[string]bool{}
	for _, token := range []string{inside, unknown, "", "x", inside + "a", inside[:len(inside)-1], "host-token-nobody-has-0123"} {
		_, err := r.callback(token, 1)
		if !errors.Is(err, engine.ErrTokenNotFound) {
			t.Errorf("callback: %v", err)
			continue
		}
		texts[err.Error()] = true
		if _, err := r.DisposeHookByToken(r.ctx(), engine.TokenRequest{Token: token}); !errors.Is(err, engine.ErrTokenNotFound) {
			t.Errorf("dispose: %v", err)
		}
	}
	if len(texts) != 1 {
		t.Errorf("unknown tokens can be told apart: %v", texts)
	}
	if _, err := r.DisposeHookByToken(r.ctx(), engine.TokenRequest{Token: r.link("public", "h").Token.Reveal()}); !errors.Is(err, engine.ErrDisposeForbidden) {
		t.Errorf("dispose by token where it is not allowed: %v", err)
	}
	open := r.link("open", "h").Token.Reveal()
	for _, want := range []engine.Verdict{engine.VerdictAccepted, engine.VerdictDuplicate} {
		if v := verdict(r.DisposeHookByToken(r.ctx(), engine.TokenRequest{Token: open})); v != want {
			t.Errorf("dispose by token: %s", v)
		}
	}
	if v := verdict(r.callback(open, 1)); v != engine.VerdictGone {
		t.Errorf("callback to a withdrawn hook: %s", v)
	}

	// An authorised caller of the namespace may, one of another may not.
	foreign, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: inside, Payload: []byte("1")}); !errors.Is(err, engine.ErrTokenNotFound) {
		t.Errorf("another namespace: %v", err)
	}
	own, err := r.Namespace(spec.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	if v := verdict(own.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: inside, Payload: []byte("1")})); v != engine.VerdictAccepted {
		t.Errorf("the own namespace: %s", v)
	}
	if v := verdict(own.DisposeHookByToken(r.ctx(), engine.TokenRequest{Token: r.link("public", "h").Token.Reveal()})); v != engine.VerdictAccepted {
		t.Errorf("dispose by an authorised caller: %s", v)
	}
}

func TestNamespacesNeverMeet(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	other, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	r.start(greet, "run", 1)
	if _, err := other.Snapshot(r.ctx(), "run"); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("snapshot: %v", err)
	}
	if s, err := other.Start(r.ctx(), engine.StartRequest{Workflow: "greet", RunID: "run", Input: []byte("2")}); err != nil || s.Verdict != engine.VerdictAccepted {
		t.Errorf("the same name in another namespace: %+v, %v", s, err)
	}
	if _, err := other.SendSignal(r.ctx(), engine.SignalRequest{RunID: "run", SignalID: "s", Name: "hello", Payload: []byte(`"there"`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := other.Wait(r.ctx(), "run"); err != nil || string(s.Output) != `"there"` {
		t.Errorf("the other run: %+v, %v", s, err)
	}
	if s := r.snapshot("run"); s.Status != engine.StatusRunning {
		t.Errorf("the own run is %s", s.Status)
	}
	if _, err := r.Namespace(""); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("empty namespace: %v", err)
	}
	page, err := other.ListRuns(r.ctx(), engine.RunQuery{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Status != engine.StatusCompleted {
		t.Errorf("runs of the other namespace: %+v, %v", page, err)
	}
}

func TestHookExpires(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "expiring", Version: "1"},
		func(c *engine.Context) (engine.Decision, error) {
			switch c.HookState("h") {
			case engine.None, engine.Open:
				return c.CreateHook("h", engine.ExpiresIn(50*time.Millisecond)), nil
			default:
				return c.Complete(c.HookState("h")), nil
			}
		},
	}
	r := newRig(t, w)
	r.start(w, "run", nil)
	if out := r.completed("run"); out != `"expired"` {
		t.Errorf("output %s", out)
	}
	var closed *engine.HookClosedError
	if _, err := r.resume("run", "h", 1); !errors.As(err, &closed) || closed.Cause != "expired" {
		t.Errorf("a late answer: %v", err)
	}
	if _, err := r.HookLink(r.ctx(), "run", "h"); !errors.As(err, &closed) || closed.Cause != "expired" {
		t.Errorf("a late link: %v", err)
	}
}
