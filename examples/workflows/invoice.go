package workflows

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// InvoiceApproved is the signal that InvoiceApproval waits for.
const InvoiceApproved = "invoice.approved"

// InvoiceSpec is the contract of InvoiceApproval.
var InvoiceSpec = spec.WorkflowSpec{
	Name: "billing.invoice-approval", Version: "1",
	Description: "Waits until somebody approves an invoice.",
	Signals: []spec.Signal{{
		Name: InvoiceApproved, Description: "The invoice was approved.",
		Schema: json.RawMessage(`{"type":"object","properties":{"reviewer":{"type":"string"}},"required":["reviewer"]}`),
	}},
}

// InvoiceApproval waits for one signal and ends with who sent it.
func InvoiceApproval(ctx *engine.Context) (engine.Decision, error) {
	type approval struct {
		Reviewer string `json:"reviewer"`
	}
	answer, ok, err := engine.SignalPayload[approval](ctx, "approval")
	if err != nil {
		return engine.Decision{}, err
	}
	if !ok {
		return ctx.WaitForSignal("approval", InvoiceApproved), nil
	}
	return ctx.Complete(reviewed{Status: "approved", Reviewer: answer.Reviewer}), nil
}

// reviewed is the output of the approval workflows.
type reviewed struct {
	Status   string `json:"status"`
	Reviewer string `json:"reviewer,omitempty"`
}
