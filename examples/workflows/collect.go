package workflows

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// CollectSpec is the contract of Collect.
var CollectSpec = spec.WorkflowSpec{
	Name: "collect", Version: "1",
	Description: "Consumes signals one after the other and ends with their payloads in order.",
	Input: json.RawMessage(`{"type":"object","required":["count"],"properties":{
		"count":{"type":"integer","minimum":0,"maximum":10000},
		"continue_every":{"type":"integer","minimum":1}}}`),
	Signals: []spec.Signal{{Name: "item", Description: "One more item."}},
}

type collection struct {
	Count         int               `json:"count"`
	ContinueEvery int               `json:"continue_every,omitempty"`
	Items         []json.RawMessage `json:"items,omitempty"` // from earlier generations
}

// Collect has one wait ID per round: what settled stays settled, so a loop needs an ID for each turn of it. After every
// continue_every items it continues as new; the items so far travel in the input, unread signals by themselves.
func Collect(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[collection](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	for round := 0; len(in.Items) < in.Count; round++ {
		if in.ContinueEvery > 0 && round == in.ContinueEvery {
			return ctx.ContinueAsNew(in), nil
		}
		id := engine.ID("item", round)
		item, ok, err := engine.SignalPayload[json.RawMessage](ctx, id)
		if err != nil {
			return engine.Decision{}, err
		}
		if !ok {
			return ctx.WaitForSignal(id, "item"), nil
		}
		in.Items = append(in.Items, item)
	}
	return ctx.Complete(struct {
		Items []json.RawMessage `json:"items"`
	}{append([]json.RawMessage{}, in.Items...)}), nil
}
