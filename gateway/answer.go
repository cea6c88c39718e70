package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// outcome says what became of a message, in the words of the HTTP contract.
type outcome string

const (
	outcomeAccepted  outcome = "accepted"
	outcomeDuplicate outcome = "duplicate"
	outcomeDisposed  outcome = "disposed"
)

// answer is the body of every accepted message.
type answer struct {
	Outcome   outcome        `json:"outcome"`
	Verdict   engine.Verdict `json:"verdict"`
	Receipt   receipt        `json:"receipt"`
	RequestID string         `json:"request_id"`
}

// receipt is the durable record of an accepted message. Who holds a token only gets no IDs.
type receipt struct {
	RunID      spec.RunID    `json:"run_id,omitempty"`
	HookID     spec.HookID   `json:"hook_id,omitempty"`
	SignalID   spec.SignalID `json:"signal_id,omitempty"`
	UpdateID   spec.UpdateID `json:"update_id,omitempty"`
	Sequence   int64         `json:"sequence,omitempty"`
	ReceivedAt *stamp        `json:"received_at,omitempty"`
}

// namelessReceipt is the part of a receipt for who holds a token only.
func namelessReceipt(r engine.Receipt) receipt {
	return receipt{Sequence: r.Sequence, ReceivedAt: stampOf(&r.ReceivedAt)}
}

func fullReceipt(r engine.Receipt) receipt {
	out := namelessReceipt(r)
	out.RunID, out.HookID, out.SignalID, out.UpdateID = r.Run.RunID, r.HookID, r.SignalID, r.UpdateID
	return out
}

// settle makes the answer of a message with this verdict, and marks a repeat as one.
func (k *call) settle(c *fiber.Ctx, verdict engine.Verdict, first outcome, r receipt) answer {
	k.verdict = verdict
	out := answer{Outcome: first, Verdict: verdict, Receipt: r, RequestID: k.id}
	if verdict == engine.VerdictDuplicate {
		out.Outcome = outcomeDuplicate
		c.Set("Idempotent-Replayed", "true")
	}
	return out
}

// accepted answers a message that carries a payload.
func (k *call) accepted(c *fiber.Ctx, verdict engine.Verdict, r receipt) error {
	return writeJSON(c, http.StatusAccepted, k.settle(c, verdict, outcomeAccepted, r))
}

// disposed answers the withdrawal of a hook.
func (k *call) disposed(c *fiber.Ctx, verdict engine.Verdict, r receipt) error {
	return writeJSON(c, http.StatusOK, k.settle(c, verdict, outcomeDisposed, r))
}

// show answers a read. The body has the members of value and the verdict, as every body has.
func (k *call) show(c *fiber.Ctx, value any) error {
	k.verdict = engine.VerdictAccepted
	return writeJSON(c, http.StatusOK, withVerdict{value, engine.VerdictAccepted})
}

// withVerdict adds the verdict to an object. It is for values of other packages, which cannot be embedded in one
// struct without their methods.
type withVerdict struct {
	value   any
	verdict engine.Verdict
}

// MarshalJSON implements json.Marshaler.
func (w withVerdict) MarshalJSON() ([]byte, error) {
	text, err := encode(w.value)
	if err != nil {
		return nil, err
	}
	verdict, err := encode(w.verdict)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(text, []byte("}"))
	if len(body) > 1 {
		body = append(body, ',')
	}
	body = append(body, `"verdict":`...)
	return append(append(body, verdict...), '}'), nil
}

// encode is JSON without HTML escapes: payloads come back as they were spelled, and nothing renders these bodies.
func encode(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func writeJSON(c *fiber.Ctx, status int, value any) error {
	body, err := encode(value)
	if err != nil {
		return err
	}
	c.Status(status)
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(body)
}
