package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Message is a signal or an update. Without an ID one is made, before the first try; a caller that may have to repeat the call
// itself names one. Without a payload it is null.
type Message struct {
	ID      string
	Payload json.RawMessage
}

// SignalSent is the answer to a signal.
type SignalSent struct {
	AcceptedMessage
	OK        bool          `json:"ok"`
	Delivered bool          `json:"signal_delivered"` // false for a duplicate, which had its effect before
	SignalID  spec.SignalID `json:"signal_id"`
	Backlog   *Backlog      `json:"backlog,omitempty"` // the run reads less than it is sent
}

// Backlog is how full the buffer of a run is.
type Backlog struct {
	Unread int `json:"unread"`
	Limit  int `json:"limit"`
}

// SendSignal sends a signal. Errors: ErrConflict for an ID that was accepted with other content, ErrGone for a run that ended,
// ErrUnknown, ErrInvalid for a name that is not declared or a payload that breaks its schema, ErrDenied, ErrBusy.
func (c *Client) SendSignal(ctx context.Context, run spec.RunID, name string, m Message) (SignalSent, error) {
	var s SignalSent
	r, err := c.message(run, "/signals/", name, m)
	if err != nil {
		return s, err
	}
	return s, c.do(ctx, r, &s)
}

// message is the request of a message under an ID.
func (c *Client) message(run spec.RunID, kind, name string, m Message) (request, error) {
	id, err := c.identity(m.ID)
	if err != nil {
		return request{}, err
	}
	if err := spec.SignalID(id).Validate(); err != nil {
		return request{}, refuse(err)
	}
	if err := spec.CheckName("name", name); err != nil {
		return request{}, refuse(err)
	}
	at, err := runPath(run, kind, name)
	return request{method: "POST", path: at, key: id, body: payload(m.Payload)}, err
}

// SignalReceipt is an accepted signal and its fate.
type SignalReceipt struct {
	Answer
	RunID      spec.RunID    `json:"run_id"`
	SignalID   spec.SignalID `json:"signal_id"`
	Name       string        `json:"name"`
	Sequence   int64         `json:"sequence"`
	ReceivedAt time.Time     `json:"received_at"`
	Actor      string        `json:"actor,omitempty"`
	Source     string        `json:"source"`
	State      string        `json:"state"` // queued, consumed or unread_at_end
	ConsumedBy *ConsumedBy   `json:"consumed_by,omitempty"`
}

// ConsumedBy is the wait that consumed a signal.
type ConsumedBy struct {
	WaitID     spec.WaitID `json:"wait_id"`
	Generation int         `json:"generation"`
}

// Signal tells what became of a signal, for the life of the run. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Signal(ctx context.Context, run spec.RunID, id spec.SignalID) (SignalReceipt, error) {
	var s SignalReceipt
	if err := id.Validate(); err != nil {
		return s, refuse(err)
	}
	at, err := runPath(run, "/signals/", string(id))
	if err != nil {
		return s, err
	}
	return s, c.do(ctx, request{method: "GET", path: at}, &s)
}

// SignalWithStartRequest says what to start, or to attach to, and what to send it. Without a RunID and without an ID of the
// message these are made, before the first try.
type SignalWithStartRequest struct {
	Start  StartRequest // its Workflow names the route
	Name   string       // of the signal
	Signal Message
}

// SignalWithStarted is the answer to a signal with a start.
type SignalWithStarted struct {
	SignalSent
	RunID        spec.RunID `json:"run_id"`
	StartedFresh bool       `json:"started_fresh"` // false: the run was there, or this is a duplicate
}

// SignalWithStart starts a run, or attaches to it, and sends it a signal, in one transaction. Errors: those of Start and of
// SendSignal; ErrConflict also for a run of another workflow.
func (c *Client) SignalWithStart(ctx context.Context, r SignalWithStartRequest) (SignalWithStarted, error) {
	var s SignalWithStarted
	req, err := c.withStart(r.Start, "signal", r.Name, r.Signal)
	if err != nil {
		return s, err
	}
	return s, c.do(ctx, req, &s)
}

// withStart is the request of a message with a start.
func (c *Client) withStart(s StartRequest, kind, name string, m Message) (request, error) {
	var r request
	if err := spec.CheckName("workflow", s.Workflow); err != nil {
		return r, refuse(err)
	}
	run, err := c.identity(string(s.RunID))
	if err != nil {
		return r, err
	}
	id, err := c.identity(m.ID)
	if err != nil {
		return r, err
	}
	if err := spec.SignalID(id).Validate(); err != nil {
		return r, refuse(err)
	}
	body := map[string]any{"run_id": run, kind: struct {
		Name    string          `json:"name"`
		ID      string          `json:"id"`
		Payload json.RawMessage `json:"payload,omitempty"`
	}{name, id, m.Payload}}
	if s.Version != "" {
		body["version"] = s.Version
	}
	if len(s.Input) > 0 {
		body["input"] = s.Input
	}
	if s.Labels != nil {
		body["labels"] = s.Labels
	}
	r = request{method: "POST", path: path("/v1/workflows/", s.Workflow, "/"+kind+"-with-start")}
	r.body, err = encode(body)
	return r, err
}
