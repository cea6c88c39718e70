package proof

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// What reads show, as JSON with the members of the engine's own.
type (
	snapshotView struct {
		RunID         spec.RunID      `json:"run_id"`
		Workflow      string          `json:"workflow"`
		Version       string          `json:"version"`
		Status        history.Status  `json:"status"`
		Generation    int             `json:"generation"`
		HistoryLength int64           `json:"history_length"`
		Input         json.RawMessage `json:"input"`
		Output        json.RawMessage `json:"output,omitempty"`
		Error         string          `json:"error,omitempty"`
		BlockedReason string          `json:"blocked_reason,omitempty"`
		Labels        spec.Labels     `json:"labels"`
		Waiting       []waitingView   `json:"waiting"`
		UnreadSignals int             `json:"unread_signals"`
		CreatedAt     time.Time       `json:"created_at"`
		UpdatedAt     time.Time       `json:"updated_at"`
		ClosedAt      *time.Time      `json:"closed_at,omitempty"`
	}
	waitingView struct {
		Kind      string     `json:"kind"`
		ID        string     `json:"id"`
		Name      string     `json:"name,omitempty"`
		ExpiresAt *time.Time `json:"expires_at,omitempty"`
	}
	receiptView struct {
		RunID      spec.RunID    `json:"run_id"`
		SignalID   spec.SignalID `json:"signal_id"`
		Name       string        `json:"name"`
		Sequence   int64         `json:"sequence"`
		ReceivedAt time.Time     `json:"received_at"`
		Actor      string        `json:"actor,omitempty"`
		Source     string        `json:"source"`
		State      string        `json:"state"`
		ConsumedBy *consumedView `json:"consumed_by,omitempty"`
	}
	consumedView struct {
		WaitID     spec.WaitID `json:"wait_id"`
		Generation int         `json:"generation"`
	}
	fateView struct {
		RunID      spec.RunID          `json:"run_id"`
		UpdateID   spec.UpdateID       `json:"update_id"`
		Name       string              `json:"name"`
		Sequence   int64               `json:"sequence"`
		ReceivedAt time.Time           `json:"received_at"`
		Actor      string              `json:"actor,omitempty"`
		Source     string              `json:"source"`
		State      history.UpdateState `json:"state"`
		ResolvedAt *time.Time          `json:"resolved_at,omitempty"`
		Result     json.RawMessage     `json:"result,omitempty"`
		Refused    string              `json:"refused"`
	}
	hookView struct {
		RunID      spec.RunID          `json:"run_id"`
		HookID     spec.HookID         `json:"hook_id"`
		Name       string              `json:"name"`
		State      string              `json:"state"`
		Kind       string              `json:"kind,omitempty"`
		Subject    string              `json:"subject,omitempty"`
		Labels     spec.Labels         `json:"labels"`
		Data       map[string]any      `json:"data"`
		Route      *spec.CallbackRoute `json:"route,omitempty"`
		Requester  string              `json:"requester,omitempty"`
		Rule       *spec.ApprovalRule  `json:"rule,omitempty"`
		ExpiresAt  *time.Time          `json:"expires_at,omitempty"`
		CreatedAt  time.Time           `json:"created_at"`
		ResolvedAt *time.Time          `json:"resolved_at,omitempty"`
		Actor      string              `json:"actor,omitempty"`
		Age        string              `json:"age"`
	}
)

