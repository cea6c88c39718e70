package workflows

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// ApprovalSpec is the contract of ApprovalHook.
var ApprovalSpec = spec.WorkflowSpec{
	Name: "approval.hook", Version: "1",
	Description: "Asks a person to approve through a callback URL.",
	Input: json.RawMessage(`{"type":"object","required":["subject"],"properties":{
		"subject":{"type":"string","minLength":1,"maxLength":1000},` + expiresIn + `,
		"labels":{"type":"object","maxProperties":32,"additionalProperties":{"type":"string"}}}}`),
	Hooks: []spec.Hook{{
		Name: "approval", Description: "The decision.", DisposableByToken: true,
		Schema: json.RawMessage(`{"type":"object","required":["approved"],"properties":{
			"approved":{"type":"boolean"},"reviewer":{"type":"string"}}}`),
	}},
}

// ApprovalHook opens one hook and branches on how it settled: answered, withdrawn or expired.
func ApprovalHook(ctx *engine.Context) (engine.Decision, error) {
	type decision struct {
		Approved bool   `json:"approved"`
		Reviewer string `json:"reviewer"`
	}
	switch ctx.HookState("approval") {
	case engine.Answered:
		answer, _, err := engine.HookPayload[decision](ctx, "approval")
		if err != nil {
			return engine.Decision{}, err
		}
		if answer.Approved {
			return ctx.Complete(reviewed{Status: "approved", Reviewer: answer.Reviewer}), nil
		}
		return ctx.Complete(reviewed{Status: "rejected", Reviewer: answer.Reviewer}), nil
	case engine.Disposed:
		return ctx.Complete(reviewed{Status: "withdrawn"}), nil
	case engine.Expired:
		return ctx.Complete(reviewed{Status: "expired"}), nil
	default: // not asked yet, or open
		return askApproval(ctx)
	}
}

func askApproval(ctx *engine.Context) (engine.Decision, error) {
	type request struct {
		Subject   string            `json:"subject"`
		ExpiresIn period            `json:"expires_in"`
		Labels    map[string]string `json:"labels"`
	}
	in, err := engine.Input[request](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	ask := spec.HumanApproval(in.Subject).WithCallbackRoute(spec.PostRoute("/callbacks/flow/hooks/{token}"))
	for key, value := range in.Labels {
		ask = ask.WithLabel(key, value)
	}
	return ctx.CreateHook("approval", in.ExpiresIn.option(engine.Metadata(ask))...), nil
}
