package workflows

import (
	"encoding/json"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// PaymentCaptured is the signal that Checkout waits for.
const PaymentCaptured = "payment.captured"

// CheckoutSpec is the contract of Checkout.
var CheckoutSpec = spec.WorkflowSpec{
	Name: "payment.checkout", Version: "1",
	Description: "Waits an hour for the payment of an order.",
	Input:       json.RawMessage(`{"type":"object","required":["order_id"],"properties":{"order_id":{"type":"string"}}}`),
	Signals: []spec.Signal{{
		Name: PaymentCaptured, Description: "The provider captured the payment.",
		Schema: json.RawMessage(`{"type":"object","required":["capture_id"],"properties":{"capture_id":{"type":"string"}}}`),
	}},
}

// Checkout ends with the capture, or times out: the acceptance time of the signal decides, however late a turn runs.
func Checkout(ctx *engine.Context) (engine.Decision, error) {
	type capture struct {
		CaptureID string `json:"capture_id"`
	}
	type outcome struct {
		Status    string `json:"status"`
		CaptureID string `json:"capture_id,omitempty"`
	}
	captured, ok, err := engine.SignalPayload[capture](ctx, "payment")
	switch {
	case err != nil:
		return engine.Decision{}, err
	case ok:
		return ctx.Complete(outcome{Status: "captured", CaptureID: captured.CaptureID}), nil
	case ctx.WaitTimedOut("payment"):
		return ctx.Complete(outcome{Status: "timed_out"}), nil
	}
	return ctx.WaitForSignal("payment", PaymentCaptured, engine.Timeout(time.Hour)), nil
}
