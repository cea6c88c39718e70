package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Snapshot is a run as it stands. Its JSON is the run of the HTTP contract.
type Snapshot struct {
	RunID         spec.RunID      `json:"run_id"`
	Workflow      string          `json:"workflow"`
	Version       string          `json:"version"`
	Status        Status          `json:"status"`
	Generation    int             `json:"generation"`
	HistoryLength int64           `json:"history_length"`           // events of the generation
	Input         json.RawMessage `json:"input"`                    // of the generation
	Output        json.RawMessage `json:"output,omitempty"`         // of a completed run
	Error         string          `json:"error,omitempty"`          // of a failed run
	BlockedReason string          `json:"blocked_reason,omitempty"` // why nothing goes on
	Labels        spec.Labels     `json:"labels"`
	Waiting       []Waiting       `json:"waiting"` // what is open, in the order of opening
	UnreadSignals int             `json:"unread_signals"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	ClosedAt      *time.Time      `json:"closed_at,omitempty"`
}

// Status is where a run stands.
type Status = history.Status

// The statuses of a run. The last three are ends.
const (
	StatusRunning   = history.Running
	StatusBlocked   = history.Blocked // its code panicked, erred, ran too long or contradicts the history
	StatusCompleted = history.Completed
	StatusFailed    = history.Failed
	StatusCancelled = history.Cancelled
)

// Waiting is one thing that a run waits for.
type Waiting struct {
	Kind      string     `json:"kind"` // signal, hook, timer, step, child or call
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"` // the signal of a wait or a call, the declared name of a hook or a step, the workflow of a child
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Snapshot reads a run. For a run that has not ended it folds the generation's events, to tell what the run waits for.
// Errors: *InvalidError, ErrRunNotFound, ErrUnavailable.
func (h *Handle) Snapshot(ctx context.Context, id spec.RunID) (Snapshot, error) {
	key, err := h.key(id)
	if err != nil {
		return Snapshot{}, err
	}
	view, err := h.e.store.ReadRun(ctx, key)
	if err != nil {
		return Snapshot{}, err
	}
	if view.Status.Ended() {
		return showRow(view), nil
	}
	state, run, err := h.e.store.State(ctx, key)
	if damaged(err) {
		return showRow(view), nil // its row tells why it is blocked, and nobody what it waits for
	}
	if err != nil {
		return Snapshot{}, err
	}
	if run.Status.Ended() { // between the two reads; an end is final
		view, err = h.e.store.ReadRun(ctx, key)
		return showRow(view), err
	}
	s := summarize(run).snapshot()
	s.Input, s.Waiting = state.Input().Bytes(), waitingFor(state.Waiting())
	if s.Status == StatusRunning {
		s.BlockedReason, err = h.e.unattended(ctx, run)
	}
	return s, err
}

// damaged says that the stored events of the run do not make a state.
func damaged(err error) bool { return as[*history.FoldError](err) || as[*history.DecodeError](err) }

// showRow is all of a run that has ended; of another one it lacks what the run waits for.
func showRow(view db.RunView) Snapshot {
	s := summarize(view.Run).snapshot()
	s.Input, s.Output, s.Error = view.Input, view.Output, view.Error
	return s
}

func waitingFor(open []history.Open) []Waiting {
	list := make([]Waiting, len(open))
	for i, o := range open {
		list[i] = Waiting{Kind: string(o.Kind), ID: o.ID, Name: o.Name, ExpiresAt: o.Deadline}
		if o.Kind == history.KindWait {
			list[i].Kind = "signal"
		}
	}
	return list
}

// RunSummary is a run in a list: a Snapshot without what takes a fold or a payload.
type RunSummary struct {
	RunID         spec.RunID  `json:"run_id"`
	Workflow      string      `json:"workflow"`
	Version       string      `json:"version"`
	Status        Status      `json:"status"`
	Generation    int         `json:"generation"`
	HistoryLength int64       `json:"history_length"`
	BlockedReason string      `json:"blocked_reason,omitempty"`
	Labels        spec.Labels `json:"labels"`
	UnreadSignals int         `json:"unread_signals"`
	CreatedAt     time.Time   `json:"created_at"`
	UpdatedAt     time.Time   `json:"updated_at"`
	ClosedAt      *time.Time  `json:"closed_at,omitempty"`
}

func summarize(r history.Run) RunSummary {
	s := RunSummary{
		RunID: r.Key.RunID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, Generation: r.Generation,
		HistoryLength: r.HistoryLength(), Labels: r.Labels, UnreadSignals: r.Backlog,
		CreatedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, ClosedAt: r.ClosedAt,
	}
	if r.Status == history.Blocked {
		s.BlockedReason = fmt.Sprintf("%s: %s", r.BlockCause, r.BlockDiagnosis)
	}
	if s.Labels == nil {
		s.Labels = spec.Labels{}
	}
	return s
}

func (s RunSummary) snapshot() Snapshot {
	return Snapshot{
		RunID: s.RunID, Workflow: s.Workflow, Version: s.Version, Status: s.Status, Generation: s.Generation,
		HistoryLength: s.HistoryLength, BlockedReason: s.BlockedReason, Labels: s.Labels, Waiting: []Waiting{},
		UnreadSignals: s.UnreadSignals, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, ClosedAt: s.ClosedAt,
	}
}

// unattended words why a running run will not go on: no live process has its code. It writes nothing; the run is due
// the moment such a process comes.
func (e *Engine) unattended(ctx context.Context, r history.Run) (string, error) {
	live, err := e.attended(ctx, r)
	if err != nil || live {
		return "", err
	}
	return "no live process registers " + Code{Workflow: r.Workflow, Version: r.Version}.String(), nil
}

// attended says that a live process has the code of a run.
func (e *Engine) attended(ctx context.Context, r history.Run) (bool, error) {
	code := Code{Workflow: r.Workflow, Version: r.Version}
	if _, own := e.registry.get(code); own && e.started.Load() {
		return true, nil
	}
	live, err := e.live.codes(ctx)
	return live[db.Code(code)], err
}

// liveLife is how long the list of live code is used without asking again.
const liveLife = time.Second

// liveCodes caches which code live processes register.
type liveCodes struct {
	load  func(context.Context) (map[db.Code]bool, error)
	clock func() time.Time

	mu    sync.Mutex
	known map[db.Code]bool
	till  time.Time
}

func (l *liveCodes) codes(ctx context.Context) (map[db.Code]bool, error) {
	l.mu.Lock()
	known, fresh := l.known, l.clock().Before(l.till)
	l.mu.Unlock()
	if fresh {
		return known, nil
	}
	known, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.till = known, l.clock().Add(liveLife)
	return known, nil
}