// read answers what a caller asks to see.
func (m *Model) read(o Operation) (string, error) {
	r := m.runs[o.Key(m.Trace)]
	switch {
	case r == nil && o.Verb == Hook:
		return "", history.ErrHookNotFound
	case r == nil:
		return "", history.ErrRunNotFound
	}
	var (
		view any
		err  error
	)
	switch o.Verb {
	case Snapshot:
		view, err = r.snapshot()
	case Receipt:
		view, err = r.receipt(spec.SignalID(o.ID))
	case Fate:
		view, err = r.fate(spec.UpdateID(o.ID))
	case Hook:
		view, err = r.hook(spec.HookID(o.ID), m.Now)
	default:
		view, err = r.public()
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(view)
	return Shown(text), err
}

var (
	tokenIDs = regexp.MustCompile(`"token_id":"[0-9a-f]*"`)
	panics   = regexp.MustCompile(Panicked + `[^"]*`)
)

// Shown is the JSON of what a read showed, without what differs between drivers: the IDs of tokens that chance made, and
// where code panicked.
func Shown(text []byte) string {
	text = tokenIDs.ReplaceAll(text, []byte(`"token_id":""`))
	return string(panics.ReplaceAll(text, []byte(Panicked)))
}

func (r *modelRun) snapshot() (snapshotView, error) {
	v := snapshotView{
		RunID: r.run.Key.RunID, Workflow: r.run.Workflow, Version: r.run.Version, Status: r.run.Status,
		Generation: r.run.Generation, HistoryLength: r.run.HistoryLength(), Labels: spec.Labels{}, Waiting: []waitingView{},
		UnreadSignals: r.run.Backlog, CreatedAt: r.run.StartedAt, UpdatedAt: r.run.UpdatedAt, ClosedAt: r.run.ClosedAt,
	}
	if r.run.Status == history.Blocked {
		v.BlockedReason = fmt.Sprintf("%s: %s", r.run.BlockCause, r.run.BlockDiagnosis)
	}
	s, err := r.state()
	if err != nil {
		return v, err
	}
	v.Input = s.Input().Bytes()
	switch d := r.events[len(r.events)-1].Data.(type) {
	case *history.RunCompleted:
		v.Output = d.Output.Bytes()
	case *history.RunFailed:
		v.Error = d.Message
	}
	if r.run.Status.Ended() {
		return v, nil
	}
	for _, o := range s.Waiting() {
		w := waitingView{Kind: string(o.Kind), ID: o.ID, Name: o.Name, ExpiresAt: o.Deadline}
		if o.Kind == history.KindWait {
			w.Kind = "signal"
		}
		v.Waiting = append(v.Waiting, w)
	}
	return v, nil
}

func (r *modelRun) receipt(id spec.SignalID) (receiptView, error) {
	s, ok := r.signals[id]
	if !ok {
		return receiptView{}, ErrSignalNotFound
	}
	v := receiptView{
		RunID: r.run.Key.RunID, SignalID: id, Name: s.Name, Sequence: s.Seq, ReceivedAt: s.ReceivedAt, Actor: s.Actor,
		Source: s.Source, State: "queued",
	}
	switch {
	case s.ConsumedBy != nil:
		v.State, v.ConsumedBy = "consumed", &consumedView{s.ConsumedBy.WaitID, s.ConsumedBy.Generation}
	case r.run.Status.Ended():
		v.State = "unread_at_end"
	}
	return v, nil
}

// fate is what became of an update. Refused is how a driver words why there is no result.
func (r *modelRun) fate(id spec.UpdateID) (fateView, error) {
	u, ok := r.updates[id]
	if !ok {
		return fateView{}, ErrUpdateNotFound
	}
	v := fateView{
		RunID: r.run.Key.RunID, UpdateID: id, Name: u.Name, Sequence: u.Seq, ReceivedAt: u.ReceivedAt, Actor: u.Actor,
		Source: u.Source, State: u.State, ResolvedAt: u.ResolvedAt,
	}
	if u.State == history.UpdateIsOpen {
		return v, nil
	}
	switch d := r.events[u.ResolvedSeq-1].Data.(type) {
	case *history.UpdateCompleted:
		v.Result = d.Output.Bytes()
	case *history.UpdateRejected:
		v.Refused = "the update was rejected: " + d.Message
	case *history.UpdateOrphaned:
		v.Refused = "the run ended before it answered the update: " + string(d.Cause)
	}
	return v, nil
}

func (r *modelRun) hook(id spec.HookID, now time.Time) (hookView, error) {
	h, ok := r.hooks[id]
	if !ok {
		return hookView{}, history.ErrHookNotFound
	}
	v := hookView{
		RunID: r.run.Key.RunID, HookID: id, Name: h.Name, State: string(h.State), Kind: h.Metadata.Kind,
		Subject: h.Metadata.Subject, Labels: h.Metadata.Labels, Data: h.Metadata.Data, Route: h.Metadata.Route,
		Requester: h.Metadata.Requester, Rule: h.Metadata.Rule,
		ExpiresAt: h.ExpiresAt, CreatedAt: h.CreatedAt, ResolvedAt: h.ResolvedAt, Actor: h.Actor,
		Age: now.Sub(h.CreatedAt).Round(time.Millisecond).String(),
	}
	if h.Expired(now) {
		v.State = string(history.StateExpired)
	}
	return v, nil
}

// PublicEvent is an event as callers see it, with the members of the engine's own.
type PublicEvent struct {
	Generation int             `json:"generation"`
	Seq        int64           `json:"seq"`
	Type       string          `json:"type"`
	At         time.Time       `json:"at"`
	Data       json.RawMessage `json:"data"`
}

// public shows the events of the newest generation.
func (r *modelRun) public() ([]PublicEvent, error) {
	var shown []PublicEvent
	for _, e := range r.events {
		if e.Generation != r.run.Generation {
			continue
		}
		data, err := history.Public(e)
		if err != nil {
			return nil, err
		}
		shown = append(shown, PublicEvent{e.Generation, e.Seq, string(e.Data.Type()), e.At, data})
	}
	return shown, nil
}
