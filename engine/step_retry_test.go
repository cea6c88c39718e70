package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// Every form of a retry policy, by the pauses that it leaves in the database, which keeps the time: the processes' clocks
// are wrong.
func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	plain, coded := errors.New("plain"), engine.Coded("down", errors.New("coded"))
	for name, c := range map[string]struct {
		retry  spec.RetryPolicy
		err    error
		pauses []time.Duration // after the first attempts
		spread float64         // the part of a pause that may be taken off
		reason engine.FailureReason
	}{
		"none":                {spec.NoRetry(), plain, nil, 0, engine.FailedExhausted},
		"zero":                {spec.RetryPolicy{}, plain, nil, 0, engine.FailedExhausted},
		"fixed":               {spec.FixedRetry(3, time.Hour), plain, []time.Duration{time.Hour, time.Hour}, 0, engine.FailedExhausted},
		"exponential":         {spec.ExponentialRetry(5, time.Hour, 3*time.Hour), plain, hours(1, 2, 3, 3), 0.2, engine.FailedExhausted},
		"factor without end":  {spec.RetryPolicy{Attempts: 3, Delay: time.Hour, Factor: 10}, plain, hours(1, 10), 0, engine.FailedExhausted},
		"all off by chance":   {spec.RetryPolicy{Attempts: 2, Delay: time.Hour, Jitter: 1}, plain, hours(1), 1, engine.FailedExhausted},
		"code not listed":     {spec.FixedRetry(2, time.Hour).WithNonRetryable("other"), coded, hours(1), 0, engine.FailedExhausted},
		"code listed":         {spec.FixedRetry(2, time.Hour).WithNonRetryable("down"), coded, nil, 0, engine.FailedNonRetryable},
		"listed, held":        {spec.NoRetry().WithNonRetryable("down").WithHold(), coded, nil, 0, engine.FailedNonRetryable},
		"marked":              {spec.FixedRetry(2, time.Hour), engine.NonRetryable(plain), nil, 0, engine.FailedNonRetryable},
		"marked below":        {spec.FixedRetry(2, 0), fmt.Errorf("at work: %w", engine.NonRetryable(coded)), nil, 0, engine.FailedNonRetryable},
		"later":               {spec.FixedRetry(2, time.Second), engine.RetryAfter(plain, time.Hour), hours(1), 0, engine.FailedExhausted},
		"later than there is": {spec.FixedRetry(2, time.Second), engine.RetryAfter(plain, 1e6*time.Hour), hours(720), 0, engine.FailedExhausted},
		"later adds none":     {spec.NoRetry(), engine.RetryAfter(plain, time.Hour), nil, 0, engine.FailedExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t, pgtest.New(t))
			cfg.Clock = func() time.Time { return time.Now().Add(-100 * time.Hour) }
			failures := make(chan *engine.StepFailure, 1)
			w := oneStep(c.retry)
			told := workflow{w.spec, func(ctx *engine.Context) (engine.Decision, error) {
				if f, failed := ctx.StepFailed("s"); failed {
					failures <- f
				}
				return w.fn(ctx)
			}}
			r := idle(t, cfg, told)
			must(t, r.RegisterStep("work", fails(c.err)))
			r.run()
			r.start(told, "a", nil)
			for i, pause := range c.pauses {
				low := time.Duration(float64(pause)*(1-c.spread)) - 20*time.Second
				r.eventually("a pause", func() bool {
					return r.asks(`SELECT failures = $1 AND worker IS NULL FROM tasks`, i+1)
				})
				if !r.asks("SELECT extract(epoch FROM run_after - now()) BETWEEN $1::float8 AND $2::float8 FROM tasks", low.Seconds(), pause.Seconds()) {
					t.Errorf("the pause after attempt %d is not from %s to %s", i+1, low, pause)
				}
				r.exec("UPDATE tasks SET run_after = now()")
				r.Nudge()
			}
			if s := r.ended("a"); s.Status != engine.StatusFailed {
				t.Errorf("%s %s", s.Status, s.Error)
			}
			if f := within(t, failures); f.Reason != c.reason || f.Attempt != len(c.pauses)+1 {
				t.Errorf("%+v, want %s after %d attempts", f, c.reason, len(c.pauses)+1)
			}
		})
	}
}

