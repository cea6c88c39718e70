package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// counter adds what it is told by updates, from its input on. A timer is open all the time.
var counter = workflow{
	spec.WorkflowSpec{
		Name: "counter", Version: "1", Input: json.RawMessage(`{"type":["null","integer"]}`),
		Signals: []spec.Signal{{Name: "do"}, {Name: "note"}},
		Updates: []spec.Update{
			{Name: "add", Args: json.RawMessage(`{"type":"integer"}`), Response: json.RawMessage(`{"type":"integer","maximum":1000}`)},
			{Name: "hold"},
		},
	},
	count,
}

func count(c *engine.Context) (engine.Decision, error) {
	total, err := engine.Input[int](c)
	if err != nil {
		return engine.Decision{}, err
	}
	for _, u := range c.CompletedUpdates("add") {
		n, err := engine.UpdateArg[int](u)
		if err != nil {
			return engine.Decision{}, err
		}
		if total += n; string(u.Result) != fmt.Sprint(total) {
			return engine.Decision{}, errors.New("the results are not those of the arguments")
		}
	}
	var all []engine.Decision
	for _, u := range c.Updates("add") {
		n, err := engine.UpdateArg[int](u)
		switch {
		case err != nil:
			return engine.Decision{}, err
		case n < 0:
			all = append(all, c.RejectUpdate(u.ID, fmt.Errorf("%d is less than nothing", n)))
		default:
			total += n
			all = append(all, c.CompleteUpdate(u.ID, total))
		}
	}
	what, _, err := engine.SignalPayload[string](c, "do")
	if err != nil {
		return engine.Decision{}, err
	}
	switch what {
	case "complete":
		return c.Await(append(all, c.Complete(total))...), nil
	case "fail":
		return c.Await(append(all, c.Fail(errors.New("no more")))...), nil
	case "continue":
		return c.Await(append(all, c.ContinueAsNew(total))...), nil
	}
	return c.Await(append(all, c.WaitForUpdate("add"), c.WaitForSignal("do", "do"), c.Timer("t", time.Hour))...), nil
}

func (r *rig) update(run spec.RunID, id spec.UpdateID, name string, payload any) (engine.Receipt, error) {
	r.t.Helper()
	return r.SendUpdate(r.ctx(), engine.UpdateRequest{RunID: run, UpdateID: id, Name: name, Payload: encode(r.t, payload)})
}

func (r *rig) mustUpdate(run spec.RunID, id spec.UpdateID, name string, payload any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.update(run, id, name, payload)
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt
}

// answer waits for the end of an update, in a word.
func (r *rig) answer(run spec.RunID, id spec.UpdateID) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx(), patience)
	defer cancel()
	return answerWord(r.WaitUpdate(ctx, run, id))
}

func answerWord(u engine.UpdateResult, err error) string {
	rejected, _ := errors.AsType[*engine.UpdateRejectedError](err)
	orphaned, _ := errors.AsType[*engine.UpdateOrphanedError](err)
	switch {
	case rejected != nil:
		return string(u.State) + ": " + rejected.Reason
	case orphaned != nil:
		return fmt.Sprintf("%s: %s", u.State, orphaned.Cause)
	case err != nil:
		return err.Error()
	}
	return string(u.State) + " " + string(u.Result)
}

