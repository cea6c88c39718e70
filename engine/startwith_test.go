package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// basket completes with the first item that it is sent.
var basket = workflow{
	spec.WorkflowSpec{
		Name: "basket", Version: "1", Input: json.RawMessage(`{"type":["null","object"]}`),
		Signals: []spec.Signal{{Name: "item", Schema: json.RawMessage(`{"type":"integer"}`)}},
	},
	func(c *engine.Context) (engine.Decision, error) {
		n, ok, err := engine.SignalPayload[int](c, "item")
		if err != nil || !ok {
			return c.WaitForSignal("item", "item"), err
		}
		return c.Complete(n), nil
	},
}

func filled(run, id string, payload string, change ...func(*engine.StartRequest, *engine.SignalRequest)) (engine.StartRequest, engine.SignalRequest) {
	start := engine.StartRequest{Workflow: "basket", RunID: spec.RunID(run)}
	signal := engine.SignalRequest{SignalID: spec.SignalID(id), Name: "item", Payload: []byte(payload)}
	for _, f := range change {
		f(&start, &signal)
	}
	return start, signal
}

func TestSignalWithStart(t *testing.T) {
	t.Parallel()
	r := idle(t, testConfig(t, pgtest.New(t)), basket).run()
	receipt, err := r.SignalWithStart(r.ctx(), first(filled("a", "s", "1")), second(filled("a", "s", "1")))
	if err != nil || receipt.Verdict != engine.VerdictAccepted || !receipt.StartedFresh || receipt.SignalID != "s" || receipt.Sequence != 2 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	end, err := r.Wait(r.ctx(), "a")
	if err != nil || string(end.Output) != "1" {
		t.Fatalf("%s, %v", end.Output, err)
	}
	// The run ended, and everything else of the call is another: the signal's identity comes first.
	for name, change := range map[string]func(*engine.StartRequest, *engine.SignalRequest){
		"the same":         func(*engine.StartRequest, *engine.SignalRequest) {},
		"another workflow": func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Workflow = "absent" },
		"another version":  func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Version = "9" },
		"a bad input":      func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Input = []byte("3") },
		"labels":           func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Labels = spec.Labels{"k": "v"} },
	} {
		start, signal := filled("a", "s", "1.0", change)
		again, err := r.SignalWithStart(r.ctx(), start, signal)
		want := receipt
		want.Verdict, want.StartedFresh = engine.VerdictDuplicate, false
		if diff := cmp.Diff(want, again); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// other is another workflow.
var other = workflow{spec.WorkflowSpec{Name: "other", Version: "1"}, asleep}

func first[A, B any](a A, _ B) A  { return a }
func second[A, B any](_ A, b B) B { return b }

func TestSignalWithStartRefuses(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.PayloadBytes = 64
	r := idle(t, cfg, basket, other).run()
	if _, err := r.Start(r.ctx(), engine.StartRequest{Workflow: other.spec.Name, RunID: "other"}); err != nil {
		t.Fatal(err)
	}
	r.start(basket, "ended", nil)
	r.mustSend("ended", "end", "item", 1)
	r.completed("ended")
	huge := []byte(`"` + strings.Repeat("x", 64) + `"`)
	for name, c := range map[string]struct {
		run     spec.RunID
		change  func(*engine.StartRequest, *engine.SignalRequest)
		is      func(error) bool
		ofStart bool
	}{
		"no run ID":             {"", func(*engine.StartRequest, *engine.SignalRequest) {}, kind[*engine.InvalidError], true},
		"bad run ID":            {" ", func(*engine.StartRequest, *engine.SignalRequest) {}, kind[*engine.InvalidError], true},
		"no workflow":           {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Workflow = "" }, kind[*engine.InvalidError], true},
		"bad label":             {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Labels = spec.Labels{"": ""} }, kind[*engine.InvalidError], true},
		"input is no JSON":      {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Input = []byte("{") }, kind[*engine.PayloadError], true},
		"input too large":       {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Input = huge }, same(engine.ErrPayloadTooLarge), true},
		"input breaks schema":   {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Input = []byte("3") }, kind[*engine.SchemaError], true},
		"unknown workflow":      {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Workflow = "absent" }, same(engine.ErrWorkflowNotFound), true},
		"unknown version":       {"a", func(s *engine.StartRequest, _ *engine.SignalRequest) { s.Version = "9" }, same(engine.ErrWorkflowNotFound), true},
		"another run":           {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.RunID = "b" }, kind[*engine.InvalidError], false},
		"no signal ID":          {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.SignalID = "" }, kind[*engine.InvalidError], false},
		"payload is no JSON":    {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.Payload = nil }, kind[*engine.PayloadError], false},
		"payload too large":     {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.Payload = huge }, same(engine.ErrPayloadTooLarge), false},
		"payload breaks schema": {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.Payload = []byte(`"1"`) }, kind[*engine.SchemaError], false},
		"undeclared":            {"a", func(_ *engine.StartRequest, s *engine.SignalRequest) { s.Name = "absent" }, same(engine.ErrSignalUndeclared), false},
		"another workflow":      {"other", func(*engine.StartRequest, *engine.SignalRequest) {}, kind[*engine.RunConflictError], false},
		"ended":                 {"ended", func(*engine.StartRequest, *engine.SignalRequest) {}, same(engine.ErrRunEnded), false},
	} {
		start, signal := filled(string(c.run), "s", "1", c.change)
		receipt, err := r.SignalWithStart(r.ctx(), start, signal)
		if err == nil || !c.is(err) || kind[*engine.StartError](err) != c.ofStart || receipt != (engine.Receipt{}) {
			t.Errorf("%s: %+v, %v", name, receipt, err)
		}
	}
	for _, run := range []spec.RunID{"a", "b"} {
		if _, err := r.Snapshot(r.ctx(), run); !errors.Is(err, engine.ErrRunNotFound) {
			t.Errorf("a refused signal left run %q: %v", run, err)
		}
	}
}

