package workflows

import (
	"encoding/json"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// RaceSpec is the contract of Race.
var RaceSpec = spec.WorkflowSpec{
	Name: "race", Version: "1",
	Description: "Waits for a signal round by round, each with a time-out.",
	Input: json.RawMessage(`{"type":"object","required":["rounds","timeout"],"properties":{
		"rounds":{"type":"integer","minimum":1,"maximum":1000},"timeout":` + duration + `}}`),
	Signals: []spec.Signal{{Name: "go", Description: "Wins the round that is open."}},
}

// Race shows that a lost wait never eats a later message: each round's result is the payload or "timeout".
func Race(ctx *engine.Context) (engine.Decision, error) {
	type rounds struct {
		Rounds  int    `json:"rounds"`
		Timeout period `json:"timeout"`
	}
	in, err := engine.Input[rounds](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	results := []any{}
	for i := range in.Rounds {
		round := engine.ID("go", i)
		answer, ok, err := engine.SignalPayload[json.RawMessage](ctx, round)
		switch {
		case err != nil:
			return engine.Decision{}, err
		case ok:
			results = append(results, answer)
		case ctx.WaitTimedOut(round):
			results = append(results, "timeout")
		default:
			return ctx.WaitForSignal(round, "go", engine.Timeout(time.Duration(in.Timeout))), nil
		}
	}
	return ctx.Complete(map[string]any{"results": results}), nil
}