func TestUpdate_is_answered_once(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter)
	r.start(counter, "a", 5)
	first := r.mustUpdate("a", "u1", "add", 3)
	if first.Verdict != engine.VerdictAccepted || first.UpdateID != "u1" || first.Run.RunID != "a" {
		t.Errorf("%+v", first)
	}
	check := func() {
		t.Helper()
		if got := r.answer("a", "u1"); got != "completed 8" {
			t.Errorf("u1: %s", got)
		}
		again := r.mustUpdate("a", "u1", "add", json.RawMessage("3.0"))
		want := first
		want.Verdict = engine.VerdictDuplicate
		if again != want {
			t.Errorf("again: %+v", again)
		}
		for _, other := range []func() error{
			func() error { _, err := r.update("a", "u1", "add", 4); return err },
			func() error { _, err := r.update("a", "u1", "hold", 3); return err },
		} {
			if err := other(); engine.VerdictOf(err) != engine.VerdictConflict || !kind[*engine.UpdateConflictError](err) {
				t.Errorf("another content: %v", err)
			}
		}
	}
	check()
	r.mustUpdate("a", "u2", "add", -1)
	if got := r.answer("a", "u2"); got != "rejected: -1 is less than nothing" {
		t.Errorf("u2: %s", got)
	}
	r.mustUpdate("a", "u3", "add", 2)
	if got := r.answer("a", "u3"); got != "completed 10" {
		t.Errorf("u3: %s", got)
	}
	r.mustSend("a", "roll", "do", "continue")
	r.until("a", "in its second generation", func(s engine.Snapshot) bool { return s.Generation == 2 })
	check()
	r.mustUpdate("a", "u4", "add", 1)
	if got := r.answer("a", "u4"); got != "completed 11" {
		t.Errorf("u4: %s", got)
	}
	r.mustSend("a", "end", "do", "complete")
	if got := r.completed("a"); got != "11" {
		t.Errorf("output %s", got)
	}
	check()
	u, err := r.UpdateResult(r.ctx(), "a", "u1")
	want := engine.UpdateResult{
		RunID: "a", UpdateID: "u1", Name: "add", Sequence: first.Sequence, ReceivedAt: first.ReceivedAt, State: engine.UpdateCompleted,
		ResolvedAt: u.ResolvedAt, Result: json.RawMessage("8"),
	}
	if diff := cmp.Diff(want, u); err != nil || diff != "" || u.ResolvedAt == nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestUpdate_refuses(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.PayloadBytes, cfg.Limits.OpenUpdates = 64, 1
	r := idle(t, cfg, counter).run()
	r.start(counter, "a", nil)
	r.waiting("a", "do", "t")
	before := len(r.events("a"))
	send := func(req engine.UpdateRequest) error { _, err := r.SendUpdate(r.ctx(), req); return err }
	other, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"no run ID":        {send(engine.UpdateRequest{UpdateID: "u", Name: "add", Payload: []byte("1")}), kind[*engine.InvalidError]},
		"no update ID":     {send(engine.UpdateRequest{RunID: "a", Name: "add", Payload: []byte("1")}), kind[*engine.InvalidError]},
		"long update ID":   {send(engine.UpdateRequest{RunID: "a", UpdateID: spec.UpdateID(strings.Repeat("x", 256)), Name: "add", Payload: []byte("1")}), kind[*engine.InvalidError]},
		"no name":          {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Payload: []byte("1")}), kind[*engine.InvalidError]},
		"long source":      {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add", Payload: []byte("1"), Source: strings.Repeat("x", 256)}), kind[*engine.InvalidError]},
		"no payload":       {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add"}), kind[*engine.PayloadError]},
		"not JSON":         {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add", Payload: []byte("{")}), kind[*engine.PayloadError]},
		"too large":        {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add", Payload: encode(t, strings.Repeat("x", 64))}), same(engine.ErrPayloadTooLarge)},
		"unknown run":      {send(engine.UpdateRequest{RunID: "b", UpdateID: "u", Name: "add", Payload: []byte("1")}), same(engine.ErrRunNotFound)},
		"undeclared":       {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "none", Payload: []byte("1")}), same(engine.ErrUpdateUndeclared)},
		"name of a signal": {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "note", Payload: []byte("1")}), same(engine.ErrUpdateUndeclared)},
		"schema":           {send(engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add", Payload: []byte(`"1"`)}), kind[*engine.SchemaError]},
		"foreign":          {refusedBy(other.SendUpdate(r.ctx(), engine.UpdateRequest{RunID: "a", UpdateID: "u", Name: "add", Payload: []byte("1")})), same(engine.ErrRunNotFound)},
		"no such update":   {refusedBy(r.UpdateResult(r.ctx(), "a", "u")), same(engine.ErrUpdateNotFound)},
		"no such run":      {refusedBy(r.UpdateResult(r.ctx(), "b", "u")), same(engine.ErrRunNotFound)},
		"foreign run":      {refusedBy(other.UpdateResult(r.ctx(), "a", "u")), same(engine.ErrRunNotFound)},
		"bad ID":           {refusedBy(r.UpdateResult(r.ctx(), "a", " ")), kind[*engine.InvalidError]},
		"nothing to await": {refusedBy(r.WaitUpdate(r.ctx(), "a", "u")), same(engine.ErrUpdateNotFound)},
	} {
		if c.err == nil || !c.is(c.err) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if after := len(r.events("a")); after != before {
		t.Errorf("refused updates left %d events", after-before)
	}
	r.mustUpdate("a", "u", "hold", 1)
	if _, err := r.update("a", "v", "hold", 1); !errors.Is(err, engine.ErrBacklogFull) {
		t.Errorf("one too many: %v", err)
	}
	if r.Stats().Waiters != 0 {
		t.Errorf("%d waiters are left", r.Stats().Waiters)
	}
}

// The end of a run tells every caller that waits at once, whatever ended it.
func TestUpdate_is_orphaned_promptly(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter)
	for end, want := range map[spec.RunID]string{
		"complete": "orphaned: run_ended", "fail": "orphaned: run_ended", "cancel": "orphaned: cancelled", "terminate": "orphaned: cancelled",
	} {
		r.start(counter, end, nil)
		r.waiting(end, "do", "t")
		r.mustUpdate(end, "u", "hold", 1)
		answer := make(chan string)
		before := r.Stats().Waiters
		go func() { answer <- r.answer(end, "u") }()
		r.until(end, "waited for", func(engine.Snapshot) bool { return r.Stats().Waiters > before })
		var err error
		switch end {
		case "cancel":
			_, err = r.Cancel(r.ctx(), engine.CancelRequest{RunID: end})
		case "terminate":
			_, err = r.Terminate(r.ctx(), engine.CancelRequest{RunID: end})
		default:
			r.mustSend(end, "end", "do", string(end))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := <-answer; got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
		if got := r.mustUpdate(end, "u", "hold", 1); got.Verdict != engine.VerdictDuplicate {
			t.Errorf("%s, again: %+v", end, got)
		}
		if _, err := r.update(end, "v", "hold", 1); !errors.Is(err, engine.ErrRunEnded) {
			t.Errorf("%s, another: %v", end, err)
		}
	}
}

// A result that callers were not promised is no answer to them: the run is blocked, and answers after a fixed deploy.
func TestUpdate_result_breaks_its_schema(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	broken := workflow{counter.spec, func(c *engine.Context) (engine.Decision, error) {
		for _, u := range c.Updates("add") {
			return c.Await(c.CompleteUpdate(u.ID, "secret-of-the-payload"), c.WaitForUpdate("add")), nil
		}
		return c.WaitForUpdate("add"), nil
	}}
	r := idle(t, testConfig(t, pool), broken).run()
	r.start(counter, "a", nil)
	r.mustUpdate("a", "u", "add", 1)
	s := r.blocked("a")
	if !strings.Contains(s.BlockedReason, `response schema of update "add"`) || strings.Contains(s.BlockedReason, "secret-of") {
		t.Errorf("blocked: %s", s.BlockedReason)
	}
	if u, err := r.UpdateResult(r.ctx(), "a", "u"); err != nil || u.State != engine.UpdateOpen {
		t.Errorf("%+v, %v", u, err)
	}
	r.stop()
	fixed := idle(t, testConfig(t, pool), counter).run()
	if got := fixed.answer("a", "u"); got != "completed 1" {
		t.Error(got)
	}
}

func TestUpdate_decisions_with_bad_arguments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		decide func(c *engine.Context) engine.Decision
		says   string
	}{
		"no JSON":         {func(c *engine.Context) engine.Decision { return c.CompleteUpdate("u", make(chan int)) }, `CompleteUpdate("u"): values of type chan int`},
		"nil error":       {func(c *engine.Context) engine.Decision { return c.RejectUpdate("u", nil) }, `RejectUpdate("u"): the error must not be nil`},
		"unknown":         {func(c *engine.Context) engine.Decision { return c.CompleteUpdate("v", 1) }, `update "v"`},
		"empty":           {func(c *engine.Context) engine.Decision { return c.RejectUpdate("", errors.New("x")) }, "bad ID"},
		"undeclared wait": {func(c *engine.Context) engine.Decision { return c.WaitForUpdate("do") }, `WaitForUpdate("do")`},
		"nothing left": {func(c *engine.Context) engine.Decision {
			if len(c.Updates("add")) == 0 {
				return c.WaitForUpdate("add")
			}
			return c.CompleteUpdate("u", 1)
		}, "no_progress"},
	} {
		w := workflow{counter.spec, func(c *engine.Context) (engine.Decision, error) { return tc.decide(c), nil }}
		r := newRig(t, w)
		r.start(w, "a", nil)
		r.mustUpdate("a", "u", "add", 1)
		if s := r.blocked("a"); !strings.Contains(s.BlockedReason, tc.says) {
			t.Errorf("%s: %s", name, s.BlockedReason)
		}
		r.stop()
	}
}

