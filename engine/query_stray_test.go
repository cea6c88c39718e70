package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A handler that does not return is given up, and too many of them keep further queries of the workflow out. The run goes
// on, and so do the queries of others.
func TestQuery_that_spins_is_given_up(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.CallBudget = 500 * time.Millisecond
	release, used := make(chan struct{}), make(chan bool, 100)
	stuck := spec.WorkflowSpec{Name: "stuck", Version: "1", Signals: tallySpec.Signals, Queries: []spec.Query{{Name: "spin"}}}
	spin := func(q *engine.QueryContext) (any, error) {
		ended := true
		defer func() { used <- !ended }()
		<-release
		q.RunID() // ends the goroutine
		ended = false
		return nil, nil
	}
	r := tallyOn(idle(t, cfg))
	if err := r.Register(stuck, tally2, engine.OnQuery("spin", spin)); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.start(workflow{stuck, tally2}, "run", nil)
	r.startTally("other", nil)
	const places = 8
	var over int
	results := make([]error, places+4)
	parallel(len(results), func(i int) { _, results[i] = r.Query(r.ctx(), "run", "spin", nil) })
	for _, err := range results {
		switch {
		case fault(engine.QueryOverBudget)(err):
			over++
		case !errors.Is(err, engine.ErrUnavailable):
			t.Errorf("got %v", err)
		}
	}
	if n := r.Stats().AbandonedQueries; over != places || n != places {
		t.Errorf("%d calls over budget, %d abandoned", over, n)
	}
	answerTo[view](r, "other", "view", nil)
	r.mustSend("run", "e", "end", "done")
	r.completed("run")
	if n := r.Stats().AbandonedCalls; n != 0 {
		t.Errorf("%d abandoned calls of workflow functions", n)
	}
	close(release)
	for range places {
		if <-used {
			t.Error("an abandoned handler used its context")
		}
	}
	for deadline := time.Now().Add(patience); r.Stats().AbandonedQueries > 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("ended handlers are still counted")
		}
	}
	if _, err := r.Query(r.ctx(), "run", "spin", nil); err != nil {
		t.Errorf("after they ended: %v", err)
	}
}

func tally2(c *engine.Context) (engine.Decision, error) {
	if _, ended, err := engine.SignalPayload[string](c, "end"); err != nil || ended {
		return c.Complete(nil), err
	}
	return c.WaitForSignal("end", "end"), nil
}

// A context is of use in its own call only, be it that of the query or that of the workflow function.
func TestQuery_that_keeps_a_context(t *testing.T) {
	t.Parallel()
	kept, calls := make(chan *engine.QueryContext, 1), make(chan *engine.Context, 100)
	s := spec.WorkflowSpec{Name: "keeps", Version: "1", Queries: []spec.Query{{Name: "keep"}, {Name: "decide"}}}
	fn := func(c *engine.Context) (engine.Decision, error) {
		calls <- c
		return c.Sleep("t", time.Hour), nil
	}
	r := idle(t, testConfig(t, pgtest.New(t)))
	err := r.Register(s, fn,
		engine.OnQuery("keep", func(q *engine.QueryContext) (any, error) { kept <- q; return nil, nil }),
		engine.OnQuery("decide", func(*engine.QueryContext) (any, error) {
			return nil, func() error { (<-calls).Complete(nil); return nil }()
		}))
	if err != nil {
		t.Fatal(err)
	}
	r.run()
	r.start(workflow{s, fn}, "run", nil)
	r.waiting("run", "t")
	if _, err := r.Query(r.ctx(), "run", "decide", nil); !fault(engine.QueryPanicked)(err) {
		t.Errorf("a decision of a call that is over: %v", err)
	}
	answerTo[any](r, "run", "keep", nil)
	ended := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		(<-kept).HookState("x")
		returned = true
	}()
	if !<-ended {
		t.Error("the context of a query that is over can be used")
	}
}

