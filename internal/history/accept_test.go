package history

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// idle waits for stop with one public and one fixed hook open.
func idle(s *State) Decision {
	if p, ok := got(s, "stop"); ok {
		if string(p.Bytes()) == `"fail"` {
			return decide(&Fail{Message: "asked to"})
		}
		return decide(complete("done"))
	}
	fixed := hookNamed("fixed")
	return decide(wait1("stop", "stop"), hookFor("h", time.Minute), fixed, hookNamed("g"))
}

func TestAccept_start(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	for name, tc := range map[string]struct {
		m    StartRun
		want []string // fields that differ; nil means duplicate
	}{
		"same":                       {StartRun{Workflow: "w", Version: "1", NamedVersion: true, Input: payload(nil)}, nil},
		"version unnamed":            {StartRun{Workflow: "w", Version: "9", Input: payload(nil)}, nil},
		"labels are not compared":    {StartRun{Workflow: "w", Version: "1", Input: payload(nil), Labels: spec.Labels{"a": "b"}}, nil},
		"version named":              {StartRun{Workflow: "w", Version: "9", NamedVersion: true, Input: payload(nil)}, []string{"version"}},
		"another workflow and input": {StartRun{Workflow: "x", Version: "1", Input: payload(1)}, []string{"workflow", "input"}},
	} {
		tc.m.Run = testKey
		receipt, err := r.accept(&tc.m)
		if tc.want == nil {
			if err != nil || receipt.Verdict != Duplicate || receipt.Sequence != 1 || !receipt.ReceivedAt.Equal(epoch) {
				t.Errorf("%s: %+v, %v", name, receipt, err)
			}
			continue
		}
		var conflict *RunConflictError
		if !errors.As(err, &conflict) || !reflect.DeepEqual(conflict.Differs, tc.want) {
			t.Errorf("%s: %v, want a conflict in %v", name, err, tc.want)
		}
	}
}

func TestAccept_signal_known_identity_comes_before_anything_else(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	first, err := r.signal("1", "stop", map[string]int{"a": 1})
	if err != nil || first.Verdict != Accepted {
		t.Fatal(first, err)
	}
	check := func(stage string) {
		t.Helper()
		again, err := r.signal("1", "stop", map[string]float64{"a": 1.0})
		if err != nil || again.Verdict != Duplicate || again.Sequence != first.Sequence || !again.ReceivedAt.Equal(first.ReceivedAt) {
			t.Errorf("%s: redelivery %+v %v", stage, again, err)
		}
		for name, want := range map[string][]string{"stop": {"payload"}, "undeclared": {"name", "payload"}} {
			var conflict *SignalConflictError
			if _, err := r.signal("1", name, 2); !errors.As(err, &conflict) || !reflect.DeepEqual(conflict.Differs, want) {
				t.Errorf("%s: %v, want a conflict in %v", stage, err, want)
			}
		}
	}
	check("unread")
	r.lim.Backlog = 1
	check("backlog full")
	if _, err := r.signal("2", "stop", 1); !errors.Is(err, ErrBacklogFull) {
		t.Errorf("backlog full: %v", err)
	}
	r.settle()
	check("ended")
	if _, err := r.signal("3", "stop", 1); !errors.Is(err, ErrRunEnded) {
		t.Errorf("ended: %v", err)
	}
	if _, err := r.signal("3", "undeclared", 1); !errors.Is(err, ErrRunEnded) {
		t.Errorf("ended, undeclared: %v", err)
	}
}

