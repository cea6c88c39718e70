package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	defaultPage = 50
	maxPage     = 200
)

// Page is one page of a list, newest first. NextCursor is empty on the last page.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// RunQuery filters a list of runs; empty fields pass everything. Labels must all be there, exactly.
type RunQuery struct {
	Workflow string
	Status   string
	Labels   spec.Labels
	Cursor   string // NextCursor of the page before
	Limit    int    // at most 200; 0 means 50
}

// ListRuns lists the runs of the namespace, the one started last first. Errors: *InvalidError, ErrUnavailable.
func (h *Handle) ListRuns(ctx context.Context, q RunQuery) (Page[RunSummary], error) {
	if err := checkRunQuery(&q); err != nil {
		return Page[RunSummary]{}, err
	}
	runs, next, err := h.e.store.ListRuns(ctx, db.RunFilter{
		Namespace: h.ns, Workflow: q.Workflow, Status: history.Status(q.Status), Labels: q.Labels,
		Cursor: q.Cursor, Limit: q.Limit,
	})
	if err != nil {
		return Page[RunSummary]{}, err
	}
	return page(runs, next, summarize), nil
}

func checkRunQuery(q *RunQuery) error {
	if q.Workflow != "" {
		if err := spec.CheckName("workflow", q.Workflow); err != nil {
			return err
		}
	}
	switch Status(q.Status) {
	case "", StatusRunning, StatusBlocked, StatusCompleted, StatusFailed, StatusCancelled:
	default:
		return &InvalidError{Field: "status", Rule: "must be running, blocked, completed, failed or cancelled"}
	}
	if err := q.Labels.Validate(); err != nil {
		return err
	}
	return checkLimit(&q.Limit)
}

func checkLimit(limit *int) error {
	if *limit == 0 {
		*limit = defaultPage
	}
	if *limit < 1 || *limit > maxPage {
		return &InvalidError{Field: "limit", Rule: fmt.Sprintf("must be 1 to %d", maxPage)}
	}
	return nil
}

func page[S, T any](items []S, next string, show func(S) T) Page[T] {
	p := Page[T]{Items: make([]T, len(items)), NextCursor: next}
	for i, item := range items {
		p.Items[i] = show(item)
	}
	return p
}

// HookQuery filters a list of hooks; empty fields pass everything. Labels must all be there, exactly.
type HookQuery struct {
	RunID     spec.RunID
	State     string        // active, resumed, disposed, expired, cancelled or run_ended
	Labels    spec.Labels   // of the hook's metadata
	OlderThan time.Duration // created at least so long ago
	Cursor    string        // NextCursor of the page before
	Limit     int           // at most 200; 0 means 50
}

// HookView is a hook as callers may see it: neither its token nor a digest of it. Its JSON is the hook of the HTTP
// contract.
type HookView struct {
	RunID      spec.RunID          `json:"run_id"`
	HookID     spec.HookID         `json:"hook_id"`
	Name       string              `json:"name"`
	State      string              `json:"state"` // an active hook past its deadline is expired
	Kind       string              `json:"kind,omitempty"`
	Subject    string              `json:"subject,omitempty"`
	Labels     spec.Labels         `json:"labels"`
	Data       map[string]any      `json:"data"`
	Route      *spec.CallbackRoute `json:"route,omitempty"`
	Requester  string              `json:"requester,omitempty"` // who asks and may not answer
	Rule       *spec.ApprovalRule  `json:"rule,omitempty"`
	ExpiresAt  *time.Time          `json:"expires_at,omitempty"`
	CreatedAt  time.Time           `json:"created_at"`
	ResolvedAt *time.Time          `json:"resolved_at,omitempty"`
	Actor      string              `json:"actor,omitempty"` // who answered or withdrew it
	Age        Duration            `json:"age"`             // since it was created
}

// Duration is a time.Duration whose JSON is its text, such as "1h30m0s".
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = Duration(parsed)
	return err
}

// ListHooks lists the hooks of the namespace or of one run, the one created last first. Errors: *InvalidError,
// ErrRunNotFound where a run is named, ErrUnavailable.
func (h *Handle) ListHooks(ctx context.Context, q HookQuery) (Page[HookView], error) {
	if err := checkHookQuery(&q); err != nil {
		return Page[HookView]{}, err
	}
	hooks, next, err := h.e.store.ListHooks(ctx, db.HookFilter{
		Namespace: h.ns, Run: q.RunID, State: history.HookState(q.State), Labels: q.Labels, OlderThan: q.OlderThan,
		Cursor: q.Cursor, Limit: q.Limit,
	})
	if err != nil {
		return Page[HookView]{}, err
	}
	if len(hooks) == 0 && q.RunID != "" {
		// A run without hooks and no run at all are two answers.
		if _, err := h.e.store.ReadRun(ctx, history.RunKey{Namespace: h.ns, RunID: q.RunID}); err != nil {
			return Page[HookView]{}, err
		}
	}
	return page(hooks, next, showHookView), nil
}

func checkHookQuery(q *HookQuery) error {
	if q.RunID != "" {
		if err := q.RunID.Validate(); err != nil {
			return err
		}
	}
	switch history.HookState(q.State) {
	case "", history.StateActive, history.StateResumed, history.StateDisposed, history.StateExpired,
		history.StateCancelled, history.StateRunEnded:
	default:
		return &InvalidError{Field: "state", Rule: "must be active, resumed, disposed, expired, cancelled or run_ended"}
	}
	if q.OlderThan < 0 {
		return &InvalidError{Field: "older_than", Rule: "must not be negative"}
	}
	if err := q.Labels.Validate(); err != nil {
		return err
	}
	return checkLimit(&q.Limit)
}

// Hook reads one hook. Errors: *InvalidError, ErrHookNotFound, also where there is no such run, ErrUnavailable.
func (h *Handle) Hook(ctx context.Context, run spec.RunID, id spec.HookID) (HookView, error) {
	key, err := h.hook(HookRequest{RunID: run, HookID: id})
	if err != nil {
		return HookView{}, err
	}
	view, err := h.e.store.Hook(ctx, key, id)
	if err != nil {
		return HookView{}, err
	}
	return showHookView(view), nil
}

// showHookView shows a hook as of the time it was read.
func showHookView(v db.HookView) HookView { return showHook(v.Run.RunID, v.Hook, v.ReadAt) }

func showHook(run spec.RunID, h history.Hook, now time.Time) HookView {
	m := h.Metadata
	shown := HookView{
		RunID: run, HookID: h.ID, Name: h.Name, State: string(h.State), Kind: m.Kind, Subject: m.Subject,
		Labels: m.Labels, Data: m.Data, Route: m.Route, Requester: m.Requester, Rule: m.Rule,
		ExpiresAt: h.ExpiresAt, CreatedAt: h.CreatedAt,
		ResolvedAt: h.ResolvedAt, Actor: h.Actor, Age: Duration(now.Sub(h.CreatedAt).Round(time.Millisecond)),
	}
	if h.Expired(now) {
		shown.State = string(history.StateExpired)
	}
	if shown.Labels == nil {
		shown.Labels = spec.Labels{}
	}
	if shown.Data == nil {
		shown.Data = map[string]any{}
	}
	return shown
}
