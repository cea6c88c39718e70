package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

// askedBy is a workflow with a hook that ada asks for; it goes over into a second generation before it waits.
func askedBy(generations int) workflow {
	return workflow{
		spec: spec.WorkflowSpec{Name: "asked", Version: "1", Signals: []spec.Signal{{Name: "never"}}},
		fn: func(c *engine.Context) (engine.Decision, error) {
			if c.HookState("h") == engine.Answered {
				return c.Complete(map[string]any{"by": c.HookActor("h")}), nil
			}
			if c.Generation() < generations {
				return c.Await(c.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithRequester("Ada"))), c.ContinueAsNew(nil)), nil
			}
			if c.HookState("h") == engine.None {
				return c.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithRequester("Ada"))), nil
			}
			return c.WaitForHook("h"), nil
		},
	}
}

// The ban holds by every way into the engine, on the short way of a token that was just resolved and on the long one of a
// process that knows nothing of the hook, and in the next generation.
func TestC82_the_ban_holds_on_every_way_into_the_engine(t *testing.T) {
	t.Parallel()
	for _, generations := range []int{1, 2} {
		w := askedBy(generations)
		r := newRig(t, w)
		other := r.beside(w)
		r.start(w, "run", nil)
		r.until("run", "in its last generation", func(s engine.Snapshot) bool { return s.Generation == generations && len(s.Waiting) == 1 })
		token := r.link("run", "h").Token.Reveal()
		payload := []byte(`{"approved":true}`)
		ways := map[string]func(e *engine.Engine, actor string) (engine.Receipt, error){
			"by IDs": func(e *engine.Engine, actor string) (engine.Receipt, error) {
				return e.ResumeHook(r.ctx(), engine.HookRequest{RunID: "run", HookID: "h", Payload: payload, Actor: actor})
			},
			"by token": func(e *engine.Engine, actor string) (engine.Receipt, error) {
				return e.ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: payload, Actor: actor})
			},
			"by token of the namespace": func(e *engine.Engine, actor string) (engine.Receipt, error) {
				return mustHandle(t, e).ResumeHookByToken(r.ctx(), engine.TokenRequest{Token: token, Payload: payload, Actor: actor})
			},
		}
		for name, answer := range ways {
			for _, actor := range []string{"", "ada", "Ada", "corp#ADA", "key:k1", "source:slack"} {
				for _, e := range []*engine.Engine{r.Engine, other.Engine} {
					_, err := answer(e, actor)
					if !errors.Is(err, engine.ErrSelfApproval) || engine.VerdictOf(err) != engine.VerdictDenied {
						t.Errorf("%s, %q: %v", name, actor, err)
					}
				}
			}
		}
		if types := r.types("run"); slices.Contains(types, "hook.resumed") {
			t.Fatalf("the hook was answered: %v", types)
		}
		if v := verdict(ways["by token"](other.Engine, "bob")); v != engine.VerdictAccepted {
			t.Errorf("bob: %s", v)
		}
		if out := r.completed("run"); out != `{"by":"bob"}` {
			t.Errorf("output %s", out)
		}
		if v := verdict(ways["by IDs"](r.Engine, "ada")); v != engine.VerdictDuplicate {
			t.Errorf("what is known, to ada: %s", v)
		}
		for v, err := range r.Verify(context.Background(), engine.VerifyQuery{}) {
			if err != nil || len(v.Found) > 0 {
				t.Errorf("verify: %+v %v", v.Found, err)
			}
		}
	}
}

func TestC82_the_ban_holds_in_rehearsals(t *testing.T) {
	t.Parallel()
	w := askedBy(1)
	run := enginetest.New(t, w.spec, w.fn)
	run.Start(nil)
	for _, actor := range []string{"", "ada", "corp#Ada"} {
		if _, err := run.TryResumeAs(actor, "h", true); !errors.Is(err, engine.ErrSelfApproval) {
			t.Errorf("%q: %v", actor, err)
		}
	}
	if _, err := run.TryResume("h", true); !errors.Is(err, engine.ErrSelfApproval) {
		t.Errorf("nobody known: %v", err)
	}
	if h := run.Hook("h"); h.State != "active" || h.Requester != "Ada" {
		t.Errorf("%+v", h)
	}
	run.ResumeAs("bob", "h", true)
	var out map[string]string
	if run.Output(&out); out["by"] != "bob" {
		t.Errorf("output %v", out)
	}
}

func mustHandle(t *testing.T, e *engine.Engine) *engine.Handle {
	t.Helper()
	h, err := e.Namespace(spec.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
