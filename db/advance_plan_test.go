package db

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// schedule gives a crowd something to do: parked runs whose timers are days away, due runs of other code, ended ones that
// are in no schedule, and a few due runs of the code under test.
func (r *acceptRig) schedule() {
	r.t.Helper()
	r.sql(`update runs set wake_at = now() + interval '1 day' where id % 10 = 1`)
	r.sql(`update runs set workflow = 'other', wake_at = now() - interval '1 day' where id % 10 = 2`)
	r.sql(`update runs set status = 'completed', closed_at = now() where id % 10 > 3`)
	r.sql(`update runs set wake_at = now() - interval '1 second' where id % 10 = 3 and id < 2000`)
	r.sql(`update runs set labels = '{"team": "blue"}' where id % 1000 = 1`)
	r.sql(`update hooks set labels = '{"team": "blue"}' where run % 1000 = 1`)
}

// keyStatements are the statements of claims and of look-ups for n runs of size, and the indexes each may use.
func keyStatements(n, size int) map[string]struct {
	sql     string
	params  any
	indexes string
} {
	var runs, seqs []int64
	var ids, waits, namespaces, names []string
	var generations []int32
	var digests [][]byte
	for i := range n {
		id := int64(1 + i*size/n)
		runs, seqs = append(runs, id), append(seqs, 1)
		ids, waits, generations = append(ids, "s1"), append(waits, "w"), append(generations, 1)
		namespaces, names = append(namespaces, "default"), append(names, fmt.Sprint("run-", id))
		digest := digestOf(fmt.Sprint(id, "/1"))
		digests = append(digests, digest[:])
	}
	type statement = struct {
		sql     string
		params  any
		indexes string
	}
	workflows, versions := []string{"invoice", "absent"}, []string{"1", "1"}
	return map[string]statement{
		"ClaimRuns": {sqlc.ClaimRuns, sqlc.ClaimRunsParams{
			Workflows: workflows, Versions: versions, Floors: make([]time.Time, 2), Batch: int64(n),
		}, `due_pkey|runs_pkey`},
		"ClaimRun": {sqlc.ClaimRun, sqlc.ClaimRunParams{
			Namespace: "default", RunID: "run-1", Workflows: workflows, Versions: versions,
		}, `runs_run_id`},
		"WakeBlocked": {sqlc.WakeBlocked, sqlc.WakeBlockedParams{
			Workflows: workflows, Versions: versions, Page: wakePage,
		}, `due_blocked|due_pkey|runs_pkey`},
		"StillBlocked": {sqlc.StillBlocked, sqlc.StillBlockedParams{
			Workflows: workflows, Versions: versions, Page: wakePage,
		}, `due_blocked|runs_pkey`},
		"WakeBlockedRun": {sqlc.WakeBlockedRun, sqlc.WakeBlockedRunParams{Namespace: "default", RunID: "run-1"}, `runs_run_id|runs_pkey|due_pkey`},
		"EventsFrom":     {sqlc.EventsFrom, sqlc.EventsFromParams{Runs: runs, Seqs: seqs}, `events_pkey`},
		"EventsBetween":  {sqlc.EventsBetween, sqlc.EventsBetweenParams{Runs: runs, Firsts: seqs, Lasts: seqs}, `events_pkey`},
		"ConsumeSignals": {sqlc.ConsumeSignals, sqlc.ConsumeSignalsParams{
			Runs: runs, SignalIds: ids, WaitIds: waits, Generations: generations,
		}, `signals_pkey`},
		"TokenOwners":   {sqlc.TokenOwners, sqlc.TokenOwnersParams{TokenDigests: digests}, `hooks_token|runs_pkey`},
		"ReadHook":      {sqlc.ReadHook, sqlc.ReadHookParams{Namespace: "default", RunID: "run-9", HookID: "h1"}, `runs_run_id|hooks_pkey`},
		"ResolveTokens": {sqlc.ResolveTokens, sqlc.ResolveTokensParams{TokenDigests: digests}, `hooks_token|runs_pkey`},
		"ViewRun":       {sqlc.ViewRun, sqlc.ViewRunParams{Namespace: "default", RunID: "run-9"}, `runs_run_id|events_pkey`},
		"ReadSignal":    {sqlc.ReadSignal, sqlc.ReadSignalParams{Namespace: "default", RunID: "run-9", SignalID: "s1"}, `runs_run_id|signals_pkey`},
		"GenerationEvents": {sqlc.GenerationEvents, sqlc.GenerationEventsParams{
			Namespace: "default", RunID: "run-9",
		}, `runs_run_id|events_pkey`},
		"PageEvents": {sqlc.PageEvents, sqlc.PageEventsParams{Namespace: "default", RunID: "run-9", Count: 51}, `runs_run_id|events_pkey`},
		"EndedRuns":  {sqlc.EndedRuns, sqlc.EndedRunsParams{Namespaces: namespaces, RunIds: names}, `runs_run_id`},
		"UsedKeys":   {sqlc.UsedKeys, nil, `hooks_keys`},
		"ReadPage": {sqlc.ReadPage, sqlc.ReadPageParams{
			Namespace: "default", RunID: "run-9", HookID: "h1", Recipient: "ada",
		}, `runs_run_id|pages_pkey`},
		"ResolvePage":  {sqlc.ResolvePage, sqlc.ResolvePageParams{TokenDigests: digests}, `pages_token|hooks_pkey|runs_pkey`},
		"HookAnswer":   {sqlc.HookAnswer, sqlc.HookAnswerParams{Namespace: "default", RunID: "run-9", HookID: "h1"}, `runs_run_id|hooks_pkey|events_pkey`},
		"LockPageHook": {sqlc.LockPageHook, sqlc.LockPageHookParams{Namespace: "default", RunID: "run-9", HookID: "h1"}, `runs_run_id|hooks_pkey`},
		"InsertPage": {sqlc.InsertPage, sqlc.InsertPageParams{
			Namespace: "default", RunID: "run-9", HookID: "h1", Recipient: "ada", TokenDigest: make([]byte, 32), DigestKey: "d",
			MintKey: "m", Nonce: make([]byte, 16), Room: 3,
		}, `runs_run_id|hooks_pkey|pages_pkey`},
		"UsedPageKeys": {sqlc.UsedPageKeys, nil, `pages_keys`},
	}
}

