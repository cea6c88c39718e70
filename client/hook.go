package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Hook is a hook, never its token.
type Hook struct {
	Answer
	RunID      spec.RunID          `json:"run_id"`
	HookID     spec.HookID         `json:"hook_id"`
	Name       string              `json:"name"`
	State      string              `json:"state"` // active, resumed, disposed, expired, cancelled or run_ended
	Kind       string              `json:"kind,omitempty"`
	Subject    string              `json:"subject,omitempty"`
	Labels     spec.Labels         `json:"labels"`
	Data       map[string]any      `json:"data"`
	Route      *spec.CallbackRoute `json:"route,omitempty"`
	Requester  string              `json:"requester,omitempty"` // who asks and may not answer
	ExpiresAt  *time.Time          `json:"expires_at,omitempty"`
	CreatedAt  time.Time           `json:"created_at"`
	ResolvedAt *time.Time          `json:"resolved_at,omitempty"`
	Actor      string              `json:"actor,omitempty"`
	Age        string              `json:"age"` // a Go duration
}

// HookQuery filters a list of hooks; empty fields pass everything.
type HookQuery struct {
	RunID     spec.RunID // of this run, which must be there
	State     string
	Labels    spec.Labels
	OlderThan time.Duration
	Cursor    string // NextCursor of the page before
	Limit     int    // of a page, at most 200; 0 is 50
}

// HooksPage lists hooks, the newest first. Errors: ErrUnknown for the run, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) HooksPage(ctx context.Context, q HookQuery) (Page[Hook], error) {
	at := "/v1/hooks"
	if q.RunID != "" {
		var err error
		if at, err = runPath(q.RunID, "/hooks"); err != nil {
			return Page[Hook]{}, err
		}
	}
	with := parameters{}.with("state", q.State).labels(q.Labels).page(q.Cursor, q.Limit)
	if q.OlderThan > 0 {
		with.with("older_than", q.OlderThan.String())
	}
	return list[Hook](ctx, c, at, with)
}

// Hooks goes through all pages of HooksPage.
func (c *Client) Hooks(ctx context.Context, q HookQuery) iter.Seq2[Hook, error] {
	return each(func(cursor string) (Page[Hook], error) {
		q.Cursor = first(cursor, q.Cursor)
		return c.HooksPage(ctx, q)
	})
}

// Hook reads a hook. Errors: ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) Hook(ctx context.Context, run spec.RunID, hook spec.HookID) (Hook, error) {
	var h Hook
	at, err := hookPath(run, hook, "")
	if err != nil {
		return h, err
	}
	return h, c.do(ctx, request{method: "GET", path: at}, &h)
}

// ResumeHook answers a hook by its IDs. The equal answer again is a duplicate. Errors: ErrConflict for another answer than the
// one that stands, ErrGone with Problem.Cause for a hook that closed without one, ErrUnknown, ErrInvalid for a payload that
// breaks the schema, ErrDenied, ErrBusy.
func (c *Client) ResumeHook(ctx context.Context, run spec.RunID, hook spec.HookID, answer json.RawMessage) (AcceptedMessage, error) {
	return c.hookMessage(ctx, run, hook, "/resume", payload(answer))
}

// DisposeHook withdraws a hook by its IDs. Again it is a duplicate. Errors: ErrConflict for one that was answered, ErrGone for
// one that closed otherwise, ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) DisposeHook(ctx context.Context, run spec.RunID, hook spec.HookID) (AcceptedMessage, error) {
	return c.hookMessage(ctx, run, hook, "/dispose", nil)
}

func (c *Client) hookMessage(ctx context.Context, run spec.RunID, hook spec.HookID, what string, body []byte) (AcceptedMessage, error) {
	var a AcceptedMessage
	at, err := hookPath(run, hook, what)
	if err != nil {
		return a, err
	}
	return a, c.do(ctx, request{method: "POST", path: at, body: body}, &a)
}

// DisposeHookByToken withdraws a hook of the caller's namespace by its token, which goes into the body. Errors: those of
// DisposeHook.
func (c *Client) DisposeHookByToken(ctx context.Context, token string) (AcceptedMessage, error) {
	var a AcceptedMessage
	body, err := encode(map[string]string{"token": token})
	if err != nil {
		return a, err
	}
	return a, c.do(ctx, request{method: "POST", path: "/v1/hooks/dispose", body: body}, &a)
}

// Link is the link of a hook. Whoever has it may answer: keep it out of logs.
type Link struct {
	Answer
	Token     string     `json:"token"`
	URL       string     `json:"url"`
	TokenID   string     `json:"token_id"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// HookLink shows the link of an open hook, the same on every call. Errors: ErrConflict for a token that workflow code chose,
// ErrGone for a hook that closed, ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) HookLink(ctx context.Context, run spec.RunID, hook spec.HookID) (Link, error) {
	var l Link
	at, err := hookPath(run, hook, "/token")
	if err != nil {
		return l, err
	}
	return l, c.do(ctx, request{method: "POST", path: at}, &l)
}

// ResumeByToken answers a hook as the holder of its token, which is sent as a bearer credential in place of the client's own.
// It needs no other. The receipt has no IDs. Errors: those of ResumeHook.
func (c *Client) ResumeByToken(ctx context.Context, token string, answer json.RawMessage) (AcceptedMessage, error) {
	var a AcceptedMessage
	return a, c.do(ctx, request{method: "POST", path: callbacks, bearer: token, anonymous: true, body: payload(answer)}, &a)
}

// ResumeByLink is ResumeByToken with the token in the path and the client's own credential beside it, for hooks that want both.
func (c *Client) ResumeByLink(ctx context.Context, token string, answer json.RawMessage) (AcceptedMessage, error) {
	var a AcceptedMessage
	return a, c.do(ctx, request{method: "POST", path: path(callbacks+"/", token), body: payload(answer)}, &a)
}

// WithdrawByToken withdraws a hook as the holder of its token, where the hook's spec lets that. Errors: those of DisposeHook.
func (c *Client) WithdrawByToken(ctx context.Context, token string) (AcceptedMessage, error) {
	var a AcceptedMessage
	return a, c.do(ctx, request{method: "DELETE", path: path(callbacks+"/", token)}, &a)
}

const callbacks = "/callbacks/flow/hooks"

func hookPath(run spec.RunID, hook spec.HookID, below string) (string, error) {
	if err := hook.Validate(); err != nil {
		return "", refuse(err)
	}
	return runPath(run, "/hooks/", string(hook), below)
}