// A schema that is tightened, or a version that is gone, refuses no retry of what was accepted, and no signal to a run that
// was started before.
func TestSignalWithStartAfterTheSpecChanged(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	old := idle(t, testConfig(t, pool), basket).run()
	start, signal := filled("a", "s", "1")
	start.Input = []byte(`{}`)
	if _, err := old.SignalWithStart(old.ctx(), start, signal); err != nil {
		t.Fatal(err)
	}
	old.start(basket, "b", nil)
	old.stop()
	tight := workflow{basket.spec, basket.fn}
	tight.spec.Version, tight.spec.Input = "2", json.RawMessage(`{"type":"object","required":["customer"]}`)
	tight.spec.Signals = []spec.Signal{{Name: "item", Schema: json.RawMessage(`{"type":"string"}`)}}
	r := idle(t, testConfig(t, pool), tight).run()
	if again, err := r.SignalWithStart(r.ctx(), start, signal); err != nil || again.Verdict != engine.VerdictDuplicate {
		t.Errorf("retry: %+v, %v", again, err)
	}
	start.RunID = "b"
	if got, err := r.SignalWithStart(r.ctx(), start, signal); err != nil || got.Verdict != engine.VerdictAccepted || got.StartedFresh {
		t.Errorf("attach: %+v, %v", got, err)
	}
	start.RunID = "c"
	if _, err := r.SignalWithStart(r.ctx(), start, signal); !kind[*engine.StartError](err) || !kind[*engine.SchemaError](err) {
		t.Errorf("fresh: %v", err)
	}
}

