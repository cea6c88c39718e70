package gateway

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// signalAnswer is the body of an accepted signal. Delivered is false for a repeat, which had its effect before.
type signalAnswer struct {
	answer
	OK        bool          `json:"ok"`
	Delivered bool          `json:"signal_delivered"`
	SignalID  spec.SignalID `json:"signal_id"`
	Backlog   *backlog      `json:"backlog,omitempty"`
}

// backlog warns a sender that the run reads less than it is sent.
type backlog struct {
	Unread int `json:"unread"`
	Limit  int `json:"limit"`
}

// sendSignal delivers the body, as it is, under the caller's key or an ID made here.
func (g *Gateway) sendSignal(c *fiber.Ctx, k *call) error {
	payload, err := bodyOf(c)
	if err != nil {
		return err
	}
	id, err := g.identity(k, k.key)
	if err != nil {
		return err
	}
	r, err := k.handle.SendSignal(c.UserContext(), engine.SignalRequest{
		RunID: k.run, SignalID: spec.SignalID(id), Name: k.name, Payload: payload, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusAccepted, k.signalled(c, r))
}

// signalled is the body of an accepted signal.
func (k *call) signalled(c *fiber.Ctx, r engine.Receipt) signalAnswer {
	return signalAnswer{
		answer:    k.settle(c, r.Verdict, outcomeAccepted, fullReceipt(r)),
		OK:        true,
		Delivered: r.Verdict == engine.VerdictAccepted,
		SignalID:  r.SignalID,
		Backlog:   (*backlog)(r.Backlog),
	}
}

// showSignal shows the receipt of a signal and what became of it.
func (g *Gateway) showSignal(c *fiber.Ctx, k *call) error {
	r, err := k.handle.Receipt(c.UserContext(), k.run, k.signal)
	if err != nil {
		return err
	}
	return k.show(c, signalView{r, stamp(r.ReceivedAt)})
}
