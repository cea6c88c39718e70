package engine_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/spec"
)

// While steps are held, none seems to be due to a claim. proof.work lets the clock come to where the last event of the runs
// is, and says whether there is anything to do: an outcome bears the time of the event before it when that is later, and so
// might come too late. proof.done holds steps again once none is due and none under way.
const stepSQL = `
create function proof.work(spaces text[]) returns boolean language plpgsql volatile as $$ begin
	perform setval('proof.micros', greatest(pg_sequence_last_value('proof.micros'), (
		select extract(epoch from max(updated_at) - timestamptz '2026-01-02T03:04:05Z') * 1000000 from runs
		where namespace = any(spaces))::bigint));
	return exists (select from tasks where kind = 'step' and run_after <= statement_timestamp());
end $$;
create function proof.done(patience interval) returns boolean language plpgsql volatile as $$ begin
	while exists (select from tasks where kind = 'step' and (worker is not null or run_after <= statement_timestamp())) loop
		if pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + patience then
			return false;
		end if;
		perform pg_sleep(0.0003);
	end loop;
	perform setval('proof.idle', 1);
	return true;
end $$;
create function proof.left_over(spaces text[]) returns bigint language sql volatile as $$ -- in one statement, as above
	select (select count(*) from tasks t join runs r on r.id = t.run where r.namespace = any(spaces) and not t.held
			and not (r.status = 'blocked' and t.close_at <= clock_timestamp())) -- what the step waits for may never be decided
		+ (select count(*) from runs where namespace = any(spaces) and wake_at <= statement_timestamp())
$$;
`

// work lets steps be done until none is due, and then holds them.
func (w *world) work(trace string) {
	w.t.Helper()
	var due bool
	if w.ask(&due, "select proof.work($1)", spaces(trace)); !due {
		return
	}
	w.exec("select setval('proof.idle', 0)")
	w.nudgeUntil("done", func(e *rig) { e.LookForTasks() }, "select proof.done($1)")
	w.unclaimed()
}

// registerSteps gives an engine the steps of traces: those of one name share few places.
func (w *world) registerSteps(e *engine.Engine) error {
	if err := e.RegisterStep(proof.Steps[0], w.step); err != nil {
		return err
	}
	return e.RegisterStep(proof.Steps[1], w.step, engine.InQueue("narrow"))
}

// step is the function of every step. Where steps run freely, some take so long that their leases end.
func (w *world) step(ctx context.Context, s *engine.Step) (any, error) {
	key := history.RunKey{Namespace: s.Namespace, RunID: s.RunID}
	w.attempts.Begin(key, s.Generation, s.ID, s.Attempt)
	defer w.attempts.End(key, s.Generation, s.ID, s.Attempt)
	if w.mode == free {
		w.linger(ctx, s)
	}
	output, fault := proof.Do(s.Input, s.Attempt)
	if fault == nil {
		return output, nil
	}
	err := engine.Coded(fault.Code, fault)
	if fault.Final {
		err = engine.NonRetryable(err)
	}
	if fault.After != nil {
		err = engine.RetryAfter(err, *fault.After)
	}
	return nil, err
}

// linger takes some time that differs from step to step: one in eight takes longer than its lease.
func (w *world) linger(ctx context.Context, s *engine.Step) {
	pause := time.Duration(s.IdempotencyKey[1]%16) * time.Millisecond
	if strings.Contains("07", s.IdempotencyKey[:1]) {
		pause = 150 * time.Millisecond
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// outcome reads which step an event is the outcome of.
func (w *world) outcome(run history.RunKey, seq int64) (step spec.StepID, ok bool) {
	err := w.pool.QueryRow(w.t.Context(), `select e.data ->> 'step_id' from runs r join events e on e.run = r.id
		where r.namespace = $1 and r.run_id = $2 and e.seq = $3 and e.type in ('step.completed', 'step.failed')`,
		string(run.Namespace), string(run.RunID), seq).Scan(&step)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		w.t.Error(err)
	}
	return step, err == nil
}
