package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// crowd fills the tables with n runs, each with a start, two signals and two hooks. Foreign keys are not checked one by one.
func (r *acceptRig) crowd(n int) {
	r.t.Helper()
	tx := r.begin()
	for _, text := range []string{
		`set local session_replication_role = replica`,
		fmt.Sprintf(`insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, next_seq, started_at, updated_at)
			select 'default', 'run-' || i, 'invoice', '1', sha256('plain'), sha256('x'), 2, now(), now() from generate_series(1, %d) i`, n),
		`insert into events (run, seq, generation, type, at, data) select id, 1, 1, 'run.started', started_at, '{}' from runs`,
		`insert into signals (run, signal_id, name, digest, seq, received_at, source, actor)
			select id, 's' || i, 'approved', sha256('x'), 1 + i, started_at, '', '' from runs, generate_series(1, 2) i`,
		`insert into hooks (run, namespace, hook_id, name, metadata, token_digest, digest_key, state, created_at)
			select id, namespace, 'h' || i, 'h', '{}', sha256((id || '/' || i)::bytea), 'k1', 'active', started_at
			from runs, generate_series(1, 2) i`,
	} {
		if _, err := tx.Exec(r.t.Context(), text); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := tx.Commit(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// plan explains a statement as the door runs it and returns its nodes, one "type on relation" per line.
func (r *acceptRig) plan(tx pgx.Tx, sql string, params any) string {
	r.t.Helper()
	var text []byte
	if err := tx.QueryRow(r.t.Context(), "explain (format json) "+sql, arguments(params)...).Scan(&text); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	var out []map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		fmt.Fprintln(&b, node["Node Type"], "on", node["Relation Name"])
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(out[0]["Plan"].(map[string]any))
	return b.String()
}

// acceptStatements are the statements of an accept transaction over n runs.
func (r *acceptRig) acceptStatements(n int) map[string]struct {
	sql    string
	params any
} {
	q := inquiry{}
	var hooks sqlc.SettleHooksParams
	var runs sqlc.UpdateRunsParams
	at := time.Now()
	for i := range n {
		key := keyOf(fmt.Sprint("run-", 1+i*300))
		q.keys = append(q.keys, key)
		q.askSignal(key, "s1")
		q.askHook(key, "h1")
		id := int64(1 + i*300)
		addRun(&runs, storedRun{ID: id, Run: history.Run{Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 2}})
		addSettled(&hooks, id, history.Hook{ID: spec.HookID("h1"), State: history.StateResumed, ResolvedAt: &at})
	}
	namespaces, ids := columns(q.keys)
	type statement = struct {
		sql    string
		params any
	}
	return map[string]statement{
		"LockRuns":        {sqlc.LockRuns, sqlc.LockRunsParams{Namespaces: namespaces, RunIds: ids}},
		"LockRunsWaiting": {sqlc.LockRunsWaiting, sqlc.LockRunsWaitingParams{Namespaces: namespaces, RunIds: ids}},
		"FindRuns":        {sqlc.FindRuns, sqlc.FindRunsParams{Namespaces: namespaces, RunIds: ids}},
		"KnownSignals":    {sqlc.KnownSignals, q.signals},
		"KnownHooks":      {sqlc.KnownHooks, q.hooks},
		"ActiveHooks":     {sqlc.ActiveHooks, sqlc.ActiveHooksParams{Namespaces: namespaces, RunIds: ids}},
		"UpdateRuns":      {sqlc.UpdateRuns, runs},
		"SettleHooks":     {sqlc.SettleHooks, hooks},
	}
}

// Every batch stays on the keys, at 1 and at 256 runs of 100,000, with statistics and without.
func TestPlansStayOnTheKeys(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.crowd(100_000)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			r.sql(`analyze`)
		}
		tx := r.begin()
		p := &pipeline{}
		p.settings(time.Second)
		if err := p.send(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 256} {
			for name, st := range r.acceptStatements(n) {
				plan := r.plan(tx, st.sql, st.params)
				if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Hash Join") {
					t.Errorf("%s with %d runs, analyzed %v:\n%s", name, n, analyzed, plan)
				}
				if !strings.Contains(plan, "Index Scan on runs") && !strings.Contains(plan, "Index Only Scan on runs") && name != "SettleHooks" {
					t.Errorf("%s: the plan has no look-up of runs:\n%s", name, plan)
				}
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.scansNothing()
}

// scansNothing runs batches often enough for generic plans, and lets the server count what they scan.
func (r *acceptRig) scansNothing() {
	r.t.Helper()
	scans := func() int64 {
		r.sql(`select pg_stat_force_next_flush()`)
		return value[int64](r, `select sum(seq_scan)::bigint from pg_stat_user_tables where relname in ('runs', 'events', 'signals', 'hooks')`)
	}
	conn, err := r.pool.Acquire(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	before := scans()
	for _, n := range []int{1, 256} {
		for range 12 {
			for name, st := range r.acceptStatements(n) {
				p := &pipeline{}
				p.begin(time.Second)
				p.exec(st.sql, st.params)
				p.commit()
				if err := p.send(context.Background(), conn.Conn()); err != nil {
					r.t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if _, err := conn.Exec(context.Background(), `select pg_stat_force_next_flush()`); err != nil {
		r.t.Fatal(err)
	}
	conn.Release()
	if after := scans(); after != before {
		r.t.Errorf("%d scans of whole tables", after-before)
	}
}