// Many callers at two processes that do not have the workflow's code: one starts the run, each signal is there once.
func TestManySignalsWithStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	idle(t, testConfig(t, pool), basket) // stores the spec
	doors := []*rig{idle(t, testConfig(t, pool)).run(), idle(t, testConfig(t, pool)).run()}
	type told struct {
		engine.Receipt
		err error
	}
	const callers = 24
	answers := make(chan told, 2*callers)
	for i := range callers {
		for _, id := range []string{"same", fmt.Sprint("own ", i)} {
			go func() {
				start, signal := filled("a", id, "1")
				receipt, err := doors[i%2].SignalWithStart(t.Context(), start, signal)
				answers <- told{receipt, err}
			}()
		}
	}
	fresh, accepted := 0, 0
	for range 2 * callers {
		a := <-answers
		if a.err != nil {
			t.Error(a.err)
		}
		if a.StartedFresh {
			fresh++
		}
		if a.Verdict == engine.VerdictAccepted {
			accepted++
		}
	}
	s, err := doors[0].Snapshot(t.Context(), "a")
	if err != nil || fresh != 1 || accepted != callers+1 || s.UnreadSignals != callers+1 {
		t.Errorf("%d started it, %d accepted, %d unread, %v; want 1, %d, %d", fresh, accepted, s.UnreadSignals, err, callers+1, callers+1)
	}
}

func TestUpdateWithStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, counter, other)
	with := func(run spec.RunID, id spec.UpdateID, name, payload, input string) (engine.Receipt, error) {
		return r.UpdateWithStart(r.ctx(), engine.StartRequest{Workflow: "counter", RunID: run, Input: []byte(input)},
			engine.UpdateRequest{UpdateID: id, Name: name, Payload: []byte(payload)})
	}
	first, err := with("a", "u", "add", "3", "5")
	if err != nil || !first.StartedFresh || first.UpdateID != "u" {
		t.Fatalf("%+v, %v", first, err)
	}
	if got := r.answer("a", "u"); got != "completed 8" {
		t.Error(got)
	}
	again, err := with("a", "u", "add", "3", `"another input, by now of the wrong shape"`)
	if err != nil || again.Verdict != engine.VerdictDuplicate || again.StartedFresh || again.Sequence != first.Sequence {
		t.Errorf("%+v, %v", again, err)
	}
	if next, err := with("a", "v", "add", "1", "99"); err != nil || next.StartedFresh || r.answer("a", "v") != "completed 9" {
		t.Errorf("%+v, %v", next, err)
	}
	for name, refused := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"undeclared":   {refusedBy(with("b", "u", "none", "1", "null")), same(engine.ErrUpdateUndeclared)},
		"schema":       {refusedBy(with("b", "u", "add", `"x"`, "null")), kind[*engine.SchemaError]},
		"input schema": {refusedBy(with("b", "u", "add", "1", `"x"`)), kind[*engine.StartError]},
		"no ID":        {refusedBy(with("b", "", "add", "1", "null")), kind[*engine.InvalidError]},
		"another run": {refusedBy(r.UpdateWithStart(r.ctx(), engine.StartRequest{Workflow: "counter", RunID: "b"},
			engine.UpdateRequest{RunID: "c", UpdateID: "u", Name: "add", Payload: []byte("1")})), kind[*engine.InvalidError]},
		"another workflow": {refusedBy(r.UpdateWithStart(r.ctx(), engine.StartRequest{Workflow: "other", RunID: "a"},
			engine.UpdateRequest{UpdateID: "w", Name: "add", Payload: []byte("1")})), kind[*engine.RunConflictError]},
		"no run ID": {refusedBy(with("", "u", "add", "1", "null")), kind[*engine.StartError]},
	} {
		if refused.err == nil || !refused.is(refused.err) {
			t.Errorf("%s: %v", name, refused.err)
		}
	}
	for _, run := range []spec.RunID{"b", "c"} {
		if _, err := r.Snapshot(r.ctx(), run); !errors.Is(err, engine.ErrRunNotFound) {
			t.Errorf("a refused update left run %q: %v", run, err)
		}
	}
}
