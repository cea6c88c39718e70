package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Receipt is the durable record of an accepted message.
type Receipt struct {
	RunID      spec.RunID    `json:"run_id,omitempty"`
	HookID     spec.HookID   `json:"hook_id,omitempty"`
	SignalID   spec.SignalID `json:"signal_id,omitempty"`
	UpdateID   spec.UpdateID `json:"update_id,omitempty"`
	Sequence   int64         `json:"sequence,omitempty"`
	ReceivedAt *time.Time    `json:"received_at,omitempty"`
}

// AcceptedMessage is the answer to a message.
type AcceptedMessage struct {
	Answer
	Outcome string  `json:"outcome"` // accepted, duplicate or disposed
	Receipt Receipt `json:"receipt"`
	ID      string  `json:"request_id"`
}

// Duplicate says that the message had been accepted before, perhaps by an earlier try of this very call, and changed nothing.
func (a AcceptedMessage) Duplicate() bool { return a.Verdict == Duplicate }

// Run is a run.
type Run struct {
	Answer
	RunID         spec.RunID      `json:"run_id"`
	Workflow      string          `json:"workflow"`
	Version       string          `json:"version"`
	Status        string          `json:"status"` // running, blocked, completed, failed or cancelled
	Generation    int             `json:"generation"`
	HistoryLength int64           `json:"history_length"`
	Input         json.RawMessage `json:"input"`
	Output        json.RawMessage `json:"output,omitempty"`
	Error         string          `json:"error,omitempty"`
	BlockedReason string          `json:"blocked_reason,omitempty"`
	Labels        spec.Labels     `json:"labels"`
	Waiting       []Waiting       `json:"waiting"` // of a run in a list: nil
	UnreadSignals int             `json:"unread_signals"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	ClosedAt      *time.Time      `json:"closed_at,omitempty"`
}

// Ended says that the run has an end: completed, failed or cancelled.
func (r Run) Ended() bool { return r.ClosedAt != nil }

// Waiting is something that a run waits for.
type Waiting struct {
	Kind      string     `json:"kind"` // signal, hook, timer, step, child or call
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// StartRequest says what to start. Without a RunID one is made, before the first try.
type StartRequest struct {
	Workflow string          `json:"workflow"`
	Version  string          `json:"version,omitempty"`
	RunID    spec.RunID      `json:"run_id,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Labels   spec.Labels     `json:"labels,omitempty"`
}

// Started is the answer to a start: the receipt and, where it could be read, the run.
type Started struct {
	Run
	Outcome string  `json:"outcome"`
	Receipt Receipt `json:"receipt"`
	ID      string  `json:"request_id"`
}

// Duplicate says that the same start had been accepted before.
func (s Started) Duplicate() bool { return s.Verdict == Duplicate }

// Start starts a run. The same start under the same run ID is a duplicate. Errors: ErrConflict for a run of this ID that was
// started otherwise, ErrUnknown for the workflow or its version, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Start(ctx context.Context, r StartRequest) (Started, error) {
	var s Started
	id, err := c.identity(string(r.RunID))
	if err != nil {
		return s, err
	}
	r.RunID = spec.RunID(id)
	body, err := encode(r)
	if err != nil {
		return s, err
	}
	return s, c.do(ctx, request{method: "POST", path: "/v1/runs", body: body}, &s)
}

// Run reads a run. A wait of more than zero, at most 60 s, has the gateway answer as soon as the run ends, or when the time is
// over. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Run(ctx context.Context, run spec.RunID, wait time.Duration) (Run, error) {
	var r Run
	at, err := runPath(run)
	if err != nil {
		return r, err
	}
	return r, c.do(ctx, request{method: "GET", path: at, query: waitFor(wait), wait: wait}, &r)
}

// longestWait is the longest that a gateway waits.
const longestWait = 60 * time.Second

// Wait reads a run once it has ended, however long that takes. Errors: those of Run; the context's, with the run as it was
// seen last.
func (c *Client) Wait(ctx context.Context, run spec.RunID) (Run, error) {
	r, err := c.Run(ctx, run, 0)
	for err == nil && !r.Ended() {
		asked := c.options.Clock()
		next, failed := c.Run(ctx, run, longestWait)
		if failed != nil {
			return r, failed
		}
		r = next
		if !r.Ended() && c.options.Clock().Sub(asked) < time.Second { // the gateway has no room for who waits
			err = c.options.Pause(ctx, time.Second)
		}
	}
	return r, err
}