func TestAccept_C29_a_full_backlog_is_announced(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	r.lim.Backlog = 10
	for i := range 10 {
		receipt, err := r.signal(string(rune('a'+i)), "other", i)
		if err != nil {
			t.Fatal(err)
		}
		if warned := receipt.Backlog != nil; warned != (i >= 7) {
			t.Errorf("signal %d of 10: %+v", i+1, receipt.Backlog)
		}
	}
	if _, err := r.signal("k", "other", 1); !errors.Is(err, ErrBacklogFull) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestAccept_signal_refuses_undeclared_names_and_a_full_history(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	if _, err := r.signal("1", "undeclared", 1); !errors.Is(err, ErrSignalUndeclared) {
		t.Errorf("undeclared: %v", err)
	}
	r.settle()
	r.lim.MaxEvents = r.run.HistoryLength()
	if _, err := r.signal("1", "stop", 1); !errors.Is(err, ErrBacklogFull) {
		t.Errorf("full history: %v", err)
	}
	if _, err := r.resume("h", 1); err != nil {
		t.Errorf("a callback to a full history: %v", err)
	}
	if _, err := r.accept(&CancelRun{Run: testKey}); err != nil {
		t.Errorf("cancelling a full history: %v", err)
	}
}

func TestAccept_hook(t *testing.T) {
	t.Parallel()
	closed := func(cause HookState) error { return &HookClosedError{Cause: cause} }
	for name, tc := range map[string]struct {
		before          func(r *rig)
		same, other     error // of resuming with 1 and with 2
		dispose         error
		sameV, disposeV Verdict
	}{
		"open":      {func(*rig) {}, nil, &HookConflictError{Differs: []string{"payload"}}, &HookConflictError{Differs: []string{"state"}}, Accepted, ""},
		"resumed":   {func(r *rig) { _, _ = r.resume("h", 1) }, nil, &HookConflictError{Differs: []string{"payload"}}, &HookConflictError{Differs: []string{"state"}}, Duplicate, ""},
		"disposed":  {func(r *rig) { _, _ = r.dispose("h") }, closed(StateDisposed), closed(StateDisposed), nil, "", Duplicate},
		"late":      {func(r *rig) { r.pass(time.Minute) }, closed(StateExpired), closed(StateExpired), closed(StateExpired), "", ""},
		"expired":   {func(r *rig) { r.pass(time.Minute); r.settle() }, closed(StateExpired), closed(StateExpired), closed(StateExpired), "", ""},
		"cancelled": {func(r *rig) { _, _ = r.accept(&CancelRun{Run: testKey}) }, closed(StateCancelled), closed(StateCancelled), closed(StateCancelled), "", ""},
		"run ended": {func(r *rig) { _, _ = r.signal("1", "stop", 1); r.settle() }, closed(StateRunEnded), closed(StateRunEnded), closed(StateRunEnded), "", ""},
		"answered, then the run ended": {
			func(r *rig) { _, _ = r.resume("h", 1); _, _ = r.signal("1", "stop", 1); r.settle() }, nil,
			&HookConflictError{Differs: []string{"payload"}}, &HookConflictError{Differs: []string{"state"}}, Duplicate, "",
		},
	} {
		r := newRig(t, idle)
		r.settle()
		tc.before(r)
		receipt, err := r.resume("h", 1)
		if !reflect.DeepEqual(err, tc.same) || receipt.Verdict != tc.sameV {
			t.Errorf("%s: resume %q %v, want %q %v", name, receipt.Verdict, err, tc.sameV, tc.same)
		}
		if _, err = r.resume("h", 2); !reflect.DeepEqual(err, tc.other) {
			t.Errorf("%s: resume with another payload %v, want %v", name, err, tc.other)
		}
		if receipt, err = r.dispose("h"); !reflect.DeepEqual(err, tc.dispose) || receipt.Verdict != tc.disposeV {
			t.Errorf("%s: dispose %q %v, want %q %v", name, receipt.Verdict, err, tc.disposeV, tc.dispose)
		}
		if _, err := r.resume("none", 1); !errors.Is(err, ErrHookNotFound) {
			t.Errorf("%s: unknown hook %v", name, err)
		}
	}
}

func TestAccept_dispose_by_token_needs_the_specs_leave(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	r.settle()
	if _, err := r.accept(&DisposeHook{Run: testKey, HookID: "fixed", ByToken: true}); !errors.Is(err, ErrDisposeForbidden) {
		t.Errorf("fixed: %v", err)
	}
	if receipt, err := r.accept(&DisposeHook{Run: testKey, HookID: "g", ByToken: true}); err != nil || receipt.Verdict != Accepted {
		t.Errorf("g: %+v %v", receipt, err)
	}
}

func TestAccept_a_refused_late_answer_writes_nothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	r.settle()
	r.pass(time.Minute)
	before := len(r.events)
	if _, err := r.resume("h", 1); err == nil {
		t.Fatal("accepted late")
	}
	if len(r.events) != before || r.hooks["h"].State != StateActive {
		t.Error("a refused answer left something behind")
	}
}

