package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Snapshot is the run as it stands. Before Start it is empty.
func (r *Run) Snapshot() engine.Snapshot {
	r.t.Helper()
	s, err := r.r.Snapshot()
	if err != nil && !errors.Is(err, engine.ErrRunNotFound) {
		r.t.Fatalf("read the run: %v", err)
	}
	return s
}

// Status is where the run stands.
func (r *Run) Status() engine.Status {
	r.t.Helper()
	return r.Snapshot().Status
}

// Waiting lists the IDs of what is open, in the order of opening.
func (r *Run) Waiting() []string {
	r.t.Helper()
	ids := []string{}
	for _, w := range r.Snapshot().Waiting {
		ids = append(ids, w.ID)
	}
	return ids
}

// BlockedReason is why the run is blocked: the cause and the diagnosis; empty when it is not.
func (r *Run) BlockedReason() string {
	r.t.Helper()
	return r.Snapshot().BlockedReason
}

// Result is the output of the run. It fails the test unless the run completed.
func (r *Run) Result() json.RawMessage {
	r.t.Helper()
	s := r.Snapshot()
	if s.Status != engine.StatusCompleted {
		r.t.Fatalf("the run is %q, not completed; it waits for %v\n%s", s.Status, r.Waiting(), r.trace())
	}
	return s.Output
}

// Output decodes the output of the run. It fails the test unless the run completed.
func (r *Run) Output(into any) {
	r.t.Helper()
	if err := json.Unmarshal(r.Result(), into); err != nil {
		r.t.Fatalf("decode the output: %v", err)
	}
}

// Failure is the error of the run. It fails the test unless the run failed.
func (r *Run) Failure() string {
	r.t.Helper()
	s := r.Snapshot()
	if s.Status != engine.StatusFailed {
		r.t.Fatalf("the run is %q, not failed\n%s", s.Status, r.trace())
	}
	return s.Error
}

// Query asks the run a question and decodes the answer. It fails the test when it is refused.
func (r *Run) Query(name string, arg, into any) {
	r.t.Helper()
	answer, err := r.TryQuery(name, arg)
	if err != nil {
		r.t.Fatalf("query %q: %v\n%s", name, err, r.trace())
	}
	if err := json.Unmarshal(answer, into); err != nil {
		r.t.Fatalf("decode the answer to %q: %v", name, err)
	}
}

// TryQuery asks the run a question, which may be refused. The argument is encoded as JSON.
func (r *Run) TryQuery(name string, arg any) (json.RawMessage, error) {
	r.t.Helper()
	return r.r.Query(name, r.encode(arg))
}

// UpdateResult decodes the result of an update. It fails the test unless the update is completed.
func (r *Run) UpdateResult(id spec.UpdateID, into any) {
	r.t.Helper()
	u, err := r.TryUpdateResult(id)
	if err != nil || u.State != engine.UpdateCompleted {
		r.t.Fatalf("update %q is %q: %v\n%s", id, u.State, err, r.trace())
	}
	if err := json.Unmarshal(u.Result, into); err != nil {
		r.t.Fatalf("decode the result of update %q: %v", id, err)
	}
}

// TryUpdateResult tells what became of an update, as Handle.UpdateResult does: the error says that it was rejected or
// orphaned, or that there is none.
func (r *Run) TryUpdateResult(id spec.UpdateID) (engine.UpdateResult, error) {
	r.t.Helper()
	return r.r.UpdateResult(id)
}

// Hook is a hook as callers may see it. It fails the test when the hook was never created.
func (r *Run) Hook(id spec.HookID) engine.HookView {
	r.t.Helper()
	h, err := r.r.Hook(id)
	if err != nil {
		r.t.Fatalf("hook %q: %v\n%s", id, err, r.trace())
	}
	return h
}

// Receipt is the fate of a signal. It fails the test when the run did not accept one of this ID.
func (r *Run) Receipt(id spec.SignalID) engine.SignalReceipt {
	r.t.Helper()
	receipt, err := r.r.Receipt(id)
	if err != nil {
		r.t.Fatalf("signal %q: %v\n%s", id, err, r.trace())
	}
	return receipt
}

// Events is the history, one line per event: generation and seq, time since the clock began, type, and the data as JSON.
//
//	1.2 +0s wait.opened {"signal":"invoice.approved","wait_id":"approval"}
func (r *Run) Events() []string {
	r.t.Helper()
	events, err := r.r.History()
	if err != nil {
		r.t.Fatalf("read the history: %v", err)
	}
	lines := make([]string, len(events))
	for i, e := range events {
		var data bytes.Buffer
		if err := json.Compact(&data, e.Data); err != nil {
			r.t.Fatalf("read event %d: %v", e.Seq, err)
		}
		lines[i] = fmt.Sprintf("%d.%d +%s %s %s", e.Generation, e.Seq, e.At.Sub(r.started), e.Type, data.String())
	}
	return lines
}

// Types is the history, reduced to the types of its events.
func (r *Run) Types() []string {
	r.t.Helper()
	events, err := r.r.History()
	if err != nil {
		r.t.Fatalf("read the history: %v", err)
	}
	types := make([]string, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

func (r *Run) trace() string {
	r.t.Helper()
	return strings.Join(r.Events(), "\n")
}
