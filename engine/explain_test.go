package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// patient waits for a signal and a timer, has a hook open and a step that is tried in an hour again.
var patient = workflow{
	spec.WorkflowSpec{
		Name: "patient", Version: "1",
		Signals: []spec.Signal{{Name: "order.paid"}, {Name: "order_paid"}, {Name: "note"}},
		Hooks:   []spec.Hook{{Name: "approve"}},
	},
	func(c *engine.Context) (engine.Decision, error) {
		return c.Await(
			c.WaitForSignal("pay", "order.paid", engine.Timeout(time.Hour)),
			c.Sleep("nap", 2*time.Hour),
			c.CreateHook("approve"),
			c.RunStep("book", "work", nil, spec.FixedRetry(3, time.Hour)),
		), nil
	},
}

func (r *rig) explain(run spec.RunID) engine.Explanation {
	r.t.Helper()
	x, err := r.Explain(r.ctx(), engine.ExplainRequest{RunID: run, Refusals: true})
	if err != nil {
		r.t.Fatalf("explain %s: %v", run, err)
	}
	return x
}

// says wants each text in one of the sentences.
func says(t *testing.T, x engine.Explanation, texts ...string) {
	t.Helper()
	all := strings.Join(x.Because, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("nothing says %q:\n%s", text, all)
		}
	}
}

func TestExplainTellsWhatIsOpen(t *testing.T) {
	t.Parallel()
	r := idle(t, testConfig(t, pgtest.New(t)), patient)
	must(t, r.RegisterStep("work", func(context.Context, *engine.Step) (any, error) { return nil, errors.New("no seats") }))
	r.run()
	r.start(patient, "run", nil)
	r.mustSend("run", "s1", "order_paid", 1)
	r.mustSend("run", "s2", "note", 1)
	r.mustSend("run", "s3", "note", 1)
	r.eventually("the step has failed once", func() bool { return r.asks("SELECT failures = 1 FROM tasks") })

	x := r.explain("run")
	r.eventually("no turn is due", func() bool {
		x = r.explain("run")
		return x.NextWakeAt == nil || x.NextWakeAt.After(x.ReadAt)
	})
	if x.Status != engine.StatusRunning || !x.CodeLive || x.Blocked != nil || x.NextWakeAt == nil {
		t.Errorf("%+v", x)
	}
	names := map[string]int{}
	for _, u := range x.Unread {
		names[u.Name] = u.Count
		if u.OldestAt.IsZero() || u.OldestAt.After(x.ReadAt) {
			t.Errorf("the oldest %s is of %s", u.Name, u.OldestAt)
		}
	}
	if diff := cmp.Diff(map[string]int{"order_paid": 1, "note": 2}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]engine.NearMiss{{Sent: "order_paid", Meant: "order.paid", Where: "unread"}}, x.NearMisses); diff != "" {
		t.Error(diff)
	}
	if len(x.Waiting) != 4 {
		t.Fatalf("%+v", x.Waiting)
	}
	for _, w := range x.Waiting {
		if hasEnd := w.Kind == "signal" || w.Kind == "timer"; hasEnd != (w.ExpiresAt != nil) {
			t.Errorf("deadline of %+v", w)
		}
		if w.Kind == "step" && (w.Attempts != 1 || w.Failures != 1 || w.LastError == "" || w.NextTryAt == nil || !w.NextTryAt.After(x.ReadAt)) {
			t.Errorf("step %+v", w)
		}
	}
	says(t, x, `waits for signal "order.paid", and a signal "order_paid" came`, `wait "pay"`, `Hook "approve" is open`, `Timer "nap" runs until`,
		`Step "book" (work) is not done: 1 attempt failed, the last one with "no seats"`, `2 signals of "note" came, and nothing waits`)
	if !strings.Contains(x.Because[0], "order_paid") {
		t.Errorf("the weightiest reason is %q", x.Because[0])
	}
}

