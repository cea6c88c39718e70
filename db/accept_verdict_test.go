package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// step is one message and what Accept must say.
type step struct {
	name    string
	message history.Message
	verdict history.Verdict
	err     error // by errors.Is, or compared as a value when it is a pointer to a struct
}

func (r *acceptRig) walk(steps []step) {
	r.t.Helper()
	for _, st := range steps {
		receipt, err := r.Accept(r.t.Context(), st.message)
		if receipt.Verdict != st.verdict {
			r.t.Errorf("%s: verdict %q (%v), want %q", st.name, receipt.Verdict, err, st.verdict)
		}
		if st.err == nil && err != nil || st.err != nil && !errors.Is(err, st.err) && !cmp.Equal(err, st.err, cmp.Comparer(sameText)) {
			r.t.Errorf("%s: error %v, want %v", st.name, err, st.err)
		}
	}
	r.consistent()
}

func sameText(a, b error) bool { return fmt.Sprintf("%T%v", a, a) == fmt.Sprintf("%T%v", b, b) }

func TestAcceptStartsAndSignals(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.Backlog = 2 })
	other := func(change func(*history.StartRun)) history.Message {
		m := r.startOf("a")
		change(m)
		return m
	}
	undeclared, shape, renamed := r.signal("a", "s9", "1"), r.signal("a", "s9", "false"), r.signal("a", "s1", "1")
	undeclared.Name, renamed.Name = "rejected", "rejected"
	foreign := r.signal("a", "s1", "1")
	foreign.Run.Namespace = "other"
	r.walk([]step{
		{"signal to no run", r.signal("a", "s1", "1"), "", history.ErrRunNotFound},
		{"cancel of no run", &history.CancelRun{Run: keyOf("a")}, "", history.ErrRunNotFound},
		{"retry of no run", &history.RetryRun{Run: keyOf("a")}, "", history.ErrRunNotFound},
		{"first start", r.startOf("a"), history.Accepted, nil},
		{"start again", r.startOf("a"), history.Duplicate, nil},
		{"start, version not named", other(func(m *history.StartRun) { m.Version = "2" }), history.Duplicate, nil},
		{
			"start, other version", other(func(m *history.StartRun) { m.Version, m.NamedVersion = "2", true }), "",
			&history.RunConflictError{Differs: []string{"version"}},
		},
		{
			"start, other workflow and input", other(func(m *history.StartRun) { m.Workflow, m.Input = "x", payload(t, "2") }), "",
			&history.RunConflictError{Differs: []string{"workflow", "input"}},
		},
		{"signal", r.signal("a", "s1", "1"), history.Accepted, nil},
		{"equal signal", r.signal("a", "s1", "1.0"), history.Duplicate, nil},
		{"other payload", r.signal("a", "s1", "2"), "", &history.SignalConflictError{Differs: []string{"payload"}}},
		{"other name", renamed, "", &history.SignalConflictError{Differs: []string{"name"}}},
		{"undeclared", undeclared, "", history.ErrSignalUndeclared},
		{"wrong shape", shape, "", errShape},
		{"other namespace", foreign, "", history.ErrRunNotFound},
		{"second signal", r.signal("a", "s2", "null"), history.Accepted, nil},
		{"backlog full", r.signal("a", "s3", "3"), "", history.ErrBacklogFull},
		{"known signal at a full backlog", r.signal("a", "s2", "null"), history.Duplicate, nil},
		{"cancel", &history.CancelRun{Run: keyOf("a"), Reason: "late"}, history.Accepted, nil},
		{"cancel again", &history.CancelRun{Run: keyOf("a")}, history.Duplicate, nil},
		{"known signal of an ended run", r.signal("a", "s1", "1"), history.Duplicate, nil},
		{"new signal to an ended run", r.signal("a", "s4", "1"), "", history.ErrRunEnded},
		{"start of an ended run", r.startOf("a"), history.Duplicate, nil},
		{"retry of an ended run", &history.RetryRun{Run: keyOf("a")}, "", history.ErrRunEnded},
	})
	if n := value[int](r, `select count(*) from runs`); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
	types := value[[]string](r, `select array_agg(type order by seq) from events`)
	want := []string{"run.started", "signal.received", "signal.received", "run.cancel_requested", "run.cancelled"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
}

