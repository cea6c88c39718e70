package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
	"github.com/flowgate-go/flowgate/spec"
)

// withStartBody is the body of a message with a start, but for the message.
type withStartBody struct {
	RunID   spec.RunID      `json:"run_id"`
	Version string          `json:"version,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Labels  spec.Labels     `json:"labels,omitempty"`
}

// messageBody is the message in such a body.
type messageBody struct {
	Name    string          `json:"name"`
	ID      string          `json:"id,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

var (
	withStartFields = slices.Clip(openapi.Members(withStartBody{}))
	messageFields   = openapi.Members(messageBody{})
)

// signalWithStartBody and updateWithStartBody are the whole bodies.
type (
	signalWithStartBody struct {
		withStartBody
		Signal messageBody `json:"signal"`
	}
	updateWithStartBody struct {
		withStartBody
		Update messageBody `json:"update"`
	}
)

// signalStarted is the answer to a signal with a start.
type signalStarted struct {
	RunID        spec.RunID `json:"run_id"`
	StartedFresh bool       `json:"started_fresh"`
	signalAnswer
}

// withStart is what the body of a message with a start says: the run, and the message under a member of its own.
type withStart struct {
	start    engine.StartRequest
	name, id string
	payload  []byte
}

// withStartOf reads the body. The idempotency key of the request names the message before the body does; without either an
// ID is made, and a retry is another message then.
func (g *Gateway) withStartOf(c *fiber.Ctx, k *call, member string) (withStart, error) {
	var w withStart
	fields, err := fieldsOf(c, append(withStartFields, member)...)
	if err != nil {
		return w, err
	}
	id, err := fields.name("run_id")
	if err != nil {
		return w, err
	}
	if id == "" {
		return w, &spec.InvalidError{Field: "run_id", Rule: "must be given"}
	}
	if w.start, err = k.startOf(fields, id); err != nil {
		return w, err
	}
	message, given := fields[member]
	if !given {
		return w, &spec.InvalidError{Field: member, Rule: "must be given"}
	}
	if err := w.read(message); err != nil {
		return w, below("/"+member, err)
	}
	if k.key != "" {
		w.id = k.key
	}
	w.id, err = g.identity(k, w.id)
	return w, err
}

func (k *call) startOf(fields envelope, run string) (engine.StartRequest, error) {
	req := engine.StartRequest{Workflow: k.name, RunID: spec.RunID(run), Input: fields["input"], Actor: k.who.Actor}
	var err error
	if req.Version, err = fields.name("version"); err != nil {
		return req, err
	}
	req.Labels, err = fields.labels("labels")
	return req, err
}

// read reads the message.
func (w *withStart) read(text []byte) error {
	fields, err := readEnvelope(text, messageFields...)
	if err != nil {
		return err
	}
	if w.name, err = fields.name("name"); err != nil {
		return err
	}
	if w.name == "" {
		return &spec.InvalidError{Field: "name", Rule: "must be given"}
	}
	if w.id, err = fields.name("id"); err != nil {
		return err
	}
	if w.payload = fields["payload"]; w.payload == nil {
		w.payload = []byte("null")
	}
	return nil
}

// refused moves the places that a refusal names to where the body has them.
func (w withStart) refused(member string, err error) error {
	if ofStart, ok := errors.AsType[*engine.StartError](err); ok {
		return within("/input", ofStart.Err)
	}
	return within("/"+member+"/payload", err)
}

// signalWithStart starts a run, or attaches to it, and sends it a signal, in one transaction.
func (g *Gateway) signalWithStart(c *fiber.Ctx, k *call) error {
	const member = "signal"
	w, err := g.withStartOf(c, k, member)
	if err != nil {
		return err
	}
	r, err := k.handle.SignalWithStart(c.UserContext(), w.start, engine.SignalRequest{
		SignalID: spec.SignalID(w.id), Name: w.name, Payload: w.payload, Source: sourceAPI, Actor: k.who.Actor,
	})
	if err != nil {
		return w.refused(member, err)
	}
	c.Set(fiber.HeaderLocation, "/v1/runs/"+url.PathEscape(string(r.Run.RunID)))
	return writeJSON(c, startedStatus(r), signalStarted{r.Run.RunID, r.StartedFresh, k.signalled(c, r)})
}

// startedStatus tells a run that was started from one that was there.
func startedStatus(r engine.Receipt) int {
	if r.StartedFresh {
		return http.StatusCreated
	}
	return http.StatusOK
}
