package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Letter is a dead letter: a step that was given up or, with the kind message, a webhook that waits for its run or could not
// be delivered. Fields that the other kind has are empty.
type Letter struct {
	Answer
	ID         string     `json:"letter_id"`
	RunID      spec.RunID `json:"run_id"`
	State      string     `json:"state"` // held, failed, replayed, discarded; of a message held, dead, delivered, discarded
	Reason     string     `json:"reason,omitempty"`
	Attempt    int        `json:"attempt"`
	ResolvedAt *time.Time `json:"resolved_at,omitempty"`
	Actor      string     `json:"actor,omitempty"`

	// Of a step.
	Workflow   string      `json:"workflow,omitempty"`
	Generation int         `json:"generation,omitempty"`
	StepID     spec.StepID `json:"step_id,omitempty"`
	Name       string      `json:"name,omitempty"`
	Code       string      `json:"code,omitempty"`
	Message    string      `json:"message,omitempty"`
	CreatedAt  *time.Time  `json:"created_at,omitempty"`

	// Of a message.
	Kind       string          `json:"kind,omitempty"`
	Source     string          `json:"source,omitempty"`
	MessageID  string          `json:"message_id,omitempty"`
	Signal     string          `json:"signal,omitempty"`
	HookID     spec.HookID     `json:"hook_id,omitempty"`
	ReceivedAt *time.Time      `json:"received_at,omitempty"`
	Deadline   *time.Time      `json:"deadline,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"` // not in lists
}

// LetterQuery filters a list of dead letters; empty fields pass everything. Name is for steps; Source, Run and Reason are for
// messages.
type LetterQuery struct {
	Kind   string // step, which is the default, or message
	State  string
	Name   string
	Source string
	Run    spec.RunID
	Reason string
	Cursor string // NextCursor of the page before
	Limit  int    // of a page, at most 200; 0 is 50
}

// LettersPage lists dead letters, the newest first. Errors: ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) LettersPage(ctx context.Context, q LetterQuery) (Page[Letter], error) {
	with := parameters{}.with("kind", q.Kind).with("state", q.State).with("name", q.Name).with("source", q.Source).
		with("run", string(q.Run)).with("reason", q.Reason).page(q.Cursor, q.Limit)
	return list[Letter](ctx, c, "/v1/dead-letters", with)
}

// Letters goes through all pages of LettersPage.
func (c *Client) Letters(ctx context.Context, q LetterQuery) iter.Seq2[Letter, error] {
	return each(func(cursor string) (Page[Letter], error) {
		q.Cursor = first(cursor, q.Cursor)
		return c.LettersPage(ctx, q)
	})
}

// Letter reads a dead letter. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Letter(ctx context.Context, id string) (Letter, error) {
	var l Letter
	at, err := letterPath(id, "")
	if err != nil {
		return l, err
	}
	return l, c.do(ctx, request{method: "GET", path: at}, &l)
}

// LetterDecision is the answer to a decision about a dead letter.
type LetterDecision struct {
	Answer
	ID      string `json:"letter_id"`
	Outcome string `json:"outcome"`
	Request string `json:"request_id"`
}

// Duplicate says that it had been decided so before.
func (d LetterDecision) Duplicate() bool { return d.Verdict == Duplicate }

// ReplayLetter has a held step tried again, or a dead message wait for its run again. Again it is a duplicate. Errors:
// ErrConflict for one that was decided otherwise, ErrGone for a step that its run withdrew, ErrUnknown, ErrDenied, ErrBusy.
func (c *Client) ReplayLetter(ctx context.Context, id string) (LetterDecision, error) {
	return c.decide(ctx, id, "/replay")
}

// DiscardLetter lets a held step fail, or puts a message away. Again it is a duplicate. Errors: those of ReplayLetter.
func (c *Client) DiscardLetter(ctx context.Context, id string) (LetterDecision, error) {
	return c.decide(ctx, id, "/discard")
}

func (c *Client) decide(ctx context.Context, id, how string) (LetterDecision, error) {
	var d LetterDecision
	at, err := letterPath(id, how)
	if err != nil {
		return d, err
	}
	return d, c.do(ctx, request{method: "POST", path: at}, &d)
}

func letterPath(id, below string) (string, error) {
	if err := spec.CheckName("letter_id", id); err != nil {
		return "", refuse(err)
	}
	return "/v1/dead-letters/" + url.PathEscape(id) + below, nil
}