func TestAccept_cancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, idle)
	r.settle()
	r.pass(2 * time.Minute) // h is past its deadline, no turn has said so
	receipt, err := r.accept(&CancelRun{Run: testKey, Reason: "enough"})
	if err != nil || receipt.Verdict != Accepted || r.run.Status != Cancelled || r.run.WakeAt != nil {
		t.Fatalf("%+v %v %s", receipt, err, r.run.Status)
	}
	equalStory(t, r, "run.started", "wait.opened stop", "hook.created h", "hook.created fixed", "hook.created g",
		"run.cancel_requested", "hook.closed fixed cancelled", "hook.closed g cancelled", "hook.expired h", "run.cancelled")
	again, err := r.accept(&CancelRun{Run: testKey})
	if err != nil || again.Verdict != Duplicate {
		t.Errorf("again: %+v %v", again, err)
	}
	if _, err := r.accept(&RetryRun{Run: testKey}); !errors.Is(err, ErrRunEnded) {
		t.Errorf("retry of an ended run: %v", err)
	}
	for status, word := range map[Status]string{Completed: "stop", Failed: "fail"} {
		r := newRig(t, idle)
		if _, err := r.signal("1", "stop", word); err != nil {
			t.Fatal(err)
		}
		r.settle()
		if r.run.Status != status {
			t.Fatalf("%s, want %s", r.run.Status, status)
		}
		if _, err := r.accept(&CancelRun{Run: testKey}); !errors.Is(err, ErrRunEnded) {
			t.Errorf("cancel of a %s run: %v", status, err)
		}
	}
}

func TestAccept_cooperative_cancel_is_a_request(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.CancelRequested() {
			return decide(&AcceptCancel{})
		}
		return idle(s)
	})
	r.auth.cooperative = true
	r.settle()
	for i, want := range []Verdict{Accepted, Duplicate} {
		if receipt, err := r.accept(&CancelRun{Run: testKey}); err != nil || receipt.Verdict != want || r.run.Status != Running {
			t.Errorf("request %d: %+v %v %s", i, receipt, err, r.run.Status)
		}
	}
	r.settle()
	if r.run.Status != Cancelled || r.hooks["g"].State != StateCancelled {
		t.Errorf("%s, hook %s", r.run.Status, r.hooks["g"].State)
	}
	forced := newRig(t, idle)
	forced.auth.cooperative = true
	forced.settle()
	if _, err := forced.accept(&CancelRun{Run: testKey, Terminate: true}); err != nil || forced.run.Status != Cancelled {
		t.Errorf("terminate: %v %s", err, forced.run.Status)
	}
}

func TestAccept_unknown_run(t *testing.T) {
	t.Parallel()
	for _, m := range []Message{&SendSignal{}, &ResumeHook{}, &DisposeHook{}, &CancelRun{}, &RetryRun{}} {
		if _, err := (&Records{}).Accept(m, openAuthority{}, DefaultLimits(), epoch); !errors.Is(err, ErrRunNotFound) {
			t.Errorf("%T: %v", m, err)
		}
	}
}
