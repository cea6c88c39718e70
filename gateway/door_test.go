package gateway

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// doorSpec is the workflow of these tests: a run of it opens the hook that its input asks for and waits for "end".
var doorSpec = spec.WorkflowSpec{
	Name: "test.door", Version: "1", Description: "Opens one hook.",
	Input: json.RawMessage(`{"type":["object","null"]}`),
	Signals: []spec.Signal{
		{Name: "note", Description: "Read by nobody.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)},
		{Name: "end"},
		{Name: "any/thing"},
	},
	Queries: []spec.Query{
		{Name: "hook", Description: "What became of the hook.", Response: json.RawMessage(`{"type":"object"}`)},
		{Name: "a/b ü", Args: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
		{Name: "do"},
	},
	Updates: []spec.Update{
		{
			Name: "set", Description: "Answered at once.", Response: json.RawMessage(`{"type":"object"}`),
			Args: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`),
		},
		{Name: "a/b ü", Description: "Answered once the door got a signal any/thing."},
	},
	Hooks: []spec.Hook{
		{Name: "internal", Audience: spec.Internal},
		{Name: "soft", DisposableByToken: true},
		{Name: "known", Requires: spec.Credential, DisposableByToken: true},
		{Name: "signed", Requires: spec.Signature, Source: "pager", DisposableByToken: true},
		{Name: "strict", Schema: json.RawMessage(`{"type":"object","properties":{"decision":{"enum":["approve","reject","escalate"]}},"required":["decision"]}`)},
	},
}

var doorCode = []engine.CodeOption{
	engine.OnQuery("hook", func(q *engine.QueryContext) (any, error) {
		answer, _, err := engine.HookPayload[json.RawMessage](q, "h")
		return map[string]any{"state": q.HookState("h"), "answer": answer, "unread": len(q.Signals("note"))}, err
	}),
	engine.OnQuery("a/b ü", func(q *engine.QueryContext) (any, error) { return q.Arg(), nil }),
	engine.OnQuery("do", func(q *engine.QueryContext) (any, error) {
		how, err := engine.QueryArg[string](q)
		switch {
		case err != nil:
			return nil, err
		case how == "panic":
			panic("of the test")
		case how == "wait":
			<-stuckQueries
		case how == "refuse":
			return nil, errors.New("not this one")
		}
		return how, nil
	}),
}

// stuckQueries is never written to; the goroutines that read it end with the process.
var stuckQueries = make(chan struct{})

// doorInput is the input of a door. Without a hook the run waits for "end" alone.
type doorInput struct {
	Hook    string        `json:"hook,omitempty"`  // declared name of the hook "h"
	Token   string        `json:"token,omitempty"` // supplied by the host
	Expires time.Duration `json:"expires,omitempty"`
	Stay    bool          `json:"stay,omitempty"` // goes on waiting for "end" after the answer
}

// answersOf are the answers to the updates of a door: its own argument to "set", unless that is negative, and null to the
// others.
func answersOf(ctx *engine.Context) []engine.Decision {
	var all []engine.Decision
	for _, u := range ctx.Updates("set") {
		arg, err := engine.UpdateArg[struct{ N float64 }](u)
		switch {
		case err != nil:
			all = append(all, ctx.RejectUpdate(u.ID, err))
		case arg.N < 0:
			all = append(all, ctx.RejectUpdate(u.ID, errors.New("less than nothing")))
		default:
			all = append(all, ctx.CompleteUpdate(u.ID, u.Arg))
		}
	}
	if len(ctx.Signals("any/thing")) > 0 {
		for _, u := range ctx.Updates("a/b ü") {
			all = append(all, ctx.CompleteUpdate(u.ID, nil))
		}
	}
	return all
}

// door is a door that answers its updates.
func door(ctx *engine.Context) (engine.Decision, error) {
	d, err := shut(ctx)
	if answers := answersOf(ctx); err == nil && len(answers) > 0 {
		d = ctx.Await(append(answers, d)...)
	}
	return d, err
}

// shut ends as the signal "end" says: "complete", "fail", "again" for a new generation, "dispose" for withdrawing the
// hook, "block" for an error. Without Stay an answer to the hook completes the run.
func shut(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[doorInput](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	wait := ctx.WaitForSignal("end", "end")
	if how, ended, err := engine.SignalPayload[string](ctx, "end"); err != nil || ended {
		return finish(ctx, how), err
	}
	if in.Hook == "" {
		return wait, nil
	}
	if answer, answered, err := engine.HookPayload[json.RawMessage](ctx, "h"); err != nil || answered && !in.Stay {
		return ctx.Complete(answer), err
	}
	opts := []engine.HookOption{engine.As(in.Hook), engine.Metadata(spec.HumanApproval("door").WithLabel("team", "a"))}
	if in.Token != "" {
		opts = append(opts, engine.Token(in.Token))
	}
	if in.Expires != 0 {
		opts = append(opts, engine.ExpiresIn(in.Expires))
	}
	return ctx.Await(ctx.CreateHook("h", opts...), wait), nil
}

var errBlocked = errors.New("blocked by the test")

func finish(ctx *engine.Context, how string) engine.Decision {
	switch how {
	case "fail":
		return ctx.Fail(errBlocked)
	case "again":
		return ctx.ContinueAsNew(doorInput{Stay: true})
	case "dispose":
		return ctx.Await(ctx.DisposeHook("h"), ctx.WaitForSignal("end-2", "end"))
	case "block":
		return engine.Decision{}
	}
	return ctx.Complete(how)
}
