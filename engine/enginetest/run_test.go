package enginetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

type approval struct {
	Reviewer string `json:"reviewer"`
}

type result struct {
	Status   string `json:"status"`
	Reviewer string `json:"reviewer,omitempty"`
}

var invoiceSpec = spec.WorkflowSpec{
	Name: "billing.invoice-approval", Version: "1",
	Signals: []spec.Signal{{
		Name: "invoice.approved", Schema: json.RawMessage(`{"type":"object","required":["reviewer"]}`),
	}},
}

func invoice(c *engine.Context) (engine.Decision, error) {
	a, ok, err := engine.SignalPayload[approval](c, "approval")
	switch {
	case err != nil:
		return engine.Decision{}, err
	case ok:
		return c.Complete(result{Status: "approved", Reviewer: a.Reviewer}), nil
	case c.WaitTimedOut("approval"):
		return c.Fail(fmt.Errorf("nobody approved in time")), nil
	default:
		return c.WaitForSignal("approval", "invoice.approved", engine.Timeout(time.Hour)), nil
	}
}

func TestInvoiceApproved(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, invoiceSpec, invoice)
	run.Start(nil)
	if diff := cmp.Diff([]string{"approval"}, run.Waiting()); diff != "" {
		t.Error(diff)
	}
	if _, err := run.TrySignal("s", "invoice.approved", "no object"); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("a payload that breaks the schema got %v", err)
	}
	if _, err := run.TrySignal("s", "invoice.paid", nil); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("an undeclared signal got %v", err)
	}
	first := run.SignalAs("s", "invoice.approved", approval{"ada"})
	again := run.SignalAs("s", "invoice.approved", json.RawMessage(`{ "reviewer" : "\u0061da" }`))
	if first.Verdict != engine.VerdictAccepted || again.Verdict != engine.VerdictDuplicate || first.Sequence != again.Sequence {
		t.Errorf("receipts %+v, %+v", first, again)
	}
	if _, err := run.TrySignal("s", "invoice.approved", approval{"eve"}); engine.VerdictOf(err) != engine.VerdictConflict {
		t.Errorf("another payload under a known ID got %v", err)
	}
	var got result
	run.Output(&got)
	if diff := cmp.Diff(result{"approved", "ada"}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`1.1 +0s run.started {"input":null,"spec_digest":"` + strings.Repeat("0", 64) + `","version":"1","workflow":"billing.invoice-approval"}`,
		`1.2 +0s wait.opened {"deadline":"2026-01-01T01:00:00Z","signal":"invoice.approved","wait_id":"approval"}`,
		`1.3 +0s signal.received {"name":"invoice.approved","payload":{"reviewer":"ada"},"signal_id":"s"}`,
		`1.4 +0s wait.completed {"signal_id":"s","signal_seq":3,"taken":[3],"wait_id":"approval"}`,
		`1.5 +0s run.completed {"output":{"status":"approved","reviewer":"ada"}}`,
	}
	if diff := cmp.Diff(want, run.Events()); diff != "" {
		t.Error(diff)
	}
}

func TestInvoiceTimesOut(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, invoiceSpec, invoice)
	run.Start(nil)
	run.Advance(time.Hour - 1)
	if got := run.Status(); got != engine.StatusRunning {
		t.Fatalf("before the deadline the run is %s", got)
	}
	run.Advance(1)
	if got := run.Failure(); got != "nobody approved in time" {
		t.Errorf("failure %q", got)
	}
}

// rounds takes one signal per round and carries on as new after every third.
func rounds(c *engine.Context) (engine.Decision, error) {
	seen, err := engine.Input[[]int](c)
	if err != nil {
		return engine.Decision{}, err
	}
	for i := range 3 {
		n, ok, err := engine.SignalPayload[int](c, engine.ID("item", i))
		if err != nil {
			return engine.Decision{}, err
		}
		if !ok {
			return c.WaitForSignal(engine.ID("item", i), "item"), nil
		}
		if seen = append(seen, n); len(seen) == 10 {
			return c.Complete(seen), nil
		}
	}
	return c.ContinueAsNew(seen), nil
}

func TestRoundsOverGenerations(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "collect", Version: "1", Signals: []spec.Signal{{Name: "item"}}}
	run := enginetest.New(t, s, rounds)
	run.Start([]int{})
	for i := range 10 {
		run.Signal("item", i)
	}
	if got, want := string(run.Result()), "[0,1,2,3,4,5,6,7,8,9]"; got != want {
		t.Errorf("output %s, want %s", got, want)
	}
	if got := run.Snapshot().Generation; got != 4 {
		t.Errorf("ended in generation %d", got)
	}
	if r := run.Receipt("signal-10"); r.State != engine.SignalConsumed || r.ConsumedBy.Generation != 4 || r.ConsumedBy.WaitID != "item-0" {
		t.Errorf("receipt %+v", r)
	}
}

type vote struct {
	Approved bool `json:"approved"`
}

