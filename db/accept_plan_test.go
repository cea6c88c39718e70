package db

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// crowd fills the tables with n runs, each with a start, a signal and a hook. Foreign keys are not checked one by one.
func (r *acceptRig) crowd(n int) {
	r.t.Helper()
	tx := r.begin()
	for _, text := range []string{
		`set local session_replication_role = replica`,
		fmt.Sprintf(`insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, next_seq, started_at, updated_at)
			select 'default', 'run-' || i, 'invoice', '1', sha256('plain'), sha256('x'), 2, now(), now() from generate_series(1, %d) i`, n),
		`insert into events (run, seq, generation, type, at, data) select id, 1, 1, 'run.started', started_at, '{}' from runs`,
		`insert into signals (run, signal_id, name, digest, seq, received_at, source, actor)
			select id, 's' || i, 'approved', sha256('x'), 1 + i, started_at, '', '' from runs, generate_series(1, 1) i`,
		`insert into hooks (run, namespace, hook_id, name, metadata, token_digest, digest_key, state, created_at)
			select id, namespace, 'h' || i, 'h', '{}', sha256((id || '/' || i)::bytea), 'k1', 'active', started_at
			from runs, generate_series(1, 1) i`,
		`select pg_stat_force_next_flush()`, // so that the scans of this are not counted later
	} {
		if _, err := tx.Exec(r.t.Context(), text); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := tx.Commit(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// plan explains a statement as the door runs it and returns its nodes, one "type on relation by index" per line.
func (r *acceptRig) plan(tx pgx.Tx, sql string, params any) string {
	r.t.Helper()
	return r.explained(tx, "explain (format json) "+sql, params)
}

// explained is plan for a statement that says how to explain it.
func (r *acceptRig) explained(tx pgx.Tx, sql string, params any) string {
	r.t.Helper()
	var text []byte
	if err := tx.QueryRow(r.t.Context(), sql, arguments(params)...).Scan(&text); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	var out []map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		fmt.Fprintln(&b, node["Node Type"], "on", node["Relation Name"], "by", node["Index Name"])
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(out[0]["Plan"].(map[string]any))
	return b.String()
}

// acceptStatements are the statements of an accept transaction over n runs of size.
func (r *acceptRig) acceptStatements(n, size int) map[string]struct {
	sql    string
	params any
} {
	q := inquiry{}
	var hooks sqlc.SettleHooksParams
	var runs runChanges
	at := time.Now()
	for i := range n {
		key := keyOf(fmt.Sprint("run-", 1+i*size/n))
		q.keys = append(q.keys, key)
		q.askSignal(key, "s1")
		q.askHook(key, "h1")
		id := int64(1 + i*size/n)
		runs.addRow(id, history.Run{Status: history.Running, Generation: 1, FirstSeq: 1, NextSeq: 2})
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
		"UpdateRuns":      {sqlc.UpdateRuns, runs.rows},
		"SettleHooks":     {sqlc.SettleHooks, hooks},
	}
}

// Every batch stays on the keys, at 1 and at 256 runs, with statistics and without. The smaller tables are the trap: there
// a hash join or a scan looks cheaper than the look-ups, and a plan that is kept stays when the table has grown.
func TestPlansStayOnTheKeys(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 10_000, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t)
			r.crowd(size)
			r.plansStayOnKeys(size)
			r.sql(`analyze`)
			r.plansStayOnKeys(size)
			r.scansNothing(size)
		})
	}
}

// byKey is a plan in which every table is read by a key.
var byKey = regexp.MustCompile(`^(([A-Z]\w+ )+on <nil> by <nil>\n|(Bitmap )?Index (Only )?Scan on .* by (\w+_pkey|runs_run_id)\n|(Bitmap Heap Scan|ModifyTable) .*\n)*$`)

func (r *acceptRig) plansStayOnKeys(size int) {
	r.t.Helper()
	tx := r.begin()
	p := &pipeline{}
	p.settings(time.Second)
	if err := p.send(r.t.Context(), tx); err != nil {
		r.t.Fatal(err)
	}
	for _, n := range []int{1, 256} {
		for name, st := range r.acceptStatements(n, size) {
			if plan := r.plan(tx, st.sql, st.params); !byKey.MatchString(plan) {
				r.t.Errorf("%s with %d of %d runs:\n%s", name, n, size, plan)
			}
		}
	}
	if err := tx.Rollback(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// scansNothing runs batches often enough for generic plans, and lets the server count where they do not go by key.
func (r *acceptRig) scansNothing(size int) {
	r.t.Helper()
	scans := func() int64 {
		r.sql(`select pg_stat_force_next_flush()`)
		return value[int64](r, `select (select sum(seq_scan) from pg_stat_user_tables where relname in ('runs', 'events', 'signals', 'hooks'))::bigint
			+ (select sum(idx_scan) from pg_stat_user_indexes where indexrelname not in
				('runs_pkey', 'runs_run_id', 'events_pkey', 'signals_pkey', 'hooks_pkey', 'specs_pkey'))::bigint`)
	}
	conn, err := r.pool.Acquire(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	before := scans()
	for _, n := range []int{1, 256} {
		for range 12 {
			for name, st := range r.acceptStatements(n, size) {
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
		r.t.Errorf("%d scans of whole tables, or of an index that is no key", after-before)
	}
}
