package gateway

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

// cancelRun ends a run, or asks its code to end it where the workflow cancels cooperatively.
func (g *Gateway) cancelRun(c *fiber.Ctx, k *call) error { return k.end(c, k.handle.Cancel) }

// terminateRun ends a run at once.
func (g *Gateway) terminateRun(c *fiber.Ctx, k *call) error { return k.end(c, k.handle.Terminate) }

// endBody is the body of a cancellation.
type endBody struct {
	Reason string `json:"reason,omitempty"`
}

func (k *call) end(c *fiber.Ctx, by func(context.Context, engine.CancelRequest) (engine.Receipt, error)) error {
	fields, err := fieldsOf(c, openapi.Members(endBody{})...)
	if err != nil {
		return err
	}
	reason, _, err := fields.text("reason")
	if err != nil {
		return err
	}
	r, err := by(c.UserContext(), engine.CancelRequest{RunID: k.run, Reason: reason, Actor: k.who.Actor})
	if err != nil {
		return err
	}
	return k.accepted(c, r.Verdict, fullReceipt(r))
}

// retryRun makes a blocked run due now; on a run that is not blocked it changes nothing. It leaves no event, so its
// receipt names the run only.
func (g *Gateway) retryRun(c *fiber.Ctx, k *call) error {
	if err := noFields(c); err != nil {
		return err
	}
	if err := k.handle.Retry(c.UserContext(), k.run); err != nil {
		return err
	}
	return k.accepted(c, engine.VerdictAccepted, receipt{RunID: k.run})
}
