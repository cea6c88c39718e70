package workflows

import (
	"encoding/json"
	"slices"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// QuorumSpec is the contract of Quorum.
var QuorumSpec = spec.WorkflowSpec{
	Name: "quorum", Version: "1",
	Description: "Asks several people and ends when enough of them approved, or no longer can.",
	Input: json.RawMessage(`{"type":"object","required":["needed","approvers"],"properties":{
		"needed":{"type":"integer","minimum":1},
		"approvers":{"type":"array","minItems":1,"maxItems":100,"uniqueItems":true,
			"items":{"type":"string","pattern":"^[!-~]{1,200}$"}},` + expiresIn + `}}`),
	Hooks: []spec.Hook{{Name: "vote", Schema: json.RawMessage(
		`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}}`)}},
}

type ballot struct {
	Needed    int      `json:"needed"`
	Approvers []string `json:"approvers"`
	ExpiresIn period   `json:"expires_in"`
}

type tally struct {
	Status     string   `json:"status"`
	ApprovedBy []string `json:"approved_by"`
}

// Quorum asks everybody at once, stops as soon as it is decided, and withdraws the rest in the same commit.
func Quorum(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[ballot](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	var ask, rest []engine.Decision
	approvedBy, lost := []string{}, 0
	for _, name := range in.Approvers {
		id := "approver-" + name
		switch ctx.HookState(id) {
		case engine.None, engine.Open:
			person := spec.HumanApproval("Approval by " + name)
			ask = append(ask, ctx.CreateHook(id, in.ExpiresIn.option(engine.As("vote"), engine.Metadata(person))...))
			rest = append(rest, ctx.DisposeHook(id))
		case engine.Answered:
			vote, _, err := engine.HookPayload[struct {
				Approved bool `json:"approved"`
			}](ctx, id)
			if err != nil {
				return engine.Decision{}, err
			}
			if vote.Approved {
				approvedBy = append(approvedBy, name)
			} else {
				lost++
			}
		default: // disposed, expired, rejected
			lost++
		}
	}
	slices.Sort(approvedBy)
	switch {
	case len(approvedBy) >= in.Needed:
		return ctx.All(append(rest, ctx.Complete(tally{"approved", approvedBy}))...), nil
	case len(in.Approvers)-lost < in.Needed:
		return ctx.All(append(rest, ctx.Complete(tally{"rejected", approvedBy}))...), nil
	}
	return ctx.Await(ask...), nil
}
