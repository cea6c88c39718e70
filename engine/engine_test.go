package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

func TestNewRefusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := engine.New(t.Context(), engine.Config{Keys: ringWith(t, "k", "s")}); err == nil {
		t.Error("no pool is no error")
	}
	if _, err := engine.New(t.Context(), engine.Config{Pool: pgtest.New(t)}); err == nil {
		t.Error("no keys are no error")
	}
}

func TestRunIsCalledOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	if err := r.Run(r.ctx()); err == nil {
		t.Error("a second Run is no error")
	}
	if err := r.Register(spec.WorkflowSpec{Name: "late", Version: "1"}, greet.fn); err == nil {
		t.Error("a late registration is no error")
	}
	if err := r.Ping(r.ctx()); err != nil {
		t.Error(err)
	}
	r.stop()
	if _, err := r.send("run", "s", "hello", "x"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := r.Wait(r.ctx(), "run"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("waiting after the end: %v", err)
	}
}

func TestRegisterRefusals(t *testing.T) {
	t.Parallel()
	r := idle(t, testConfig(t, pgtest.New(t)), greet)
	var invalid *engine.InvalidError
	for name, s := range map[string]spec.WorkflowSpec{
		"name":     {Version: "1"},
		"version":  {Name: "w"},
		"schema":   {Name: "w", Version: "1", Input: json.RawMessage(`{"type":"nonsense"}`)},
		"signal":   {Name: "w", Version: "1", Signals: []spec.Signal{{Name: "s", Schema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}}},
		"audience": {Name: "w", Version: "1", Hooks: []spec.Hook{{Name: "h", Audience: "friends"}}},
	} {
		if err := r.Register(s, greet.fn); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Register(spec.WorkflowSpec{Name: "w", Version: "1"}, nil); err == nil {
		t.Error("no function is no error")
	}
	if err := r.Register(greet.spec, greet.fn); err == nil {
		t.Error("a version registered twice in one process is no error")
	}
}

func TestSpecIsImmutablePerVersion(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	base := spec.WorkflowSpec{
		Name: "w", Version: "1", Signals: []spec.Signal{{Name: "a"}, {Name: "b", Schema: json.RawMessage(`{"type":"string"}`)}},
		Hooks: []spec.Hook{{Name: "h"}},
	}
	fn := greet.fn
	first := idle(t, testConfig(t, pool), workflow{base, fn}).run()
	first.start(workflow{base, fn}, "old", nil)

	same := base
	same.Signals = []spec.Signal{{Name: "b", Schema: json.RawMessage(` { "type" : "string" } `)}, {Name: "a"}}
	same.Hooks = []spec.Hook{{Name: "h", Audience: spec.Public}}
	idle(t, testConfig(t, pool), workflow{same, fn})

	other := base
	other.CooperativeCancel = true
	other.Signals = []spec.Signal{{Name: "b", Schema: json.RawMessage(`{"type":"integer"}`)}, {Name: "c"}}
	other.Hooks = []spec.Hook{{Name: "h", DisposableByToken: true, Requires: spec.Signature, Source: "s"}}
	e, err := engine.New(t.Context(), testConfig(t, pool))
	if err != nil {
		t.Fatal(err)
	}
	var changed *engine.SpecChangedError
	if err := e.Register(other, fn); !errors.As(err, &changed) {
		t.Fatalf("another spec: %v", err)
	}
	want := []string{"cooperative_cancel", "hooks/h/disposable_by_token", "hooks/h/requires", "hooks/h/source", "signals/a", "signals/b/schema", "signals/c"}
	if diff := cmp.Diff(want, changed.Differs); diff != "" {
		t.Error(diff)
	}

	cfg := testConfig(t, pool)
	cfg.Dev = true
	dev := idle(t, cfg, workflow{other, fn}).run()
	dev.start(workflow{other, fn}, "new", nil)
	dev.mustSend("new", "s", "c", nil)
	if _, err := dev.send("old", "s", "c", nil); !errors.Is(err, engine.ErrSignalUndeclared) {
		t.Errorf("a run keeps its spec: %v", err)
	}
	dev.mustSend("old", "s", "a", nil)
}

func TestGatewayWithoutCodeStartsRuns(t *testing.T) {
	t.Parallel()
	gate := newRig(t)
	idle(t, testConfig(t, gate.pool), greet) // stored the spec, and runs nothing
	gate.start(greet, "run", nil)
	s := gate.snapshot("run")
	if s.Status != engine.StatusRunning || s.BlockedReason != "no live process registers greet version 1" {
		t.Errorf("a run without code is %s: %q", s.Status, s.BlockedReason)
	}
	gate.mustSend("run", "s", "hello", "kept")
	worker := gate.beside(greet)
	if out := worker.completed("run"); out != `"kept"` {
		t.Errorf("output %s", out)
	}
	if s := gate.snapshot("run"); s.BlockedReason != "" {
		t.Errorf("a completed run is blocked: %q", s.BlockedReason)
	}
	infos, err := gate.Workflows(gate.ctx())
	if err != nil || !cmp.Equal(infos, []engine.WorkflowInfo{{Name: "greet", Version: "1", Description: "says what it hears"}}) {
		t.Errorf("workflows %+v, %v", infos, err)
	}
	shown, err := gate.Interface(gate.ctx(), "greet")
	want := `{"name":"greet","version":"1","description":"says what it hears","signals":[{"name":"a"},` +
		`{"name":"hello","description":"words","arg_schema":{"type":"string"}}],"queries":[],"updates":[]}`
	if got := string(encode(t, shown)); err != nil || got != want {
		t.Errorf("interface %s, %v", got, err)
	}
	if _, err := gate.Interface(gate.ctx(), "nope"); !errors.Is(err, engine.ErrWorkflowNotFound) {
		t.Errorf("unknown workflow: %v", err)
	}
}

// Law 12 on the whole engine: bad code beside good code.
func TestBadCodeStopsItsRunOnly(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	bad := func(name string, fn engine.Workflow) workflow {
		return workflow{spec.WorkflowSpec{Name: name, Version: "1", Signals: []spec.Signal{{Name: "hello"}}}, fn}
	}
	var round atomic.Int64
	workflows := []workflow{
		bad("panics", func(*engine.Context) (engine.Decision, error) { panic("secret payload") }),
		bad("exits", func(*engine.Context) (engine.Decision, error) { runtime.Goexit(); return engine.Decision{}, nil }),
		bad("errs", func(*engine.Context) (engine.Decision, error) { return engine.Decision{}, errors.New("no") }),
		bad("hangs", func(c *engine.Context) (engine.Decision, error) {
			<-release
			return c.WaitForSignal("w", "hello"), nil
		}),
		bad("wavers", func(c *engine.Context) (engine.Decision, error) {
			return c.WaitForSignal(engine.ID("w", int(round.Add(1))), "hello"), nil
		}),
		bad("forgets", func(c *engine.Context) (engine.Decision, error) { return engine.Decision{}, nil }),
		bad("idles", func(c *engine.Context) (engine.Decision, error) {
			return c.WaitForSignal("w", "hello", engine.Timeout(0)), nil
		}),
	}
	cfg := testConfig(t, pgtest.New(t))
	cfg.CallBudget, cfg.Dev = 50*time.Millisecond, true
	r := idle(t, cfg, append(workflows, greet)...).run()
	t.Cleanup(func() { close(release) })
	for _, w := range workflows {
		r.start(w, spec.RunID(w.spec.Name), nil)
	}
	r.start(greet, "good", nil)
	r.mustSend("good", "s", "hello", "fine")
	if out := r.completed("good"); out != `"fine"` {
		t.Errorf("the good run gave %s", out)
	}
	for name, want := range map[spec.RunID]string{
		"panics": "panic: ", "exits": "panic: ", "errs": "error: no", "hangs": "over_budget: ", "wavers": "nondeterminism: ",
		"forgets": "decision: ", "idles": `no_progress: the decision names nothing that is open: wait "w" timed out`,
	} {
		s := r.blocked(name)
		if !strings.HasPrefix(s.BlockedReason, want) || strings.Contains(s.BlockedReason, "secret payload") {
			t.Errorf("%s: %q", name, s.BlockedReason)
		}
		if v := verdict(r.send(name, "s", "hello", "x")); v != engine.VerdictAccepted {
			t.Errorf("%s: a blocked run refuses a message: %s", name, v)
		}
	}
	if n := r.Stats().AbandonedCalls; n != 1 {
		t.Errorf("%d abandoned calls", n)
	}
	if _, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: "hangs"}); err != nil {
		t.Errorf("a blocked run cannot be cancelled: %v", err)
	}
	r.stop() // does not wait for the abandoned call
}

func TestWaitReturnsAtTheEndOrWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	r.start(greet, "run", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(ctx, "run"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is over: %v", err)
	}
	if _, err := r.Wait(r.ctx(), "nope"); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("no run: %v", err)
	}
	other := r.beside() // learns of the end from the database only
	held := int64(r.pool.Stat().AcquiredConns())
	results := make(chan string, 20)
	for i := range 20 {
		go func() {
			s, err := []*rig{r, other}[i%2].Wait(context.Background(), "run")
			if err != nil {
				results <- err.Error()
				return
			}
			results <- string(s.Output)
		}()
	}
	for r.Stats().Waiters+other.Stats().Waiters < 20 {
		runtime.Gosched()
	}
	for int64(r.pool.Stat().AcquiredConns()) > held+2 { // the lanes may hold some; 20 waiters must not
		runtime.Gosched()
	}
	began := time.Now()
	r.mustSend("run", "s", "hello", "x")
	for range 20 {
		if got := <-results; got != `"x"` {
			t.Errorf("a waiter got %s", got)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("waiters were told after %s", took)
	}
	if n := r.Stats().Waiters; n != 0 {
		t.Errorf("%d waiters are left", n)
	}

	r.start(greet, "open", nil)
	go func() {
		_, err := r.Wait(context.Background(), "open")
		results <- string(engine.VerdictOf(err))
	}()
	for r.Stats().Waiters < 1 {
		runtime.Gosched()
	}
	r.stop()
	if got := <-results; got != "busy" {
		t.Errorf("a waiter of a process that stops got %s", got)
	}
}

// TestC57_PollRepairsWithoutHints commits in the host's transaction and tells nobody.
func TestC57_PollRepairsWithoutHints(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	r := idle(t, cfg, greet).run()
	r.start(greet, "warm", nil)
	r.waiting("warm", "w")
	tx, err := r.pool.Begin(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.StartTx(r.ctx(), tx, engine.StartRequest{Workflow: "greet", RunID: "run"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SendSignalTx(r.ctx(), tx, engine.SignalRequest{RunID: "run", SignalID: "s", Name: "hello", Payload: []byte(`"x"`)}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(r.ctx()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if out := r.completed("run"); out != `"x"` {
		t.Errorf("output %s", out)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("without hints it took %s; 2 s is promised", took)
	}
}

func TestRestartGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, roller)
	r.start(roller, "run", entity{Of: 3})
	for i := range 3 {
		r.mustSend("run", spec.SignalID(engine.ID("s", i)), "item", i)
		r.stop()
		r = r.beside(roller)
	}
	if out := r.completed("run"); out != "[0,1,2]" {
		t.Errorf("output %s", out)
	}
}
