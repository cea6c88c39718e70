package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// greet waits for one signal and tells its payload.
var greet = workflow{
	spec.WorkflowSpec{
		Name: "greet", Version: "1", Description: "says what it hears",
		Signals: []spec.Signal{{Name: "hello", Description: "words", Schema: json.RawMessage(`{"type":"string"}`)}, {Name: "a"}},
	},
	func(c *engine.Context) (engine.Decision, error) {
		words, ok, err := engine.SignalPayload[string](c, "w")
		if err != nil || !ok {
			return c.WaitForSignal("w", "hello"), err
		}
		return c.Complete(words), nil
	},
}

func TestRunFromStartToEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	s, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "greet", RunID: "run", Labels: spec.Labels{"team": "a"}})
	if err != nil || s.RunID != "run" || s.Verdict != engine.VerdictAccepted || s.Receipt.Sequence != 1 {
		t.Fatalf("start: %+v, %v", s, err)
	}
	got := r.waiting("run", "w")
	want := engine.Snapshot{
		RunID: "run", Workflow: "greet", Version: "1", Status: "running", Generation: 1, HistoryLength: 2,
		Input: json.RawMessage("null"), Labels: spec.Labels{"team": "a"},
		Waiting:   []engine.Waiting{{Kind: "signal", ID: "w", Name: "hello"}},
		CreatedAt: got.CreatedAt, UpdatedAt: got.UpdatedAt,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := r.mustSend("run", "s", "hello", "world")
	if out := r.completed("run"); out != `"world"` {
		t.Errorf("output %s", out)
	}
	again := r.mustSend("run", "s", "hello", "world")
	if again.Verdict != engine.VerdictDuplicate || again.Sequence != first.Sequence || !again.ReceivedAt.Equal(first.ReceivedAt) {
		t.Errorf("receipts differ: %+v, %+v", first, again)
	}
	receipt, err := r.Receipt(r.ctx(), "run", "s")
	if err != nil || receipt.State != engine.SignalConsumed || receipt.ConsumedBy.WaitID != "w" || receipt.Sequence != 3 {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	if diff := cmp.Diff([]string{"run.started", "wait.opened", "signal.received", "wait.completed", "run.completed"},
		r.types("run")); diff != "" {
		t.Error(diff)
	}
}

func TestStartIsIdempotent(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	first := r.start(greet, "run", 1)
	for name, tc := range map[string]struct {
		req     engine.StartRequest
		differs []string
	}{
		"same":            {engine.StartRequest{Workflow: "greet", RunID: "run", Input: []byte(" 1.0 ")}, nil},
		"same version":    {engine.StartRequest{Workflow: "greet", Version: "1", RunID: "run", Input: []byte("1")}, nil},
		"other labels":    {engine.StartRequest{Workflow: "greet", RunID: "run", Input: []byte("1"), Labels: spec.Labels{"x": "y"}}, nil},
		"other input":     {engine.StartRequest{Workflow: "greet", RunID: "run", Input: []byte("2")}, []string{"input"}},
		"no input":        {engine.StartRequest{Workflow: "greet", RunID: "run"}, []string{"input"}},
		"unknown version": {engine.StartRequest{Workflow: "greet", Version: "9", RunID: "run", Input: []byte("1")}, []string{"version"}},
		"other workflow":  {engine.StartRequest{Workflow: "nope", RunID: "run", Input: []byte("1")}, []string{"workflow"}},
	} {
		s, err := r.Start(r.ctx(), tc.req)
		var conflict *engine.RunConflictError
		switch {
		case tc.differs == nil:
			if err != nil || s.Verdict != engine.VerdictDuplicate || !s.Receipt.ReceivedAt.Equal(first.Receipt.ReceivedAt) {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		case !errors.As(err, &conflict) || !cmp.Equal(conflict.Differs, tc.differs):
			t.Errorf("%s: %v", name, err)
		}
	}
	one, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "greet"})
	two, err2 := r.Start(r.ctx(), engine.StartRequest{Workflow: "greet"})
	if err := errors.Join(err, err2); err != nil || one.RunID == "" || one.RunID == two.RunID {
		t.Errorf("unnamed runs %q, %q: %v", one.RunID, two.RunID, err)
	}
	if _, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "nope", RunID: "other"}); !errors.Is(err, engine.ErrWorkflowNotFound) {
		t.Errorf("unknown workflow: %v", err)
	}
}

// A retry of a start is judged against the run and its spec, not against what was registered since.
func TestStartKnowsItsRunBeforeTodaysSchema(t *testing.T) {
	t.Parallel()
	v1 := workflow{spec.WorkflowSpec{Name: "w", Version: "1", Input: json.RawMessage(`{"type":"string"}`)}, greet.fn}
	v2 := workflow{spec.WorkflowSpec{Name: "w", Version: "2", Input: json.RawMessage(`{"type":"integer"}`)}, greet.fn}
	r := idle(t, testConfig(t, pgtest.New(t)), v1).run()
	req := engine.StartRequest{Workflow: "w", RunID: "run", Input: []byte(`"text"`)}
	if _, err := r.Start(r.ctx(), req); err != nil {
		t.Fatal(err)
	}
	later := r.beside(v2)
	s, err := later.Start(r.ctx(), req)
	if err != nil || s.Verdict != engine.VerdictDuplicate {
		t.Errorf("the retry got %+v, %v", s, err)
	}
	req.RunID = "new"
	if _, err := later.Start(r.ctx(), req); !isSchemaError(err) {
		t.Errorf("a new run with an input of the old schema got %v", err)
	}
	req.RunID, req.Input = "run", []byte(`"other"`)
	var conflict *engine.RunConflictError
	if _, err := later.Start(r.ctx(), req); !errors.As(err, &conflict) {
		t.Errorf("another input for a known run got %v", err)
	}
}