func usesOnly(plan, indexes string) bool {
	return regexp.MustCompile(`^((.* on <nil> by <nil>|(Bitmap )?Index (Only )?Scan on .* by (` + indexes +
		`)|(Bitmap Heap Scan|ModifyTable) .*)\n)*$`).MatchString(plan)
}

// Claims read by their schedule and by keys, at 1 run and at 256, and look-ups by keys, with statistics and without,
// whatever the tables hold.
func TestAdvancePlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 10_000, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t)
			r.crowd(size)
			r.schedule()
			for _, analyzed := range []bool{false, true} {
				if analyzed {
					r.sql(`vacuum analyze`)
				}
				for _, n := range []int{1, 256} {
					r.staysOnIndexes(n, size)
				}
			}
			if size == 100_000 {
				r.listsUseIndexes()
				r.claimReadsWhatItClaims()
			}
		})
	}
}

func (r *acceptRig) staysOnIndexes(n, size int) {
	r.t.Helper()
	for name, st := range keyStatements(n, size) {
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
			if plan := r.plan(tx, st.sql, st.params); !usesOnly(plan, st.indexes) {
				r.t.Errorf("%s with %d of %d runs, %s:\n%s", name, n, size, mode, plan)
			}
		}
		if err := tx.Rollback(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// The pages a claim reads do not depend on the runs it cannot advance: ended ones, parked ones, due ones of other code.
func (r *acceptRig) claimReadsWhatItClaims() {
	r.t.Helper()
	r.sql(`update runs set wake_at = null where workflow = 'invoice' and wake_at < now() and id > 100`)
	r.sql(`vacuum analyze`)
	for _, tt := range []struct {
		codes   []Code
		claimed int
	}{
		{[]Code{{"absent", "1"}}, 0},
		{[]Code{{"invoice", "1"}, {"absent", "1"}}, 10},
	} {
		workflows, versions := codeArrays(tt.codes)
		params := sqlc.ClaimRunsParams{Workflows: workflows, Versions: versions, Floors: make([]time.Time, len(tt.codes)), Batch: 256}
		tx := r.begin()
		var text []byte
		if err := tx.QueryRow(r.t.Context(), "explain (analyze, buffers, format json) "+sqlc.ClaimRuns, arguments(params)...).Scan(&text); err != nil {
			r.t.Fatal(err)
		}
		var out []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
				Rows int `json:"Actual Rows"`
			}
		}
		if err := json.Unmarshal(text, &out); err != nil {
			r.t.Fatal(err)
		}
		if p := out[0].Plan; p.Hit+p.Read > 300 || p.Rows != max(tt.claimed, 1) {
			r.t.Errorf("%v: %+v", tt.codes, p)
		}
		if err := tx.Rollback(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Lists find their page through an index, whatever they filter.
func (r *acceptRig) listsUseIndexes() {
	r.t.Helper()
	const newest = int64(1) << 62
	blue := json.RawMessage(`{"team": "blue"}`)
	for name, st := range map[string]struct {
		sql     string
		params  any
		indexes string
	}{
		"runs":                           {sqlc.ListRuns, sqlc.ListRunsParams{Namespace: "default", Before: newest, Count: 51}, `runs_recent|runs_pkey`},
		"runs, page 9":                   {sqlc.ListRuns, sqlc.ListRunsParams{Namespace: "default", Before: 5000, Count: 51}, `runs_recent|runs_pkey`},
		"runs, completed":                {sqlc.ListRuns, sqlc.ListRunsParams{Namespace: "default", Before: newest, Status: "completed", Count: 51}, `runs_recent|runs_pkey`},
		"runs of a tenant that has none": {sqlc.ListRuns, sqlc.ListRunsParams{Namespace: "absent", Before: newest, Count: 51}, `runs_recent|runs_run_id`},
		"runs, labelled": {sqlc.ListLabelledRuns, sqlc.ListLabelledRunsParams{
			Namespace: "default", Before: newest, Labels: blue, Count: 51,
		}, `runs_labels|runs_recent`},
		"hooks":         {sqlc.ListHooks, sqlc.ListHooksParams{Namespace: "default", Before: newest, Count: 51}, `hooks_recent|runs_pkey`},
		"hooks, active": {sqlc.ListHooks, sqlc.ListHooksParams{Namespace: "default", Before: newest, State: "active", Count: 51}, `hooks_active|hooks_recent|runs_pkey`},
		"hooks, labelled": {sqlc.ListLabelledHooks, sqlc.ListLabelledHooksParams{
			Namespace: "default", Before: newest, Labels: blue, Count: 51,
		}, `hooks_labels|runs_pkey`},
		"hooks of a tenant that has none": {sqlc.ListHooks, sqlc.ListHooksParams{Namespace: "absent", Before: newest, Count: 51}, `hooks_recent|hooks_active|runs_pkey|runs_run_id|runs_recent`},
		"hooks of a run": {sqlc.ListRunHooks, sqlc.ListRunHooksParams{
			Namespace: "default", RunID: "run-9", Before: newest, Labels: json.RawMessage(`{}`), Count: 51,
		}, `runs_run_id|hooks_pkey`},
	} {
		tx := r.begin()
		if plan := r.plan(tx, st.sql, st.params); !usesOnly(plan, st.indexes) {
			r.t.Errorf("%s:\n%s", name, plan)
		}
		if err := tx.Rollback(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}
