package db

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// crowdOfTasks has many tasks that wait for a time to come or for somebody, and as many dead letters.
func (r *acceptRig) crowdOfTasks(n int) {
	r.t.Helper()
	for _, text := range []string{
		`insert into tasks (run, generation, kind, task_id, name, seq, target, policy, run_after)
			select 1 + i % 500, 1, 'step', 's' || i, 'charge', 1, '', '', now() + i * interval '1 minute' from generate_series(1, $1) i`,
		`insert into tasks (run, generation, kind, task_id, name, seq, target, policy, run_after)
			select 1 + i % 500, 1, 'child', 'c' || i, '', 1, 'other', 'abandon', '9999-12-31Z' from generate_series(1, $1) i`,
		`insert into tasks (run, generation, kind, task_id, name, seq, target, policy, run_after)
			select 1 + i % 500, 1, 'call', 'k' || i, '', i, 'target' || i, '', now() + '1 day' from generate_series(1, $1) i`,
		`insert into dead_letters (run, namespace, generation, step_id, name, reason, code, message, attempt, created_at, state)
			select 1 + i % 500, case when i % 2 = 0 then 'default' else 'other' end, 1, 's' || i, 'charge', 'exhausted', '', '', 1, now(), 'failed'
			from generate_series(1, $1) i`,
	} {
		r.sql(text, n)
	}
	r.sql(`insert into tasks (run, generation, kind, task_id, name, seq, target, policy, run_after)
		select 500, 1, 'step', 'due' || i, 'charge', 1, '', '', now() - interval '1 second' from generate_series(1, 3) i`)
}

// What workers and operators ask again and again is answered by keys, whatever the tables hold, and so is it by a plan that
// is kept.
func TestTaskPlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	kinds, names := []string{"step", "call"}, []string{"charge", ""}
	type statement struct {
		sql     string
		params  any
		indexes string
	}
	for _, size := range []int{5, 10_000} {
		r := newAcceptRig(t)
		r.crowd(500)
		r.crowdOfTasks(size)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				r.sql(`vacuum analyze`)
			}
			for name, st := range map[string]statement{
				"NextTask": {sqlc.NextTask, sqlc.NextTaskParams{Kinds: kinds, Names: names}, `tasks_due`},
				"ClaimTasks": {
					sqlc.ClaimTasks,
					sqlc.ClaimTasksParams{Kinds: kinds, Names: names, Mosts: []int32{10, 10}, Worker: "w", Lease: 60},
					`tasks_due|tasks_calls|tasks_pkey|runs_pkey|events_pkey`,
				},
				"ReadLetter": {sqlc.ReadLetter, sqlc.ReadLetterParams{ID: 3, Namespace: "default"}, `dead_letters_pkey|dead_letters_recent|runs_pkey`},
				"ListLetters": {
					sqlc.ListLetters, sqlc.ListLettersParams{Namespace: "default", Before: 1 << 62, State: "held", Count: 51}, `dead_letters_recent|dead_letters_pkey|runs_pkey`,
				},
			} {
				r.indexesOnly(fmt.Sprintf("%s of %d", name, size), st.sql, st.params, st.indexes)
			}
		}
	}
}

func (r *acceptRig) indexesOnly(name, sql string, params any, indexes string) {
	r.t.Helper()
	tx := r.begin()
	p := &pipeline{}
	p.settings(time.Second)
	if err := p.send(r.t.Context(), tx); err != nil {
		r.t.Fatal(err)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		if _, err := tx.Exec(r.t.Context(), "set local plan_cache_mode = "+mode); err != nil {
			r.t.Fatal(err)
		}
		if plan := r.plan(tx, sql, params); !usesOnly(plan, indexes) {
			r.t.Errorf("%s, %s:\n%s", name, mode, plan)
		}
	}
	if err := tx.Rollback(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// The pages that a claim reads do not depend on the tasks that are not due, nor do those of the question when one is.
func TestTaskClaimReadsWhatItBegins(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.crowd(500)
	r.crowdOfTasks(10_000)
	r.sql(`vacuum analyze`)
	kinds, names := []string{"step", "child", "call"}, []string{"charge", "", ""}
	for name, st := range map[string]struct {
		sql    string
		params any
		rows   int
	}{
		"claim": {sqlc.ClaimTasks, sqlc.ClaimTasksParams{Kinds: kinds, Names: names, Mosts: []int32{9, 9, 9}, Worker: "w", Lease: 60}, 3},
		"next":  {sqlc.NextTask, sqlc.NextTaskParams{Kinds: kinds, Names: names}, 1},
	} {
		tx := r.begin()
		p := &pipeline{}
		p.settings(time.Second)
		if err := p.send(r.t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		var text []byte
		if err := tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+st.sql, arguments(st.params)...).Scan(&text); err != nil {
			t.Fatal(err)
		}
		var out []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
				Rows int `json:"Actual Rows"`
			}
		}
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		if p := out[0].Plan; p.Hit+p.Read > 150 || p.Rows != st.rows {
			t.Errorf("%s: %+v", name, p)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