// Queries see updates as soon as they are accepted, and results as soon as they are given.
func TestQuery_sees_updates(t *testing.T) {
	t.Parallel()
	s := counter.spec
	s.Queries = []spec.Query{{Name: "updates"}}
	r := idle(t, testConfig(t, pgtest.New(t)))
	err := r.Register(s, count, engine.OnQuery("updates", func(q *engine.QueryContext) (any, error) {
		seen := []string{}
		for _, u := range q.CompletedUpdates("add") {
			seen = append(seen, fmt.Sprintf("%s %s=%s", u.ID, u.Arg, u.Result))
		}
		for _, u := range slices.Concat(q.Updates("add"), q.Updates("hold")) {
			seen = append(seen, fmt.Sprintf("%s %s by %s through %s", u.ID, u.Arg, u.Actor, u.Source))
		}
		return seen, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	r.run()
	r.start(workflow{s, count}, "a", nil)
	r.mustUpdate("a", "u1", "add", 3)
	r.answer("a", "u1")
	if _, err := r.SendUpdate(r.ctx(), engine.UpdateRequest{RunID: "a", UpdateID: "u2", Name: "hold", Payload: []byte(`[1]`), Source: "test", Actor: "ada"}); err != nil {
		t.Fatal(err)
	}
	got, err := r.Query(r.ctx(), "a", "updates", nil)
	if want := `["u1 3=3","u2 [1] by ada through test"]`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
