package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

type (
	floor struct {
		Floor int `json:"floor" jsonschema:"minimum=0"`
	}
	sum struct {
		Total int      `json:"total"`
		From  []string `json:"from"` // nil where nothing counts
	}
	// view is all that a query can see of a run, but for times.
	view struct {
		Run        string          `json:"run"`
		Workflow   string          `json:"workflow"`
		Version    string          `json:"version"`
		Status     engine.Status   `json:"status"`
		Generation int             `json:"generation"`
		Input      json.RawMessage `json:"input"`
		Length     int64           `json:"length"`
		Cancel     bool            `json:"cancel"`
		Taken      int             `json:"taken"` // by waits
		Unread     []string        `json:"unread"`
		Gate       string          `json:"gate"`
		Answer     json.RawMessage `json:"answer"`
		First      string          `json:"first"`
		Late       bool            `json:"late"`
		Arg        json.RawMessage `json:"arg"`
	}
)

// tallySpec is the contract of tally: it adds up what "add" brings until "end" says how to go on.
var tallySpec = spec.WorkflowSpec{
	Name: "tally", Version: "1",
	Signals: []spec.Signal{{Name: "add", Schema: engine.SchemaOf[int]()}, {Name: "end"}, {Name: "spare"}},
	Hooks:   []spec.Hook{{Name: "gate"}},
	Queries: []spec.Query{
		{Name: "total", Description: "What was added.", Args: engine.SchemaOf[floor](), Response: engine.SchemaOf[sum]()},
		{Name: "view"},
		{Name: "misbehave"},
		{Name: "narrow"},
		{Name: "promise", Response: json.RawMessage(`{"type":"string"}`)},
	},
}

func tally(c *engine.Context) (engine.Decision, error) {
	how, ended, err := engine.SignalPayload[string](c, "end")
	if err != nil {
		return engine.Decision{}, err
	}
	if ended {
		switch how {
		case "block":
			return engine.Decision{}, errors.New("blocked by the test")
		case "again":
			return c.ContinueAsNew("next"), nil
		case "fail":
			return c.Fail(errors.New("failed by the test")), nil
		}
		return c.Complete(how), nil
	}
	n := 0
	for ; ; n++ {
		if _, added, err := engine.SignalPayload[int](c, engine.ID("add", n)); err != nil || !added {
			if err != nil {
				return engine.Decision{}, err
			}
			break
		}
	}
	open := []engine.Decision{c.WaitForSignal(engine.ID("add", n), "add"), c.WaitForSignal("end", "end")}
	if c.Generation() == 1 {
		open = append(open, c.CreateHook("gate"))
	}
	return c.Await(open...), nil
}

func askTotal(q *engine.QueryContext, arg floor) (sum, error) {
	var s sum
	for n := 0; ; n++ {
		id := engine.ID("add", n)
		added, ok, err := engine.SignalPayload[int](q, id)
		if err != nil || !ok {
			return s, err
		}
		if added >= arg.Floor {
			s.Total, s.From = s.Total+added, append(s.From, id)
		}
	}
}

func askView(q *engine.QueryContext) (any, error) {
	v := view{
		Run: string(q.Namespace()) + "/" + string(q.RunID()), Workflow: q.Workflow(), Version: q.Version(), Status: q.Status(),
		Generation: q.Generation(), Input: q.Input(), Length: q.HistoryLength(), Cancel: q.CancelRequested(),
		Gate: string(q.HookState("gate")), First: q.First("gate", "add-0", "end"), Late: q.WaitTimedOut("add-0"), Arg: q.Arg(),
	}
	for _, name := range []string{"add", "end", "spare"} {
		for _, s := range q.Signals(name) {
			v.Unread = append(v.Unread, string(s.ID))
		}
	}
	for q.First(engine.ID("add", v.Taken)) != "" {
		v.Taken++
	}
	var err error
	v.Answer, _, err = engine.HookPayload[json.RawMessage](q, "gate")
	if q.StartedAt().IsZero() {
		return nil, errors.New("the run has no start")
	}
	return v, err
}

// misbehave does what its argument says.
func misbehave(q *engine.QueryContext) (any, error) {
	how, err := engine.QueryArg[string](q)
	if err != nil {
		return nil, err
	}
	switch how {
	case "panic":
		panic("of the test")
	case "exit":
		runtime.Goexit()
	case "error":
		return nil, errors.New("no answer\nto this")
	case "panicking error":
		return nil, panicsAsError("x")
	case "violation":
		return nil, fmt.Errorf("wrapped: %w", &engine.SchemaError{Violations: []engine.Violation{{Pointer: "/a", Message: "must be b"}}})
	case "no violation":
		return nil, &engine.SchemaError{}
	case "chan":
		return make(chan int), nil
	case "panicking JSON":
		return panicsAsJSON("x"), nil
	case "large":
		return strings.Repeat("x", 5<<20), nil
	case "decision":
		return engine.Decision{}, nil
	}
	return how, nil
}

func askNarrow(q *engine.QueryContext) (any, error) { return engine.Input[int8](q) }

var tallyCode = []engine.CodeOption{
	engine.Query("total", askTotal), engine.OnQuery("view", askView), engine.OnQuery("misbehave", misbehave),
	engine.OnQuery("narrow", askNarrow), engine.OnQuery("promise", func(*engine.QueryContext) (any, error) { return 7, nil }),
}

// tallyRig runs tally on a database of its own.
func tallyRig(t testing.TB) *rig {
	t.Helper()
	return tallyOn(idle(t, testConfig(t, pgtest.New(t)))).run()
}

func tallyOn(r *rig) *rig {
	r.t.Helper()
	if err := r.Register(tallySpec, tally, tallyCode...); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *rig) startTally(id spec.RunID, input any) {
	r.t.Helper()
	r.start(workflow{tallySpec, tally}, id, input)
}

// answerTo asks a question that must be answered.
func answerTo[T any](r *rig, run spec.RunID, name string, arg any) T {
	r.t.Helper()
	var v T
	text, err := r.Query(r.ctx(), run, name, encode(r.t, arg))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		r.t.Fatalf("query %s of %s: %v", name, run, err)
	}
	return v
}