// quorum asks everybody and stops when it is decided.
func quorum(c *engine.Context) (engine.Decision, error) {
	var ask, rest []engine.Decision
	yes, no := []string{}, 0
	for _, name := range []string{"a", "b", "c"} {
		switch id := "approver-" + name; c.HookState(id) {
		case engine.None, engine.Open:
			ask, rest = append(ask, c.CreateHook(id)), append(rest, c.DisposeHook(id))
		case engine.Answered:
			v, _, err := engine.HookPayload[vote](c, id)
			if err != nil {
				return engine.Decision{}, err
			}
			if v.Approved {
				yes = append(yes, name)
			} else {
				no++
			}
		default:
			no++
		}
	}
	switch {
	case len(yes) == 2:
		return c.All(append(rest, c.Complete(yes))...), nil
	case no == 2:
		return c.All(append(rest, c.Fail(fmt.Errorf("refused")))...), nil
	}
	return c.Await(ask...), nil
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "quorum", Version: "1"}
	run := enginetest.New(t, s, quorum)
	run.Start(nil)
	run.Resume("approver-c", vote{true})
	run.Resume("approver-a", vote{true})
	if got := string(run.Result()); got != `["a","c"]` {
		t.Errorf("output %s", got)
	}
	if got := run.Hook("approver-b").State; got != "disposed" {
		t.Errorf("the third hook is %s", got)
	}
	if _, err := run.TryResume("approver-b", vote{true}); engine.VerdictOf(err) != engine.VerdictGone {
		t.Errorf("a late vote got %v", err)
	}
	if r := run.Resume("approver-a", vote{true}); r.Verdict != engine.VerdictDuplicate {
		t.Errorf("a repeated vote got %+v", r)
	}

	run = enginetest.New(t, s, quorum)
	run.Start(nil)
	run.Resume("approver-c", vote{false})
	run.Dispose("approver-a")
	if got := run.Failure(); got != "refused" {
		t.Errorf("failure %q", got)
	}
}

func TestCooperativeCancel(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "c", Version: "1", CooperativeCancel: true}
	fn := func(c *engine.Context) (engine.Decision, error) {
		switch {
		case !c.CancelRequested():
			return c.CreateHook("h"), nil
		case !c.TimerFired("clean-up"):
			return c.Await(c.DisposeHook("h"), c.Timer("clean-up", time.Minute)), nil
		default:
			return c.Cancelled(), nil
		}
	}
	run := enginetest.New(t, s, fn)
	run.Start(nil)
	run.Cancel()
	run.Cancel()
	if diff := cmp.Diff([]string{"clean-up"}, run.Waiting()); diff != "" {
		t.Error(diff)
	}
	run.Advance(time.Minute)
	if got := run.Status(); got != engine.StatusCancelled {
		t.Errorf("the run is %s", got)
	}
	if got := run.Hook("h").State; got != "disposed" {
		t.Errorf("the hook is %s", got)
	}

	run = enginetest.New(t, s, fn)
	run.Start(nil)
	run.Terminate()
	if got := run.Status(); got != engine.StatusCancelled {
		t.Errorf("a terminated run is %s", got)
	}
	if got := run.Hook("h").State; got != "cancelled" {
		t.Errorf("the hook of a terminated run is %s", got)
	}
}

func TestStartObeysTheInputSchema(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "w", Version: "1", Input: json.RawMessage(`{"type":"integer"}`)}
	run := enginetest.New(t, s, func(c *engine.Context) (engine.Decision, error) { return c.Complete(nil), nil })
	if err := run.TryStart("x"); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("an input that breaks the schema got %v", err)
	}
	run.Start(1)
	run.Start(1)
	if err := run.TryStart(2); engine.VerdictOf(err) != engine.VerdictConflict {
		t.Errorf("another input got %v", err)
	}
}

// failing is a test that must fail.
type failing struct {
	testing.TB
	words string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.words = fmt.Sprintf(format, args...)
	panic(f)
}

func TestUnexpectedBlockFailsTheTest(t *testing.T) {
	t.Parallel()
	f := &failing{TB: t}
	defer func() {
		if recover() != f {
			t.Fatal("a blocked run did not fail its test")
		}
		for _, want := range []string{"start: the run is blocked: error: broken", "1.1 +0s run.started", "1.2 +0s run.blocked"} {
			if !strings.Contains(f.words, want) {
				t.Errorf("the failure %q does not contain %q", f.words, want)
			}
		}
	}()
	enginetest.New(f, invoiceSpec, func(c *engine.Context) (engine.Decision, error) {
		return engine.Decision{}, fmt.Errorf("broken")
	}).Start(nil)
}

func TestHookIDIsUsedOncePerRun(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "w", Version: "1"}
	run := enginetest.New(t, s, func(c *engine.Context) (engine.Decision, error) {
		r, refused := c.HookRejected("h")
		switch {
		case refused:
			return c.Complete(r.Reason), nil
		case c.HookState("h") == engine.Answered:
			return c.ContinueAsNew(nil), nil
		default:
			return c.CreateHook("h"), nil
		}
	})
	run.Start(nil)
	run.Resume("h", 1)
	if got := string(run.Result()); got != `"id_used"` {
		t.Errorf("output %s", got)
	}
}

// What the Context hands out is the author's own: writing into it changes nothing for the next call.
func TestWhatAContextShowsIsACopy(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, spec.WorkflowSpec{Name: "w", Version: "1", Signals: []spec.Signal{{Name: "go"}}},
		func(c *engine.Context) (engine.Decision, error) {
			shown := []string{string(c.Input())}
			clear(c.Input())
			for _, s := range c.Signals("go") {
				shown = append(shown, string(s.Payload))
				clear(s.Payload)
			}
			if len(shown) == 3 {
				return c.Complete(strings.Join(shown, " ")), nil
			}
			return c.Timer("forever", time.Hour), nil
		})
	run.Start(1)
	run.Signal("go", 2)
	run.Signal("go", 3)
	if got := string(run.Result()); got != `"1 2 3"` {
		t.Errorf("the function saw %s", got)
	}
}