func isSchemaError(err error) bool {
	var s *engine.SchemaError
	return errors.As(err, &s)
}

func TestFormIsCheckedFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	ctx := r.ctx()
	good := engine.SignalRequest{RunID: "r", SignalID: "s", Name: "hello", Payload: []byte("null")}
	deep := make([]byte, 0, 200)
	for range 65 {
		deep = append(deep, '[')
	}
	for range 65 {
		deep = append(deep, ']')
	}
	for field, change := range map[string]func(*engine.SignalRequest){
		"run_id":    func(q *engine.SignalRequest) { q.RunID = "" },
		"signal_id": func(q *engine.SignalRequest) { q.SignalID = " s" },
		"name":      func(q *engine.SignalRequest) { q.Name = "a\x00b" },
		"actor":     func(q *engine.SignalRequest) { q.Actor = "a\nb" },
		"source":    func(q *engine.SignalRequest) { q.Source = string(make([]byte, 300)) },
	} {
		q := good
		change(&q)
		_, err := r.SendSignal(ctx, q)
		var invalid *engine.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for payload, want := range map[string]error{
		"": new(engine.PayloadError), `{"a":1,"a":2}`: new(engine.PayloadError), "nul": new(engine.PayloadError),
		string(deep): new(engine.PayloadError), string(make([]byte, 300<<10)): engine.ErrPayloadTooLarge,
	} {
		q := good
		q.Payload = []byte(payload)
		_, err := r.SendSignal(ctx, q)
		var form *engine.PayloadError
		if !errors.Is(err, want) && !errors.As(err, &form) {
			t.Errorf("%.20q: %v", payload, err)
		}
		if engine.VerdictOf(err) != engine.VerdictInvalid {
			t.Errorf("%.20q: verdict %s", payload, engine.VerdictOf(err))
		}
	}
	if _, err := r.SendSignal(ctx, good); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("unknown run: %v", err)
	}
	if _, err := r.Start(ctx, engine.StartRequest{Workflow: "greet", Labels: spec.Labels{"": ""}}); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("bad label: %v", err)
	}
	if _, err := r.Cancel(ctx, engine.CancelRequest{RunID: "r", Reason: "two\nlines"}); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("bad reason: %v", err)
	}
}

func TestDeclarationsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	if _, err := r.send("run", "s", "nobody", "x"); !errors.Is(err, engine.ErrSignalUndeclared) {
		t.Errorf("undeclared: %v", err)
	}
	if _, err := r.send("run", "s", "hello", 1); !isSchemaError(err) {
		t.Errorf("schema: %v", err)
	}
	// A refused identity is free.
	if receipt := r.mustSend("run", "s", "hello", "x"); receipt.Verdict != engine.VerdictAccepted {
		t.Errorf("receipt %+v", receipt)
	}
}

func TestCancelAndTerminate(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	for i, want := range []engine.Verdict{engine.VerdictAccepted, engine.VerdictDuplicate, engine.VerdictDuplicate} {
		receipt, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: "run", Reason: "no longer needed", Actor: "ada"})
		if err != nil || receipt.Verdict != want {
			t.Errorf("cancel %d: %+v, %v", i, receipt, err)
		}
	}
	if s := r.ended("run"); s.Status != engine.StatusCancelled || s.ClosedAt == nil {
		t.Errorf("cancelled run %+v", s)
	}
	r.start(greet, "done", nil)
	r.mustSend("done", "s", "hello", "x")
	r.completed("done")
	for _, end := range []func() (engine.Receipt, error){
		func() (engine.Receipt, error) { return r.Cancel(r.ctx(), engine.CancelRequest{RunID: "done"}) },
		func() (engine.Receipt, error) { return r.Terminate(r.ctx(), engine.CancelRequest{RunID: "done"}) },
		func() (engine.Receipt, error) { return engine.Receipt{}, r.Retry(r.ctx(), "done") },
	} {
		if _, err := end(); !errors.Is(err, engine.ErrRunEnded) {
			t.Errorf("on a completed run: %v", err)
		}
	}
	if _, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: "nope"}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("on no run: %v", err)
	}
}

func TestRetryAfterAFixedDeploy(t *testing.T) {
	t.Parallel()
	broken := workflow{greet.spec, func(*engine.Context) (engine.Decision, error) {
		return engine.Decision{}, fmt.Errorf("a bug")
	}}
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.BlockFirst = time.Minute
	r := idle(t, cfg, broken).run()
	r.start(broken, "run", nil)
	if s := r.blocked("run"); s.BlockedReason != "error: a bug" {
		t.Errorf("reason %q", s.BlockedReason)
	}
	if receipt := r.mustSend("run", "s", "hello", "x"); receipt.Verdict != engine.VerdictAccepted {
		t.Errorf("a blocked run refuses a message: %+v", receipt)
	}
	if err := r.Retry(r.ctx(), "run"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	fixed := r.beside(greet) // start-up makes blocked runs of its code due
	began := time.Now()
	if out := fixed.completed("run"); out != `"x"` {
		t.Errorf("output %s", out)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the fixed deploy took %s to go on", took)
	}
}
