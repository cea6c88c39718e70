package gateway

import (
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// The views below are those of the engine with times as the contract writes them: a member of a view stands in for the
// one of the same name in what it embeds.

// stamp is a time as the contract writes it: RFC 3339 with microseconds, UTC.
type stamp time.Time

// MarshalText implements encoding.TextMarshaler.
func (s stamp) MarshalText() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000000Z07:00"), nil
}

func stampOf(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	s := stamp(*t)
	return &s
}

type runTimes struct {
	CreatedAt stamp  `json:"created_at"`
	UpdatedAt stamp  `json:"updated_at"`
	ClosedAt  *stamp `json:"closed_at,omitempty"`
}

// runView is a run.
type runView struct {
	snapshotView
	runTimes
	Waiting []waitingView `json:"waiting"`
}

// snapshotView moves the engine's members one level down, below those that stand in for them.
type snapshotView struct{ engine.Snapshot }

type waitingView struct {
	engine.Waiting
	ExpiresAt *stamp `json:"expires_at,omitempty"`
}

func viewRun(s engine.Snapshot) runView {
	v := runView{
		snapshotView: snapshotView{s},
		runTimes:     runTimes{stamp(s.CreatedAt), stamp(s.UpdatedAt), stampOf(s.ClosedAt)},
		Waiting:      make([]waitingView, len(s.Waiting)),
	}
	for i, w := range s.Waiting {
		v.Waiting[i] = waitingView{w, stampOf(w.ExpiresAt)}
	}
	return v
}

// summaryView is a run in a list.
type summaryView struct {
	summary
	runTimes
}

type summary struct{ engine.RunSummary }

func viewSummary(s engine.RunSummary) summaryView {
	return summaryView{summary{s}, runTimes{stamp(s.CreatedAt), stamp(s.UpdatedAt), stampOf(s.ClosedAt)}}
}

// hookView is a hook.
type hookView struct {
	engine.HookView
	ExpiresAt  *stamp `json:"expires_at,omitempty"`
	CreatedAt  stamp  `json:"created_at"`
	ResolvedAt *stamp `json:"resolved_at,omitempty"`
}

func viewHook(h engine.HookView) hookView {
	return hookView{h, stampOf(h.ExpiresAt), stamp(h.CreatedAt), stampOf(h.ResolvedAt)}
}

// signalView is the receipt of a signal.
type signalView struct {
	engine.SignalReceipt
	ReceivedAt stamp `json:"received_at"`
}

// updateView is an update and what became of it.
type updateView struct {
	engine.UpdateResult
	ReceivedAt stamp  `json:"received_at"`
	ResolvedAt *stamp `json:"resolved_at,omitempty"`
}

// historyView is a page of events.
type historyView struct {
	Events     []eventView `json:"events"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

type eventView struct {
	engine.HistoryEvent
	At stamp `json:"at"`
}

func viewHistory(p engine.HistoryPage) historyView {
	v := historyView{Events: make([]eventView, len(p.Events)), NextCursor: p.NextCursor}
	for i, e := range p.Events {
		v.Events[i] = eventView{e, stamp(e.At)}
	}
	return v
}

func viewPage[S, T any](p engine.Page[S], view func(S) T) engine.Page[T] {
	v := engine.Page[T]{Items: make([]T, len(p.Items)), NextCursor: p.NextCursor}
	for i, item := range p.Items {
		v.Items[i] = view(item)
	}
	return v
}
