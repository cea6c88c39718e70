package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// UpdateSent is the answer to an update. The State is open while the workflow has not answered.
type UpdateSent struct {
	AcceptedMessage
	RunID    spec.RunID      `json:"run_id"`
	UpdateID spec.UpdateID   `json:"update_id"`
	State    string          `json:"state,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
}

// SendUpdate asks a run for a change that has a result, and waits for the result so long, at most 60 s; zero does not wait.
// Errors: those of SendSignal; ErrInvalid also when the workflow refuses (Problem.Code update-rejected), ErrGone when the run
// ended before it answered.
func (c *Client) SendUpdate(ctx context.Context, run spec.RunID, name string, m Message, wait time.Duration) (UpdateSent, error) {
	var u UpdateSent
	r, err := c.message(run, "/updates/", name, m)
	if err != nil {
		return u, err
	}
	r.query, r.wait = waitFor(wait), wait
	return u, c.do(ctx, r, &u)
}

// Update is an accepted update and what became of it.
type Update struct {
	Answer
	RunID      spec.RunID      `json:"run_id"`
	UpdateID   spec.UpdateID   `json:"update_id"`
	Name       string          `json:"name"`
	Sequence   int64           `json:"sequence"`
	ReceivedAt time.Time       `json:"received_at"`
	Actor      string          `json:"actor,omitempty"`
	Source     string          `json:"source"`
	State      string          `json:"state"` // open or completed
	ResolvedAt *time.Time      `json:"resolved_at,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// Update tells what became of an update, waiting for its result so long, at most 60 s. Errors: ErrUnknown, ErrInvalid also when
// the workflow refused it, ErrGone when the run ended before it answered, ErrDenied, ErrBusy.
func (c *Client) Update(ctx context.Context, run spec.RunID, id spec.UpdateID, wait time.Duration) (Update, error) {
	var u Update
	if err := id.Validate(); err != nil {
		return u, refuse(err)
	}
	at, err := runPath(run, "/updates/", string(id))
	if err != nil {
		return u, err
	}
	return u, c.do(ctx, request{method: "GET", path: at, query: waitFor(wait), wait: wait}, &u)
}

// UpdateWithStartRequest is SignalWithStartRequest for an update.
type UpdateWithStartRequest struct {
	Start  StartRequest
	Name   string
	Update Message
}

// UpdateWithStarted is the answer to an update with a start.
type UpdateWithStarted struct {
	UpdateSent
	StartedFresh bool `json:"started_fresh"`
}

// UpdateWithStart starts a run, or attaches to it, and sends it an update, in one transaction. Errors: those of Start and of
// SendUpdate.
func (c *Client) UpdateWithStart(ctx context.Context, r UpdateWithStartRequest, wait time.Duration) (UpdateWithStarted, error) {
	var u UpdateWithStarted
	req, err := c.withStart(r.Start, "update", r.Name, r.Update)
	if err != nil {
		return u, err
	}
	req.query, req.wait = waitFor(wait), wait
	return u, c.do(ctx, req, &u)
}

// QueryAnswer is what a run answers to a question.
type QueryAnswer struct {
	Answer
	Result json.RawMessage `json:"result"`
}

// Query asks a run a question, which leaves no trace. A nil argument is none. Errors: ErrUnknown also for a name that is not
// declared, ErrInvalid also when the workflow has no answer, ErrDenied, ErrBusy also when its code fails.
func (c *Client) Query(ctx context.Context, run spec.RunID, name string, arg json.RawMessage) (QueryAnswer, error) {
	var a QueryAnswer
	if err := spec.CheckName("name", name); err != nil {
		return a, refuse(err)
	}
	at, err := runPath(run, "/queries/", name)
	if err != nil {
		return a, err
	}
	r := request{method: "GET", path: at}
	if arg != nil {
		r.method, r.body = "POST", arg
	}
	return a, c.do(ctx, r, &a)
}
