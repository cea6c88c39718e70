package engine_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A decision about steps, children and calls with a bad argument blocks its run, says what is wrong with it, and opens
// nothing.
func TestBadDecisionsAboutTasksBlock(t *testing.T) {
	t.Parallel()
	const token = "fhk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
	long, large := strings.Repeat("x", 300), strings.Repeat("x", 5<<20)
	none := spec.NoRetry()
	step := func(id, name string, in any, retry spec.RetryPolicy, opts ...engine.StepOption) func(*engine.Context) engine.Decision {
		return func(c *engine.Context) engine.Decision { return c.RunStep(id, name, in, retry, opts...) }
	}
	child := func(id, workflow string, run spec.RunID, in any, opts ...engine.ChildOption) func(*engine.Context) engine.Decision {
		return func(c *engine.Context) engine.Decision { return c.StartChild(id, workflow, run, in, opts...) }
	}
	call := func(id string, run spec.RunID, s engine.OutgoingSignal) func(*engine.Context) engine.Decision {
		return func(c *engine.Context) engine.Decision { return c.SignalRun(id, run, s) }
	}
	wish := func(id string, run spec.RunID, reason string) func(*engine.Context) engine.Decision {
		return func(c *engine.Context) engine.Decision { return c.RequestCancel(id, run, reason) }
	}
	both := func(a, b func(*engine.Context) engine.Decision) func(*engine.Context) engine.Decision {
		return func(c *engine.Context) engine.Decision { return c.Await(a(c), b(c)) }
	}
	good := step("s", "work", 1, none)
	item := engine.OutgoingSignal{Name: "item"}
	cases := map[string]struct {
		decide func(*engine.Context) engine.Decision
		says   string
	}{
		"step without ID":          {step("", "work", 1, none), "empty"},
		"step of zero bytes":       {step("a\x00", "work", 1, none), "id"},
		"step of a long ID":        {step(long, "work", 1, none), "at most"},
		"step without name":        {step("s", "", 1, none), "name: must not be empty"},
		"step of a spaced name":    {step("s", " work", 1, none), "space"},
		"step of no UTF-8":         {step("s", "\xff", 1, none), "UTF-8"},
		"step of a token":          {step("s", token, 1, none), ""},
		"input of a channel":       {step("s", "work", make(chan int), none), "chan int"},
		"input of no number":       {step("s", "work", math.Inf(1), none), "does not encode"},
		"large input":              {step("s", "work", large, none), "large"},
		"attempts below 0":         {step("s", "work", 1, spec.FixedRetry(-1, 0)), "retry/attempts"},
		"too many attempts":        {step("s", "work", 1, spec.FixedRetry(1e9, 0)), "retry/attempts"},
		"pause below 0":            {step("s", "work", 1, spec.FixedRetry(2, -1)), "retry/delay"},
		"long pause":               {step("s", "work", 1, spec.FixedRetry(2, 1e6*time.Hour)), "retry/delay"},
		"factor of no number":      {step("s", "work", 1, spec.RetryPolicy{Factor: math.NaN()}), "retry/factor"},
		"endless factor":           {step("s", "work", 1, spec.RetryPolicy{Factor: math.Inf(1)}), "retry/factor"},
		"jitter above 1":           {step("s", "work", 1, spec.RetryPolicy{Jitter: 1.1}), "retry/jitter"},
		"bad code":                 {step("s", "work", 1, none.WithNonRetryable("ok", "a\x00")), "retry/non_retryable/1"},
		"many codes":               {step("s", "work", 1, none.WithNonRetryable(make([]string, 65)...)), "at most 64"},
		"no time":                  {step("s", "work", 1, none, engine.StartToClose(0)), "start-to-close"},
		"time below 0":             {step("s", "work", 1, none, engine.ScheduleToClose(-1)), "schedule-to-close"},
		"too much time":            {step("s", "work", 1, none, engine.HeartbeatTimeout(1e6*time.Hour)), "heartbeat"},
		"no option":                {step("s", "work", 1, none, nil), "panic"},
		"two names":                {both(good, step("s", "other", 1, none)), "in one decision"},
		"two inputs":               {both(good, step("s", "work", 2, none)), "in one decision"},
		"step and timer":           {both(good, func(c *engine.Context) engine.Decision { return c.Timer("s", time.Hour) }), `"s"`},
		"step and child":           {both(good, child("s", "w", "r", 1)), "step and a child"},
		"step beside the end":      {both(good, func(c *engine.Context) engine.Decision { return c.Complete(nil) }), "await it first"},
		"step and continue":        {both(good, func(c *engine.Context) engine.Decision { return c.ContinueAsNew(nil) }), "await it"},
		"no step to cancel":        {func(c *engine.Context) engine.Decision { return c.CancelStep("") }, "empty"},
		"only a step to cancel":    {func(c *engine.Context) engine.Decision { return c.CancelStep("s") }, ""},
		"child without ID":         {child("", "w", "r", 1), "empty"},
		"child of no workflow":     {child("c", "", "r", 1), "workflow: must not be empty"},
		"child without run":        {child("c", "w", "", 1), "empty"},
		"child of a bad run":       {child("c", "w", "a b\x00", 1), ""},
		"own child":                {child("c", "w", "own-child", 1), "its own child"},
		"bad policy":               {child("c", "w", "r", 1, engine.WhenParentEnds("forget")), "RequestCancel, Terminate or Abandon"},
		"bad version":              {child("c", "w", "r", 1, engine.ChildVersion("")), "version"},
		"large input of a child":   {child("c", "w", "r", large), "large"},
		"call without ID":          {call("", "r", item), "empty"},
		"call of nobody":           {call("c", "", item), "empty"},
		"call without a name":      {call("c", "r", engine.OutgoingSignal{}), "name: must not be empty"},
		"call of a bad signal":     {call("c", "r", engine.OutgoingSignal{ID: "a\x00", Name: "item"}), ""},
		"call of a large payload":  {call("c", "r", engine.OutgoingSignal{Name: "item", Payload: large}), "large"},
		"call of a function":       {call("c", "r", engine.OutgoingSignal{Name: "item", Payload: func() {}}), "func()"},
		"wish without a run":       {wish("c", "", ""), "empty"},
		"long reason":              {wish("c", "r", strings.Repeat("x", 2000)), "reason"},
		"reason of lines":          {wish("c", "r", "a\nb"), "reason"},
		"signal and wish":          {both(call("c", "r", item), wish("c", "r", "")), "in one decision"},
		"two targets":              {both(call("c", "r", item), call("c", "q", item)), "in one decision"},
		"more than may be open":    {func(c *engine.Context) engine.Decision { return steps(c, 11) }, "at most 10 may be"},
		"nothing, but for a panic": {func(*engine.Context) engine.Decision { panic(token) }, "panic"},
	}
	w := workflow{spec.WorkflowSpec{Name: "bad", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		name, err := engine.Input[string](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		return cases[name].decide(ctx), nil
	}}
	cfg := testConfig(t, pgtest.New(t))
	cfg.Limits.OpenTasks = 10
	cfg.CallBudget = patience // large values take their time under the race detector
	r := idle(t, cfg, w).run()
	for name := range cases {
		r.start(w, runOf(name), name)
	}
	for name, c := range cases {
		s := r.blocked(runOf(name))
		if !strings.Contains(s.BlockedReason, c.says) || len(s.BlockedReason) > 3000 || strings.Contains(s.BlockedReason, token) {
			t.Errorf("%s: %.300q does not say %q", name, s.BlockedReason, c.says)
		}
	}
	if r.asks("SELECT EXISTS (SELECT FROM tasks)") {
		t.Error("something was opened")
	}
}

func steps(c *engine.Context, n int) engine.Decision {
	var all []engine.Decision
	for i := range n {
		all = append(all, c.RunStep(engine.ID("s", i), "work", i, spec.NoRetry()))
	}
	return c.Await(all...)
}

// Registrations that cannot be are errors, never panics.
func TestBadRegistrationsOfSteps(t *testing.T) {
	t.Parallel()
	r := idle(t, testConfig(t, pgtest.New(t)))
	typed := func(context.Context, *engine.Step, int) (int, error) { return 0, nil }
	var untyped func(context.Context, *engine.Step, int) (int, error)
	must(t, engine.RegisterStep(r.Engine, "good", typed))
	for what, err := range map[string]error{
		"no name":          r.RegisterStep("", gives(1)),
		"bad name":         r.RegisterStep("a\x00", gives(1)),
		"long name":        r.RegisterStep(strings.Repeat("x", 300), gives(1)),
		"token":            r.RegisterStep("fhk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP\n", gives(1)),
		"twice":            r.RegisterStep("good", gives(1)),
		"no function":      r.RegisterStep("a", nil),
		"no typed one":     engine.RegisterStep(r.Engine, "a", untyped),
		"typed of nothing": r.RegisterStep("a", engine.TypedStep(untyped)),
		"no engine":        engine.RegisterStep(nil, "a", typed),
		"no queue":         r.RegisterStep("a", gives(1), engine.InQueue("")),
		"bad queue":        r.RegisterStep("a", gives(1), engine.InQueue("a\x00")),
		"no setting":       r.RegisterStep("a", gives(1), nil),
	} {
		if err == nil {
			t.Errorf("%s: registered", what)
		}
	}
	must(t, r.RegisterStep("a", gives(1)))
	r.run()
	n := 0
	r.eventually("it is too late", func() bool {
		n++
		return r.RegisterStep(engine.ID("late", n), gives(1)) != nil
	})
}

// Inputs that do not decode fail their step at once, however often it may be tried.
func TestInputOfAStepThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(9, time.Hour))
	r := stepRig(t, w, engine.TypedStep(func(context.Context, *engine.Step, int) (int, error) {
		return 0, errors.New("called")
	}))
	r.start(w, "a", "text")
	if s := r.ended("a"); s.Status != engine.StatusFailed || !strings.Contains(s.Error, `input of step "s"`) {
		t.Errorf("%s %q", s.Status, s.Error)
	}
}