func TestExplainTellsOfBlockedCode(t *testing.T) {
	t.Parallel()
	broken := workflow{spec.WorkflowSpec{Name: "broken", Version: "1"}, func(*engine.Context) (engine.Decision, error) {
		panic("out of paper")
	}}
	r := newRig(t, broken)
	r.start(broken, "run", nil)
	r.until("run", "blocked", func(s engine.Snapshot) bool { return s.Status == engine.StatusBlocked })
	x := r.explain("run")
	if x.Blocked == nil || x.Blocked.Cause != "panic" || !strings.Contains(x.Blocked.Diagnosis, "panicked with a value of type string") || x.Blocked.RetryAt == nil {
		t.Fatalf("%+v", x.Blocked)
	}
	says(t, x, "Its code is blocked (panic, ", "panicked", "tried again")
	r.exec("UPDATE events SET data = '{}' WHERE seq = 1")
	if x := r.explain("run"); x.Blocked == nil || len(x.Waiting) != 0 {
		t.Errorf("of a damaged run: %+v", x)
	}
}

func TestExplainTellsOfMissingCodeAndOfTheEnd(t *testing.T) {
	t.Parallel()
	first := newRig(t, greet)
	first.start(greet, "run", nil)
	first.waiting("run", "w")
	first.stop()
	gateway := first.beside()
	if x := gateway.explain("run"); x.CodeLive || !strings.Contains(x.Because[0], "No live process registers workflow greet version 1") {
		t.Errorf("%+v", x)
	}
	gateway.mustSend("run", "s1", "a", 1)
	gateway.mustSend("run", "s2", "hello", "hi")
	first.beside(greet)
	gateway.ended("run")
	x := gateway.explain("run")
	if x.Status != engine.StatusCompleted || len(x.Waiting) != 0 || x.NextWakeAt != nil || len(x.Unread) != 1 {
		t.Errorf("%+v", x)
	}
	says(t, x, "It is completed since ", `1 signal of "a" came and was never read`)
	if _, err := gateway.Explain(gateway.ctx(), engine.ExplainRequest{RunID: "nobody"}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("no run: %v", err)
	}
	if _, err := gateway.Explain(gateway.ctx(), engine.ExplainRequest{RunID: " "}); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("no ID: %v", err)
	}
	other, err := gateway.Namespace("other")
	must(t, err)
	if _, err := other.Explain(gateway.ctx(), engine.ExplainRequest{RunID: "run"}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("from another namespace: %v", err)
	}
}

// A step that is held, and a message that the inbox could not deliver, wait for somebody.
func TestExplainTellsOfDeadLetters(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.NoRetry().WithHold())
	r := idle(t, testConfig(t, pgtest.New(t)), w)
	must(t, r.RegisterStep("work", fails(errors.New("no"))))
	r.run()
	r.start(w, "run", nil)
	r.eventually("a dead letter", func() bool { return r.asks("SELECT count(*) = 1 FROM dead_letters") })
	r.exec(`INSERT INTO inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, reason, received_at, deadline, try_at)
		VALUES ('default', 's', 's:1', 'signal', 'run', 'paid', sha256(''), '1', 'dead', 'undeclared', now(), now(), now()),
			('default', 's', 's:2', 'signal', 'other', 'paid', sha256(''), '1', 'dead', 'undeclared', now(), now(), now())`)
	x := r.explain("run")
	var got []string
	for _, l := range x.DeadLetters {
		got = append(got, l.Kind+" "+l.Name+" "+l.State+" "+l.Reason)
	}
	if diff := cmp.Diff([]string{"step work held exhausted", "message paid dead undeclared"}, got); diff != "" {
		t.Error(diff)
	}
	says(t, x, "waits for somebody to replay or discard its dead letter", "of step work (exhausted) waits for a decision",
		`Message "paid" for it could not be delivered (undeclared): dead letter m-1.`)
}
