package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

func TestContextShowsTheRun(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type view struct {
		RunID      spec.RunID
		Namespace  spec.Namespace
		Workflow   string
		Version    string
		Generation int
		Input      json.RawMessage
		StartedAt  time.Time
		Now        time.Time
		Length     int64
		Cancel     bool
	}
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		if c.Generation() == 1 {
			if !c.TimerFired("t") {
				return c.Sleep("t", time.Minute), nil
			}
			return c.ContinueAsNew(map[string]int{"n": 2}), nil
		}
		return c.Complete(view{
			c.RunID(), c.Namespace(), c.Workflow(), c.Version(), c.Generation(), c.Input(), c.StartedAt(), c.Now(),
			c.HistoryLength(), c.CancelRequested(),
		}), nil
	}, enginetest.RunID("invoice-17"), enginetest.At(began))
	run.Start(nil)
	run.Advance(time.Hour)
	var got view
	run.Output(&got)
	want := view{
		"invoice-17", "default", "test.flow", "1", 2, json.RawMessage(`{"n":2}`), began, began.Add(time.Minute), 1, false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHookStates(t *testing.T) {
	t.Parallel()
	ids := []string{"none", "open", "answered", "disposed", "expired", "taken", "late"}
	token := strings.Repeat("t", 30)
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		if !c.TimerFired("end") {
			return c.Await(
				c.CreateHook("open"), c.CreateHook("answered"), c.CreateHook("disposed"),
				c.CreateHook("expired", engine.ExpiresIn(time.Second)),
				c.CreateHook("late", engine.ExpiresAt(c.StartedAt().Add(time.Minute))),
				c.CreateHook("owner", engine.Token(token)), c.CreateHook("taken", engine.Token(token)),
				c.Timer("end", 30*time.Second),
			), nil
		}
		states := map[string]engine.HookState{}
		for _, id := range ids {
			states[id] = c.HookState(id)
		}
		rejection, _ := c.HookRejected("taken")
		answer, ok, err := engine.HookPayload[string](c, "answered")
		if err != nil {
			return engine.Decision{}, err
		}
		_, open, _ := engine.HookPayload[string](c, "open")
		return c.Complete([]any{
			states, rejection.Reason, rejection.OwnerRun, answer, ok, open,
			c.HookDisposed("disposed"), c.HookExpired("expired"), c.First("disposed", "answered", "open"),
		}), nil
	})
	run.Start(nil)
	run.Resume("answered", "yes")
	run.Dispose("disposed")
	run.Advance(time.Minute)
	want := `[{"answered":"answered","disposed":"disposed","expired":"expired","late":"open","none":"none","open":"open",` +
		`"taken":"rejected"},"taken","run","yes",true,false,true,true,"answered"]`
	if got := string(run.Result()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := run.Hook("open").State; got != "run_ended" {
		t.Errorf("the open hook closed as %q", got)
	}
	if trace := strings.Join(run.Events(), "\n"); strings.Contains(trace, token) {
		t.Error("the token is in the history")
	}
}

func TestMetadataIsACopy(t *testing.T) {
	t.Parallel()
	shared := map[string]any{"amount": 1}
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		d := c.CreateHook("h", engine.Metadata(spec.HookMetadata{Kind: "k", Data: shared}))
		shared["amount"] = func() {} // no JSON form: would fail the commit
		defer func() { shared["amount"] = 1 }()
		return d, nil
	})
	run.Start(nil)
	if diff := cmp.Diff(map[string]any{"amount": 1.0}, run.Hook("h").Data); diff != "" {
		t.Error(diff)
	}
}

func TestSignalsPeeksWithoutConsuming(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		if _, ok, err := engine.SignalPayload[any](c, "end"); err != nil || !ok {
			return c.WaitForSignal("end", "stop"), err
		}
		var seen []string
		for _, s := range c.Signals("go") {
			seen = append(seen, string(s.ID)+"="+string(s.Payload))
		}
		return c.Complete(seen), nil
	})
	run.Start(nil)
	run.SignalAs("b", "go", 2)
	run.SignalAs("a", "go", 1)
	run.Signal("stop", nil)
	if got := string(run.Result()); got != `["b=2","a=1"]` {
		t.Errorf("peeked %s", got)
	}
	if got := run.Receipt("a").State; got != engine.SignalUnread {
		t.Errorf("a peeked signal is %q", got)
	}
}

func TestIDIsPerRound(t *testing.T) {
	t.Parallel()
	if got := engine.ID("item", 3); got != "item-3" {
		t.Errorf("got %q", got)
	}
}
