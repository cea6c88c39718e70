package main

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// workflowVersion is the version of every workflow of the soak.
const workflowVersion = "1"

// The workflows of the soak. Their outputs say which messages they saw, in order, so that the ledger decides what they
// must have been.
const (
	approvalFlow = "soak.approval" // one hook that is answered, withdrawn by a caller, or expires
	firstFlow    = "soak.first"    // two hooks: the first answer has the other hook withdrawn by the code
	quorumFlow   = "soak.quorum"   // enough answers of several
	collectFlow  = "soak.collect"  // signals one after the other, over generations
	roundsFlow   = "soak.rounds"   // a wait with a time-out, again and again
	stopFlow     = "soak.stop"     // ends while signals are on their way that it never reads
	slowFlow     = "soak.slow"     // its function takes longer than it may
	panicFlow    = "soak.panic"    // its function panics
)

// Names of signals and hooks.
const (
	itemSignal = "item"
	stopSignal = "stop"
	answerHook = "answer"
)

// input is the input of every workflow; each reads its part.
type input struct {
	Note    string   `json:"note"`
	Count   int      `json:"count,omitempty"`      // signals to read, rounds to take, answers to wait for
	Every   int      `json:"every,omitempty"`      // signals of one generation
	Hooks   int      `json:"hooks,omitempty"`      // that quorum opens
	Expires int      `json:"expires_ms,omitempty"` // of a hook
	Timeout int      `json:"timeout_ms,omitempty"` // of a round
	Mode    string   `json:"mode,omitempty"`       // of what misbehaves
	Seen    []string `json:"seen,omitempty"`       // by earlier generations
}

// item is the payload of every signal.
type item struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty"`
}

// vote is the answer to every hook.
type vote struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

// output is the output of every workflow; each writes its part.
type output struct {
	State  string          `json:"state,omitempty"`  // of the hook, or of the quorum
	Answer json.RawMessage `json:"answer,omitempty"` // as received
	First  string          `json:"first,omitempty"`  // hook that was answered first
	Voters []string        `json:"voters,omitempty"` // hooks that made the quorum, by ID
	Seen   []string        `json:"seen,omitempty"`   // signals in the order they were read; "timeout" for a lost round
}

// registrations are the workflows of a process. In a fixed deployment those misbehave no more that can be mended.
func registrations(fixed bool) []app.Registration {
	itemSchema := json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`)
	voteSchema := json.RawMessage(`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}}`)
	broken := &broken{fixed: fixed}
	var all []app.Registration
	for _, w := range []struct {
		name string
		fn   engine.Workflow
	}{
		{approvalFlow, approval},
		{firstFlow, first},
		{quorumFlow, quorum},
		{collectFlow, collect},
		{roundsFlow, rounds},
		{stopFlow, stop},
		{slowFlow, broken.slow},
		{panicFlow, broken.panics},
	} {
		all = append(all, app.Registration{Workflow: w.fn, Spec: spec.WorkflowSpec{
			Name: w.name, Version: workflowVersion,
			Signals: []spec.Signal{{Name: itemSignal, Schema: itemSchema}, {Name: stopSignal, Schema: itemSchema}},
			Hooks:   []spec.Hook{{Name: answerHook, Schema: voteSchema, DisposableByToken: true}},
		}})
	}
	return all
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// openHook opens a hook that may expire.
func openHook(ctx *engine.Context, id string, in input) engine.Decision {
	options := []engine.HookOption{engine.As(answerHook), engine.Metadata(spec.HumanApproval("soak"))}
	if in.Expires > 0 {
		options = append(options, engine.ExpiresIn(ms(in.Expires)))
	}
	return ctx.CreateHook(id, options...)
}

func approval(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	switch state := ctx.HookState(answerHook); state {
	case engine.Answered:
		answer, _, err := engine.HookPayload[json.RawMessage](ctx, answerHook)
		return ctx.Complete(output{State: string(state), Answer: answer}), err
	case engine.Disposed, engine.Expired:
		return ctx.Complete(output{State: string(state)}), nil
	default:
		return openHook(ctx, answerHook, in), nil
	}
}

func first(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	one := ctx.First("a", "b")
	if one == "" {
		return ctx.Await(openHook(ctx, "a", in), openHook(ctx, "b", in)), nil
	}
	last, ok, err := engine.SignalPayload[item](ctx, "last")
	if err != nil {
		return engine.Decision{}, err
	}
	if ok {
		return ctx.Complete(output{First: one, Seen: []string{last.ID}}), nil
	}
	other := "a"
	if one == "a" {
		other = "b"
	}
	return ctx.Await(ctx.DisposeHook(other), ctx.WaitForSignal("last", stopSignal)), nil
}

// voter is the ID of a hook of a quorum.
func voter(n int) string { return "voter-" + strconv.Itoa(n) }

func quorum(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	var open, withdraw []engine.Decision
	var voters []string
	for n := range in.Hooks {
		switch id := voter(n); ctx.HookState(id) {
		case engine.None, engine.Open:
			open = append(open, openHook(ctx, id, in))
			withdraw = append(withdraw, ctx.DisposeHook(id))
		case engine.Answered:
			voters = append(voters, id)
		case engine.Disposed, engine.Expired, engine.Rejected:
		}
	}
	switch {
	case len(voters) >= in.Count:
		return ctx.All(append(withdraw, ctx.Complete(output{State: "enough", Voters: voters}))...), nil
	case len(open) == 0:
		return ctx.Complete(output{State: "too few", Voters: voters}), nil
	}
	return ctx.Await(open...), nil
}

func collect(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	for n := 0; len(in.Seen) < in.Count; n++ {
		if in.Every > 0 && n == in.Every {
			return ctx.ContinueAsNew(in), nil
		}
		next, ok, err := engine.SignalPayload[item](ctx, engine.ID("item", n))
		if err != nil {
			return engine.Decision{}, err
		}
		if !ok {
			return ctx.WaitForSignal(engine.ID("item", n), itemSignal), nil
		}
		in.Seen = append(in.Seen, next.ID)
	}
	return ctx.Complete(output{Seen: in.Seen}), nil
}

// timedOut stands for a lost round.
const timedOut = "timeout"

func rounds(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	var seen []string
	for n := range in.Count {
		id := engine.ID("round", n)
		next, ok, err := engine.SignalPayload[item](ctx, id)
		switch {
		case err != nil:
			return engine.Decision{}, err
		case ok:
			seen = append(seen, next.ID)
		case ctx.WaitTimedOut(id):
			seen = append(seen, timedOut)
		default:
			return ctx.WaitForSignal(id, itemSignal, engine.Timeout(ms(in.Timeout))), nil
		}
	}
	return ctx.Complete(output{Seen: seen}), nil
}

func stop(ctx *engine.Context) (engine.Decision, error) {
	last, ok, err := engine.SignalPayload[item](ctx, "stop")
	if err != nil || !ok {
		return ctx.WaitForSignal("stop", stopSignal), err
	}
	return ctx.Complete(output{Seen: []string{last.ID}}), nil
}