func hours(n ...int) []time.Duration {
	pauses := make([]time.Duration, len(n))
	for i, h := range n {
		pauses[i] = time.Duration(h) * time.Hour
	}
	return pauses
}

// A pause is not cut short, neither by hints nor by polls.
func TestRetryKeepsItsPause(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	var failed atomic.Int64
	w := oneStep(spec.FixedRetry(2, pause))
	cfg := neverPolls(t, testConfig(t, pgtest.New(t)))
	r := idle(t, cfg, w)
	must(t, r.RegisterStep("work", func(_ context.Context, s *engine.Step) (any, error) {
		if s.Attempt == 1 {
			failed.Store(time.Now().UnixNano())
			return nil, errors.New("once")
		}
		return time.Since(time.Unix(0, failed.Load())) >= pause, nil
	}))
	r.run()
	r.start(w, "a", nil)
	r.eventually("the first attempt", func() bool { return failed.Load() > 0 })
	r.Nudge()
	if out := r.completed("a"); out != "true" {
		t.Error("it was tried again too soon")
	}
}

// heldStep is a rig with a held step of run "a"; the function fails while down is true.
func heldStep(t *testing.T, w workflow) (r *rig, down *atomic.Bool, calls *atomic.Int32, letter engine.DeadLetter) {
	t.Helper()
	down, calls = &atomic.Bool{}, &atomic.Int32{}
	down.Store(true)
	r = stepRig(t, w, func(context.Context, *engine.Step) (any, error) {
		if calls.Add(1); down.Load() {
			return nil, errors.New("down")
		}
		return "up", nil
	})
	r.start(w, "a", nil)
	return r, down, calls, r.letter()
}

// A held step that is discarded has failed as discarded; replayed, it has all its attempts again, and is held again.
func TestHeldStepIsDecided(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.FixedRetry(3, 0).WithHold())
	r, _, calls, first := heldStep(t, w)
	if n := calls.Load(); n != 3 || first.Attempt != 3 {
		t.Errorf("%d attempts; %+v", n, first)
	}
	if _, err := r.ReplayDeadLetter(r.ctx(), first.ID, "ops"); err != nil {
		t.Fatal(err)
	}
	second := r.letter()
	if n := calls.Load(); n != 6 || second.ID == first.ID || second.Attempt != 6 {
		t.Errorf("%d attempts; %+v", n, second)
	}
	for _, want := range []engine.Verdict{engine.VerdictAccepted, engine.VerdictDuplicate} {
		if v, err := r.DiscardDeadLetter(r.ctx(), second.ID, "ops"); v != want || err != nil {
			t.Errorf("discard: %s %v, want %s", v, err, want)
		}
	}
	if s := r.ended("a"); s.Status != engine.StatusFailed || !strings.Contains(s.Error, "discarded") {
		t.Errorf("%s %q", s.Status, s.Error)
	}
	if _, err := r.ReplayDeadLetter(r.ctx(), second.ID, ""); !errors.Is(err, engine.ErrLetterDecided) {
		t.Errorf("replay of a discarded letter: %v", err)
	}
}

// Of many decisions about one held step, one is made: the others repeat it or are told that it was made.
func TestDecisionsAboutALetterMeet(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.NoRetry().WithHold())
	r, down, _, letter := heldStep(t, w)
	other := r.beside(w)
	down.Store(false)
	var made [2]atomic.Int32
	parallel(16, func(i int) {
		decide := []*rig{r, other}[i/2%2].ReplayDeadLetter
		if i%2 == 1 {
			decide = []*rig{r, other}[i/2%2].DiscardDeadLetter
		}
		switch v, err := decide(r.ctx(), letter.ID, "ops"); {
		case err == nil && v == engine.VerdictAccepted:
			made[i%2].Add(1)
		case err != nil && !errors.Is(err, engine.ErrLetterDecided):
			t.Errorf("%v", err)
		}
	})
	if made[0].Load()+made[1].Load() != 1 {
		t.Errorf("%d replays and %d discards were accepted", made[0].Load(), made[1].Load())
	}
	want := engine.StatusFailed
	if made[0].Load() > 0 {
		want = engine.StatusCompleted
	}
	if s := r.ended("a"); s.Status != want {
		t.Errorf("%s, want %s", s.Status, want)
	}
}

