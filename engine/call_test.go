package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// inbox takes so many items as its input says, and ends with them.
var inbox = workflow{
	spec.WorkflowSpec{
		Name: "inbox", Version: "1",
		Signals: []spec.Signal{{Name: "item"}, {Name: "strict", Schema: []byte(`{"type":"integer"}`)}},
	},
	func(ctx *engine.Context) (engine.Decision, error) {
		n, err := engine.Input[int](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		got := []string{}
		for i := range n {
			item, ok, err := engine.SignalPayload[string](ctx, engine.ID("w", i))
			if err != nil || !ok {
				return ctx.WaitForSignal(engine.ID("w", i), "item"), err
			}
			got = append(got, item)
		}
		return ctx.Complete(got), nil
	},
}

// outgoing is one call of a caller.
type outgoing struct {
	Target spec.RunID
	ID     spec.SignalID
	Name   string // empty: a wish to cancel
	Value  any
}

// makesCalls makes the calls of its input all at once, and ends with what came of each.
var makesCalls = workflow{
	spec.WorkflowSpec{Name: "caller", Version: "1"},
	func(ctx *engine.Context) (engine.Decision, error) {
		calls, err := engine.Input[[]outgoing](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		open := false
		var all []engine.Decision
		outcomes := []string{}
		for i, c := range calls {
			id := engine.ID("c", i)
			if c.Name == "" {
				all = append(all, ctx.RequestCancel(id, c.Target, "no more"))
			} else {
				all = append(all, ctx.SignalRun(id, c.Target, engine.OutgoingSignal{ID: c.ID, Name: c.Name, Payload: c.Value}))
			}
			switch f, failed := ctx.CallFailed(id); {
			case failed:
				outcomes = append(outcomes, string(f.Reason))
			case ctx.CallDelivered(id):
				outcomes = append(outcomes, "delivered")
			default:
				open = true
			}
		}
		if open {
			return ctx.Await(all...), nil
		}
		return ctx.Complete(strings.Join(outcomes, " ")), nil
	},
}

// Each reason for which another run refuses a message, and the ones it takes. A call made again as it was is a duplicate for
// the other run, and so delivered.
func TestOutcomesOfCalls(t *testing.T) {
	t.Parallel()
	asked := workflow{
		spec.WorkflowSpec{Name: "asked", Version: "1", CooperativeCancel: true},
		func(ctx *engine.Context) (engine.Decision, error) {
			if ctx.CancelRequested() {
				return ctx.Complete("went"), nil
			}
			return ctx.Timer("t", time.Hour), nil
		},
	}
	cfg := testConfig(t, pgtest.New(t))
	cfg.TargetGrace = 200 * time.Millisecond
	r := idle(t, cfg, inbox, makesCalls, asked).run()
	r.start(inbox, "open", 9)
	r.start(inbox, "ended", 0)
	r.start(inbox, "plain", 9)
	r.start(asked, "cooperative", nil)
	r.completed("ended")
	r.start(makesCalls, "caller", []outgoing{
		{"open", "", "item", "a"},
		{"open", "same", "item", "b"},
		{"open", "same", "item", "b"},
		{"open", "same", "item", "c"},
		{"open", "", "nobody-declares", 1},
		{"open", "", "strict", "text"},
		{"ended", "", "item", "a"},
		{"nowhere", "", "item", "a"},
		{"caller", "", "item", "a"},
		{"plain", "", "", nil},
		{"plain", "", "", nil},
		{"plain", "", "item", "a"},
		{"ended", "", "", nil},
		{"nowhere", "", "", nil},
		{"cooperative", "", "", nil},
	})
	const want = `"delivered delivered delivered conflict undeclared schema target_ended target_unknown ` +
		`undeclared delivered delivered target_ended target_ended target_unknown delivered"`
	if out := r.completed("caller"); out != want {
		t.Errorf("outcomes\n%s\n%s", out, want)
	}
	if s := r.ended("plain"); s.Status != engine.StatusCancelled {
		t.Errorf("plain is %s", s.Status)
	}
	if out := r.completed("cooperative"); out != `"went"` {
		t.Errorf("cooperative: %s", out)
	}
	if n := r.tally("open")["signal.received"]; n != 2 {
		t.Errorf("%d signals arrived, want 2: %v", n, r.types("open"))
	}
}

// Messages of one run to another arrive in the order in which they were asked for, over generations and whoever delivers
// them, each once.
func TestCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const rounds, each, runs = 3, 20, 4
	sender := workflow{spec.WorkflowSpec{Name: "sender", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		var all []engine.Decision
		for i := range each {
			text := fmt.Sprintf("%s/%02d/%02d", ctx.RunID(), ctx.Generation(), i)
			all = append(all, ctx.SignalRun(engine.ID("c", i), "inbox", engine.OutgoingSignal{Name: "item", Payload: text}))
		}
		if ctx.Generation() < rounds {
			return ctx.Await(append(all, ctx.ContinueAsNew(nil))...), nil
		}
		return ctx.Await(append(all, ctx.Complete(nil))...), nil
	}}
	r := newRig(t, inbox, sender)
	r.beside(inbox, sender)
	r.start(inbox, "inbox", rounds*each*runs)
	for i := range runs {
		r.start(sender, spec.RunID(fmt.Sprint("sender-", i)), nil)
	}
	items := strings.Split(strings.Trim(r.completed("inbox"), `[]`), ",")
	last := map[string]string{}
	for _, item := range items {
		from, _, _ := strings.Cut(item, "/")
		if item <= last[from] {
			t.Errorf("%s comes after %s", item, last[from])
		}
		last[from] = item
	}
	if len(items) != rounds*each*runs {
		t.Errorf("%d items", len(items))
	}
	r.eventually("no call is open", func() bool { return r.asks("SELECT NOT EXISTS (SELECT FROM tasks)") })
}

// A target that comes within the grace gets its message. Processes that were lost meanwhile, and what they took, are no
// tries: the grace is not over because of them.
func TestLostProcessesAreNoTriesOfACall(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.TargetGrace = 10 * time.Second
	r := idle(t, cfg, inbox, makesCalls).run()
	r.start(makesCalls, "caller", []outgoing{{"later", "", "item", "x"}})
	r.eventually("processes are lost", func() bool {
		tag, err := r.pool.Exec(r.ctx(), "UPDATE tasks SET failures = failures + 99, strikes = 99 WHERE kind = 'call' AND worker IS NULL")
		must(t, err)
		return tag.RowsAffected() == 1
	})
	r.eventually("it is tried again, and again", func() bool {
		return r.asks("SELECT NOT EXISTS (SELECT FROM tasks) OR (SELECT failures - strikes > 3 FROM tasks)")
	})
	r.start(inbox, "later", 1)
	if out := r.completed("later"); out != `["x"]` {
		t.Errorf("output %s", out)
	}
	if out := r.completed("caller"); out != `"delivered"` {
		t.Errorf("outcome %s", out)
	}
}

// A run whose backlog is full takes the message when there is room: it is late, not refused.
func TestCallWaitsForRoom(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.Backlog = 1
	gated := workflow{
		spec.WorkflowSpec{Name: "gated", Version: "1", Signals: []spec.Signal{{Name: "item"}, {Name: "go"}}},
		func(ctx *engine.Context) (engine.Decision, error) {
			if _, ok, err := engine.HookPayload[any](ctx, "go"); err != nil || !ok {
				return ctx.CreateHook("go"), err
			}
			return inbox.fn(ctx)
		},
	}
	r := idle(t, cfg, gated, makesCalls).run()
	r.start(gated, "g", 3)
	r.waiting("g", "go")
	r.start(makesCalls, "caller", []outgoing{{"g", "", "item", "1"}, {"g", "", "item", "2"}, {"g", "", "item", "3"}})
	r.eventually("the second one is refused", func() bool {
		return r.asks("SELECT EXISTS (SELECT FROM tasks WHERE kind = 'call' AND last_error <> '')")
	})
	if _, err := r.resume("g", "go", nil); err != nil {
		t.Fatal(err)
	}
	if out := r.completed("g"); out != `["1","2","3"]` {
		t.Errorf("output %s", out)
	}
	if out := r.completed("caller"); out != `"delivered delivered delivered"` {
		t.Errorf("outcomes %s", out)
	}
}
