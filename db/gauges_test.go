package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// What every scrape costs does not depend on a plan that somebody's statistics lead to.
func TestGaugePlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 5_000} {
		r := newAcceptRig(t)
		r.crowd(size)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				r.sql(`vacuum analyze`)
			}
			for name, st := range map[string]struct {
				sql     string
				params  any
				indexes string
			}{
				"GaugeHooks":   {sqlc.GaugeHooks, sqlc.GaugeHooksParams{Most: 100}, `hooks_active`},
				"GaugeRuns":    {sqlc.GaugeRuns, sqlc.GaugeRunsParams{Most: 100}, `runs_pkey|runs_recent`},
				"GaugeBlocked": {sqlc.GaugeBlocked, sqlc.GaugeBlockedParams{Most: 100}, `due_blocked|runs_pkey`},
				"GaugeDue":     {sqlc.GaugeDue, sqlc.GaugeDueParams{Most: 100}, `due_pkey|workers_code|workers_pkey`},
				"GaugeLetters": {sqlc.GaugeLetters, sqlc.GaugeLettersParams{Most: 100}, `dead_letters_pkey`},
				"GaugeInbox":   {sqlc.GaugeInbox, sqlc.GaugeInboxParams{Most: 100}, `inbox_room`},
				"GaugeKeys":    {sqlc.GaugeKeys, sqlc.GaugeKeysParams{Most: 100}, `hooks_keys`},
			} {
				r.indexesOnly(fmt.Sprintf("%s of %d", name, size), st.sql, st.params, st.indexes)
			}
		}
	}
}

// The rows that the gauges read do not grow with the tables, once there is more than their cap.
func TestGaugesReadNoMoreThanTheirCap(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.crowd(3_000)
	r.sql(`insert into due (workflow, version, wake_at, run, blocked) select 'invoice', '1', now() - interval '1 minute', id, false from runs`)
	r.sql(`vacuum analyze`)
	const most = 50
	tx := r.begin()
	hooks, err := statements.GaugeHooks(t.Context(), tx, sqlc.GaugeHooksParams{Most: most})
	if err != nil || hooks[0].Active != most {
		t.Errorf("hooks: %+v, %v", hooks, err)
	}
	runs, err := statements.GaugeRuns(t.Context(), tx, sqlc.GaugeRunsParams{Most: most})
	if err != nil || len(runs) != 1 || runs[0].Runs != most {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	due, err := statements.GaugeDue(t.Context(), tx, sqlc.GaugeDueParams{Most: most})
	if err != nil || due[0].WithoutCode != most || due[0].OldestAge != 0 {
		t.Errorf("due: %+v, %v", due, err)
	}
	keys, err := statements.GaugeKeys(t.Context(), tx, sqlc.GaugeKeysParams{Most: most})
	if err != nil || len(keys) != 1 || keys[0].DigestKey != "k1" || keys[0].Hooks != most {
		t.Errorf("keys: %+v, %v", keys, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestGaugesTellWhatTheDatabaseHolds(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.crowd(5)
	for _, text := range []string{
		`update hooks set expires_at = now() - interval '1 second', created_at = now() - interval '2 hours' where run = (select min(id) from runs)`,
		`update runs set backlog = 3 where run_id in ('run-1', 'run-2')`,
		`update runs set status = 'blocked', block_cause = 'panic', wake_at = now() + interval '1 hour' where run_id = 'run-2'`,
		`update runs set status = 'failed', closed_at = now(), backlog = 7 where run_id = 'run-3'`,
		`update runs set wake_at = now() - interval '1 minute' where run_id = 'run-4'`,
		`update runs set workflow = 'gone', wake_at = now() where run_id = 'run-5'`,
		`insert into workers (process, workflow, version, seen_at) values ('p', 'invoice', '1', now()), ('q', 'gone', '1', now() - interval '1 hour')`,
		`insert into dead_letters (run, namespace, generation, step_id, name, reason, code, message, attempt, created_at, state)
			select id, 'default', 1, 's', 'n', 'exhausted', '', '', 1, now(), 'held' from runs limit 2`,
		`insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, received_at, deadline, try_at)
			values ('default', 's', 'm', 'signal', 'r', 'n', sha256(''), '1', 'held', now(), now(), now())`,
	} {
		r.sql(text)
	}
	g, err := r.Gauges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"hooks":   g.HooksActive == 5 && g.HooksOverdue == 1 && g.HookOldestAge > 2*time.Hour-time.Minute && g.HookOldestAge < 3*time.Hour,
		"runs":    g.Runs["running"] == 3 && g.Runs["blocked"] == 1 && g.Runs["failed"] == 1 && g.SignalsUnread == 6,
		"blocked": g.Blocked["panic"] == 1 && g.Blocked["error"] == 0,
		"due":     g.WithoutCode == 1 && g.DueOldestAge >= time.Minute && g.DueOldestAge < time.Hour,
		"letters": g.Letters["held"] == 2 && g.Inbox["held"] == 1 && g.Inbox["dead"] == 0,
		"keys":    len(g.HooksByKey) == 1 && g.HooksByKey["k1"] == 5,
		"clock":   g.ClockAhead.Abs() < time.Minute,
	} {
		if !ok {
			t.Errorf("%s: %+v", what, g)
		}
	}
}

func TestGaugesOfADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Gauges(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