// A held step ends with its run, and with its time; then there is nothing to replay, and the letter can be discarded.
func TestHeldStepEndsWithItsRun(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]engine.StepOption{
		"cancelled": nil, "timed out": {engine.ScheduleToClose(500 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oneStep(spec.NoRetry().WithHold(), opts...)
			r, _, calls, letter := heldStep(t, w)
			if opts == nil {
				_, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: "a"})
				must(t, err)
			}
			r.ended("a")
			if _, err := r.ReplayDeadLetter(r.ctx(), letter.ID, ""); !errors.Is(err, engine.ErrTaskClosed) {
				t.Errorf("replay: %v", err)
			}
			if v, err := r.DiscardDeadLetter(r.ctx(), letter.ID, ""); v != engine.VerdictAccepted || err != nil {
				t.Errorf("discard: %s %v", v, err)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// IDs that are none, and those of other namespaces, name no letter.
func TestLettersOfNobody(t *testing.T) {
	t.Parallel()
	w := oneStep(spec.NoRetry().WithHold())
	r, _, _, letter := heldStep(t, w)
	elsewhere, err := r.Namespace("elsewhere")
	must(t, err)
	if p, err := elsewhere.ListDeadLetters(r.ctx(), engine.LetterFilter{}); err != nil || len(p.Letters) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	for _, h := range []*engine.Handle{elsewhere, r.Handle} {
		for _, id := range []string{letter.ID, "", "0", "-1", "+" + letter.ID, "0" + letter.ID, " 1", "1e3", "99999999999999999999", "x\x00"} {
			if h == r.Handle && id == letter.ID {
				continue
			}
			_, err1 := h.DeadLetter(r.ctx(), id)
			_, err2 := h.ReplayDeadLetter(r.ctx(), id, "")
			_, err3 := h.DiscardDeadLetter(r.ctx(), id, "")
			for _, err := range []error{err1, err2, err3} {
				if !errors.Is(err, engine.ErrLetterNotFound) {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
	}
	for what, f := range map[string]engine.LetterFilter{
		"state": {State: "lost"}, "limit": {Limit: -1}, "name": {Name: "a\x00"}, "cursor": {Cursor: "nonsense"},
	} {
		if _, err := r.ListDeadLetters(r.ctx(), f); engine.VerdictOf(err) != engine.VerdictInvalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.ReplayDeadLetter(r.ctx(), letter.ID, "a\x00"); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("actor: %v", err)
	}
	if l := r.letter(); l.State != engine.LetterHeld {
		t.Errorf("%+v", l)
	}
}

// An external step: its function hands the link of a hook out, and whoever has it gives the result, once.
func TestExternalStep(t *testing.T) {
	t.Parallel()
	w := workflow{spec.WorkflowSpec{Name: "external", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		answer, ok, err := engine.HookPayload[string](ctx, "h")
		if ok || err != nil {
			return ctx.Complete(answer), err
		}
		if _, _, err := engine.StepOutput[any](ctx, "s"); err != nil {
			return engine.Decision{}, err
		}
		return ctx.Await(ctx.CreateHook("h"), ctx.RunStep("s", "work", nil, spec.FixedRetry(3, 0))), nil
	}}
	links := make(chan string, 3)
	r := stepRig(t, w, func(ctx context.Context, s *engine.Step) (any, error) {
		link, err := s.HookURL(ctx, "h")
		if err != nil {
			return nil, err
		}
		links <- link
		if s.Attempt == 1 {
			return nil, fmt.Errorf("POST %s: connection refused", link)
		}
		return nil, nil
	})
	r.start(w, "a", nil)
	first, second := within(t, links), within(t, links)
	if first != second {
		t.Error("two attempts hand out two links")
	}
	token := first[strings.LastIndexByte(first, '/')+1:]
	if r.asks("SELECT EXISTS (SELECT FROM tasks WHERE last_error LIKE '%' || $1 || '%')", token) {
		t.Error("the token is in a row")
	}
	if _, err := r.callback(token, "approved"); err != nil {
		t.Fatal(err)
	}
	if out := r.completed("a"); out != `"approved"` {
		t.Errorf("output %s", out)
	}
}