// RunQuery filters a list of runs; empty fields pass everything. Labels must all be there, exactly.
type RunQuery struct {
	Workflow, Status string
	Labels           spec.Labels
	Cursor           string // NextCursor of the page before
	Limit            int    // of a page, at most 200; 0 is 50
}

// RunsPage lists runs, the one started last first. Errors: ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) RunsPage(ctx context.Context, q RunQuery) (Page[Run], error) {
	with := parameters{}.with("workflow", q.Workflow).with("status", q.Status).labels(q.Labels).page(q.Cursor, q.Limit)
	return list[Run](ctx, c, "/v1/runs", with)
}

// Runs goes through all pages of RunsPage.
func (c *Client) Runs(ctx context.Context, q RunQuery) iter.Seq2[Run, error] {
	return each(func(cursor string) (Page[Run], error) {
		q.Cursor = first(cursor, q.Cursor)
		return c.RunsPage(ctx, q)
	})
}

// Event is one event of a history. Data is as docs/http.md says, by type.
type Event struct {
	Generation int             `json:"generation"`
	Seq        int64           `json:"seq"`
	Type       string          `json:"type"`
	At         time.Time       `json:"at"`
	Data       json.RawMessage `json:"data"`
}

// HistoryQuery says which events.
type HistoryQuery struct {
	Generation int    // 0: the newest
	Cursor     string // NextCursor of the page before
	Limit      int    // of a page, at most 200; 0 is 50
}

// HistoryPage is a page of a history, the oldest event first.
type HistoryPage struct {
	Answer
	Events     []Event `json:"events"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

// HistoryPage reads events of one generation of a run. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) HistoryPage(ctx context.Context, run spec.RunID, q HistoryQuery) (HistoryPage, error) {
	var p HistoryPage
	at, err := runPath(run, "/history")
	if err != nil {
		return p, err
	}
	with := parameters{}.page(q.Cursor, q.Limit)
	if q.Generation != 0 {
		with.with("generation", strconv.Itoa(q.Generation))
	}
	return p, c.do(ctx, request{method: "GET", path: at, query: url.Values(with)}, &p)
}

// History goes through all pages of HistoryPage.
func (c *Client) History(ctx context.Context, run spec.RunID, q HistoryQuery) iter.Seq2[Event, error] {
	return each(func(cursor string) (Page[Event], error) {
		q.Cursor = first(cursor, q.Cursor)
		p, err := c.HistoryPage(ctx, run, q)
		return Page[Event]{Items: p.Events, NextCursor: p.NextCursor}, err
	})
}

func first(cursor, before string) string {
	if cursor != "" {
		return cursor
	}
	return before
}

// Cancel ends a run, or asks its code to where the workflow cancels cooperatively. The reason may be empty. Again it is a
// duplicate. Errors: ErrUnknown, ErrGone for a run that completed or failed, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Cancel(ctx context.Context, run spec.RunID, reason string) (AcceptedMessage, error) {
	return c.end(ctx, run, "/cancel", reason)
}

// Terminate ends a run at once, whatever its workflow says. Errors: those of Cancel.
func (c *Client) Terminate(ctx context.Context, run spec.RunID, reason string) (AcceptedMessage, error) {
	return c.end(ctx, run, "/terminate", reason)
}

func (c *Client) end(ctx context.Context, run spec.RunID, how, reason string) (AcceptedMessage, error) {
	var body []byte
	if reason != "" {
		var err error
		if body, err = encode(map[string]string{"reason": reason}); err != nil {
			return AcceptedMessage{}, err
		}
	}
	return c.tell(ctx, run, how, body)
}

// Retry makes a blocked run due now; on another run it changes nothing. Errors: ErrUnknown, ErrGone, ErrInvalid, ErrDenied,
// ErrBusy.
func (c *Client) Retry(ctx context.Context, run spec.RunID) (AcceptedMessage, error) {
	return c.tell(ctx, run, "/retry", nil)
}

// tell sends a message whose identity is the run's.
func (c *Client) tell(ctx context.Context, run spec.RunID, what string, body []byte) (AcceptedMessage, error) {
	var a AcceptedMessage
	at, err := runPath(run, what)
	if err != nil {
		return a, err
	}
	return a, c.do(ctx, request{method: "POST", path: at, body: body}, &a)
}

// runPath is a path below a run.
func runPath(run spec.RunID, below ...string) (string, error) {
	if err := run.Validate(); err != nil {
		return "", refuse(err)
	}
	return path(append([]string{"/v1/runs/", string(run)}, below...)...), nil
}