func TestQuery_handlers_fit_the_spec(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	one := func(*engine.QueryContext) (any, error) { return 1, nil }
	two := spec.WorkflowSpec{Name: "w", Version: "1", Queries: []spec.Query{{Name: "b"}, {Name: "a"}}}
	for field, tc := range map[string]struct {
		s    spec.WorkflowSpec
		code []engine.CodeOption
	}{
		"queries/a":                 {two, nil},
		"queries/b":                 {two, []engine.CodeOption{engine.OnQuery("a", one)}},
		"queries/c":                 {two, []engine.CodeOption{engine.OnQuery("a", one), engine.OnQuery("b", one), engine.OnQuery("c", one)}},
		"queries/a, twice":          {two, []engine.CodeOption{engine.OnQuery("a", one), engine.OnQuery("a", one)}},
		"queries/a, nil":            {two, []engine.CodeOption{engine.OnQuery("a", nil)}},
		"queries/a, typed nil":      {two, []engine.CodeOption{engine.Query[int, int]("a", nil)}},
		"query":                     {two, []engine.CodeOption{engine.OnQuery(" ", one)}},
		"queries/a/arg_schema":      withQuery(spec.Query{Name: "a", Args: []byte(`{"type":7}`)}),
		"queries/a/response_schema": withQuery(spec.Query{Name: "a", Response: []byte(`{"$ref":"http://x/y"}`)}),
		"updates/u/response_schema": {spec.WorkflowSpec{Name: "w", Version: "1", Updates: []spec.Update{{Name: "u", Response: []byte(`[]`)}}}, nil},
	} {
		field, _, _ = strings.Cut(field, ",")
		_, rehearsed := engine.Rehearse(tc.s, tally, engine.RehearsalConfig{Namespace: "n", RunID: "r", Code: tc.code})
		for _, err := range []error{idle(t, testConfig(t, pool)).Register(tc.s, tally, tc.code...), rehearsed} {
			if e, ok := errors.AsType[*engine.InvalidError](err); !ok || e.Field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
	if all, err := idle(t, testConfig(t, pool)).Workflows(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a refused registration was stored: %v %v", all, err)
	}
}

// The spec of a version cannot change in its queries either.
func TestQuery_declarations_are_immutable_per_version(t *testing.T) {
	t.Parallel()
	r := tallyOn(idle(t, testConfig(t, pgtest.New(t))))
	changed := tallySpec
	changed.Queries = slices.Clone(tallySpec.Queries)
	changed.Queries[0].Args, changed.Queries[0].Response, changed.Queries[1].Description = nil, engine.SchemaOf[int](), "x"
	changed.Queries[4].Name = "promised"
	code := append(slices.Clone(tallyCode[:4]), engine.OnQuery("promised", misbehave))
	err := idle(t, testConfig(t, r.pool)).Register(changed, tally, code...)
	e, ok := errors.AsType[*engine.SpecChangedError](err)
	want := []string{
		"queries/promise", "queries/promised", "queries/total/arg_schema", "queries/total/response_schema", "queries/view/description",
	}
	if !ok || cmp.Diff(want, e.Differs) != "" {
		t.Errorf("got %v", err)
	}
}

func withQuery(q spec.Query) struct {
	s    spec.WorkflowSpec
	code []engine.CodeOption
} {
	return struct {
		s    spec.WorkflowSpec
		code []engine.CodeOption
	}{spec.WorkflowSpec{Name: "w", Version: "1", Queries: []spec.Query{q}}, []engine.CodeOption{engine.OnQuery(q.Name, misbehave)}}
}

// The answers over one history are the same, whether an engine folds it from its database or a rehearsal from memory.
func TestQuery_answers_as_a_rehearsal_does(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		run := spec.RunID(fmt.Sprint("run-", seed))
		twin := rehearse(t, run)
		input := encode(t, seed)
		if _, err := twin.Start(input, nil); err != nil {
			t.Fatal(err)
		}
		r.startTally(run, seed)
		for n := range 15 {
			step(t, r, twin, run, spec.SignalID(fmt.Sprint("s", n)), random)
			sameAnswers(t, r, twin, run)
		}
	}
}

func rehearse(t *testing.T, run spec.RunID) *engine.Rehearsal {
	t.Helper()
	twin, err := engine.Rehearse(tallySpec, tally, engine.RehearsalConfig{
		Namespace: spec.DefaultNamespace, RunID: run, Now: time.Now(), Keys: ringWith(t, "k1", "s"), Random: rand.NewChaCha8([32]byte{}),
		CallBudget: patience, Code: tallyCode,
	})
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

// step sends one message to both.
func step(t *testing.T, r *rig, twin *engine.Rehearsal, run spec.RunID, id spec.SignalID, random *rand.Rand) {
	t.Helper()
	name, payload := "add", any(random.IntN(100))
	switch random.IntN(10) {
	case 0:
		name, payload = "end", []string{"again", "again", "done", "fail"}[random.IntN(4)]
	case 1, 2:
		name = "spare"
	case 3:
		_, one := r.resume(run, "gate", payload)
		_, other := twin.ResumeHook("gate", encode(t, payload))
		if engine.VerdictOf(one) != engine.VerdictOf(other) {
			t.Fatalf("an answer: %v and %v", one, other)
		}
		return
	}
	_, one := r.send(run, id, name, payload)
	_, other := twin.SendSignal(id, name, encode(t, payload))
	if engine.VerdictOf(one) != engine.VerdictOf(other) {
		t.Fatalf("signal %s: %v and %v", name, one, other)
	}
}

// sameAnswers waits for the run to be as far as its twin, and compares.
func sameAnswers(t *testing.T, r *rig, twin *engine.Rehearsal, run spec.RunID) {
	t.Helper()
	want, err := twin.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	r.until(run, "as far as its twin", func(s engine.Snapshot) bool {
		return s.Generation == want.Generation && s.HistoryLength == want.HistoryLength
	})
	for name, arg := range map[string]any{"view": run, "total": floor{20}} {
		one, err := r.Query(r.ctx(), run, name, encode(t, arg))
		if err != nil {
			t.Fatal(err)
		}
		other, err := twin.Query(name, encode(t, arg))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(other), string(one)); diff != "" {
			t.Fatalf("%s of %s: %s", name, run, diff)
		}
	}
}
