package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// errands asks for steps, a child and a call with secrets in all of them, and tells how they failed.
func errands(failed chan<- error) workflow {
	return workflow{spec.WorkflowSpec{Name: "errands", Version: "1"}, func(c *engine.Context) (engine.Decision, error) {
		secret := fmt.Sprintf(`{%q:%q}`, inKey, inText)
		step, ok1 := c.StepFailed("s")
		child, ok2 := c.ChildFailed("c")
		call, ok3 := c.CallFailed("x")
		if ok1 && ok2 && ok3 {
			for _, err := range []error{step, child, call} {
				failed <- err
			}
			return c.Complete(nil), nil
		}
		return c.Await(
			c.RunStep("s", "fails", secret, spec.NoRetry().WithHold()), c.StartChild("c", "nobody", "child-"+c.RunID(), secret),
			c.SignalRun("x", "vault", engine.OutgoingSignal{Name: "strict", Payload: secret}),
			c.RunStep("wait", "waits", secret, spec.NoRetry(), engine.HeartbeatTimeout(time.Millisecond)),
			c.RunStep("late", "waits", secret, spec.NoRetry(), engine.StartToClose(time.Millisecond)),
			c.RunStep("cancelled", "waits", secret, spec.NoRetry(), engine.ScheduleToClose(time.Hour)),
		), nil
	}}
}

func (p *provocation) ofTasks() map[string]provoked {
	failed, causes := make(chan error, 3), make(chan error, 4)
	w := errands(failed)
	r := idle(p.t, testConfig(p.t, p.pool), vault, w)
	step := func(name string, fn engine.StepFunc) {
		if err := r.RegisterStep(name, fn); err != nil {
			p.t.Fatal(err)
		}
	}
	begun := make(chan struct{}, 3)
	step("fails", func(context.Context, *engine.Step) (any, error) { return nil, fmt.Errorf("no luck with %s", p.minted) })
	step("waits", func(ctx context.Context, s *engine.Step) (any, error) {
		begun <- struct{}{}
		<-ctx.Done()
		causes <- errors.Join(context.Cause(ctx), s.Heartbeat(nil))
		return nil, ctx.Err()
	})
	r.run()
	r.start(vault, "vault", nil)
	r.start(w, "errand", nil)
	letter := r.letter()
	for range 3 {
		<-begun
	}
	silent, late := <-causes, <-causes
	if errors.Is(silent, engine.ErrAttemptTimeout) {
		silent, late = late, silent
	}
	refused := func(_ engine.Verdict, err error) error { return err }
	_, _ = r.DiscardDeadLetter(r.ctx(), letter.ID, "ops")
	told := []error{<-failed, <-failed, <-failed}
	cancelled := <-causes // the run completed
	closed := p.settled(&history.SettleTask{
		Run: history.RunKey{Namespace: "default", RunID: "errand"}, Task: history.TaskKey{Generation: 1, Kind: history.TaskStep, ID: inText},
	})
	return map[string]provoked{
		"engine.StepFailure":         {is: kind[*engine.StepFailure], errs: told[:1]},
		"engine.ChildFailure":        {is: kind[*engine.ChildFailure], errs: told[1:2]},
		"engine.CallFailure":         {is: kind[*engine.CallFailure], errs: told[2:]},
		"engine.ErrHeartbeatTimeout": {is: same(engine.ErrHeartbeatTimeout), errs: []error{silent}},
		"engine.ErrAttemptTimeout":   {is: same(engine.ErrAttemptTimeout), errs: []error{late}},
		"engine.ErrStepCancelled":    {is: same(engine.ErrStepCancelled), errs: []error{cancelled}},
		"engine.ErrLeaseLost":        {is: same(engine.ErrLeaseLost), errs: []error{engine.ErrLeaseLost}},
		"engine.ErrShuttingDown":     {is: same(engine.ErrShuttingDown), errs: []error{engine.ErrShuttingDown}},
		"history.ErrStaleAttempt":    {is: same(history.ErrStaleAttempt), errs: []error{history.ErrStaleAttempt}},
		"history.ErrTaskClosed":      {is: same(history.ErrTaskClosed), errs: []error{closed}},
		"engine.ErrLetterDecided": {is: same(engine.ErrLetterDecided), errs: []error{
			refused(r.ReplayDeadLetter(r.ctx(), letter.ID, "ops")),
		}},
		"db.ErrLetterNotFound": {is: same(db.ErrLetterNotFound), errs: []error{
			refused(r.ReplayDeadLetter(r.ctx(), inNumber, "ops")), refused(r.DiscardDeadLetter(r.ctx(), inText, "")),
		}},
	}
}

// settled has an outcome judged in a transaction of its own, which leaves nothing.
func (p *provocation) settled(m *history.SettleTask) error {
	p.t.Helper()
	tx, err := p.pool.Begin(p.ctx())
	if err != nil {
		p.t.Fatal(err)
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // nothing is kept of it
	answers, err := db.Open(p.pool, db.Config{}).AcceptTx(p.ctx(), tx, []history.Message{m})
	if err != nil || len(answers) == 0 {
		return err
	}
	return answers[0].Err
}