func TestAcceptHooks(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, id := range []string{"h1", "h2", "h3", "internal", "disposable"} {
		r.hook("a", id, &future)
	}
	r.hook("a", "late", &past)
	byToken := func(id string) *history.ResumeHook {
		m := r.resume("a", id, "1")
		m.ByToken = true
		return m
	}
	dispose := func(id string, token bool) *history.DisposeHook {
		return &history.DisposeHook{Run: keyOf("a"), HookID: spec.HookID(id), ByToken: token, Actor: "ada"}
	}
	r.walk([]step{
		{"unknown hook", r.resume("a", "h9", "1"), "", history.ErrHookNotFound},
		{"internal hook by token", byToken("internal"), "", history.ErrTokenNotFound},
		{"wrong shape", r.resume("a", "h1", "false"), "", errShape},
		{"first answer", r.resume("a", "h1", `{"a":1,"b":2}`), history.Accepted, nil},
		{"equal answer", r.resume("a", "h1", `{"b":2.0,"a":1}`), history.Duplicate, nil},
		{"other answer", r.resume("a", "h1", "2"), "", &history.HookConflictError{Differs: []string{"payload"}}},
		{"dispose of an answered hook", dispose("h1", false), "", &history.HookConflictError{Differs: []string{"state"}}},
		{"late answer", r.resume("a", "late", "1"), "", &history.HookClosedError{Cause: history.StateExpired}},
		{"dispose by token, forbidden", dispose("h2", true), "", history.ErrDisposeForbidden},
		{"dispose by token", dispose("disposable", true), history.Accepted, nil},
		{"dispose", dispose("h2", false), history.Accepted, nil},
		{"dispose again", dispose("h2", false), history.Duplicate, nil},
		{"answer to a disposed hook", r.resume("a", "h2", "1"), "", &history.HookClosedError{Cause: history.StateDisposed}},
		{"terminate", &history.CancelRun{Run: keyOf("a"), Terminate: true}, history.Accepted, nil},
		{"equal answer after the end", r.resume("a", "h1", `{"a":1,"b":2}`), history.Duplicate, nil},
		{"answer to a hook closed by the end", r.resume("a", "h3", "1"), "", &history.HookClosedError{Cause: history.StateCancelled}},
	})
	states := value[map[string]string](r, `select json_object_agg(hook_id, state) from hooks`)
	want := map[string]string{
		"h1": "resumed", "h2": "disposed", "h3": "cancelled", "internal": "cancelled", "disposable": "disposed", "late": "expired",
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	if n := value[int](r, `select count(*) from hooks h join events e on e.run = h.run and e.seq = h.resolved_seq
		and e.at = h.resolved_at and e.data->>'hook_id' = h.hook_id`); n != 6 {
		t.Errorf("%d hooks point at the event that settled them, want 6", n)
	}
}

func TestAcceptCooperativeCancelAndRetry(t *testing.T) {
	t.Parallel()
	r := running(t)
	m := r.startOf("a")
	m.SpecDigest = coopSpec
	r.ok(m)
	r.walk([]step{
		{"retry of a running run", &history.RetryRun{Run: keyOf("a")}, history.Accepted, nil},
		{"request", &history.CancelRun{Run: keyOf("a")}, history.Accepted, nil},
		{"request again", &history.CancelRun{Run: keyOf("a")}, history.Duplicate, nil},
		{"signal while it cleans up", r.signal("a", "s1", "1"), history.Accepted, nil},
	})
	r.sql(`update runs set status = 'blocked', block_cause = 'error', block_diagnosis = 'x', wake_at = now() + interval '1 hour'`)
	r.ok(&history.RetryRun{Run: keyOf("a")})
	if !value[bool](r, `select wake_at <= now() and status = 'blocked' and block_diagnosis = 'x' from runs`) {
		t.Error("a retried run is not due, or lost its block")
	}
	r.walk([]step{
		{"terminate", &history.CancelRun{Run: keyOf("a"), Terminate: true}, history.Accepted, nil},
		{"terminate again", &history.CancelRun{Run: keyOf("a"), Terminate: true}, history.Duplicate, nil},
	})
	if !value[bool](r, `select status = 'cancelled' and closed_at is not null and wake_at is null and block_cause is null from runs`) {
		t.Error("the run row is not that of a cancelled run")
	}
}

func TestAcceptWithoutAuthority(t *testing.T) {
	t.Parallel()
	r := running(t)
	m := r.startOf("a")
	m.SpecDigest = strangeSpec
	r.ok(m)
	r.walk([]step{
		{"signal", r.signal("a", "s1", "1"), "", &AuthorityMissingError{Digest: strangeSpec}},
		{"cancel", &history.CancelRun{Run: keyOf("a")}, "", &AuthorityMissingError{Digest: strangeSpec}},
		{"start again", m, history.Duplicate, nil},
		{"retry", &history.RetryRun{Run: keyOf("a")}, history.Accepted, nil},
	})
	if n := value[int](r, `select count(*) from events`); n != 1 {
		t.Errorf("%d events, want run.started alone", n)
	}
}

func TestReceiptIsWhatIsStored(t *testing.T) {
	t.Parallel()
	r := running(t)
	started := r.ok(r.startOf("a"))
	first := r.ok(r.signal("a", "s1", ` {"x" : 1.50} `))
	again := r.ok(r.signal("a", "s1", `{"x":1.5}`))
	first.Verdict = history.Duplicate
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the receipt changed: %s", diff)
	}
	restarted := r.ok(r.startOf("a"))
	started.Verdict = history.Duplicate
	if diff := cmp.Diff(started, restarted); diff != "" {
		t.Errorf("the receipt of the start changed: %s", diff)
	}
	var at time.Time
	var text []byte
	row := r.pool.QueryRow(context.Background(), `select at, payload from events where seq = $1`, first.Sequence)
	if err := row.Scan(&at, &text); err != nil {
		t.Fatal(err)
	}
	if !at.Equal(first.ReceivedAt) || string(text) != ` {"x" : 1.50} ` {
		t.Errorf("event at %v with %q, receipt at %v", at, text, first.ReceivedAt)
	}
}

func TestAcceptUnknownSpec(t *testing.T) {
	t.Parallel()
	r := running(t)
	m := r.startOf("a")
	m.SpecDigest = absentSpec
	r.walk([]step{{"start", m, "", ErrWorkflowNotFound}})
}
