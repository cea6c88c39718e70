package db

import (
	"fmt"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// A page is found by its key and read by keys, without a sort, whatever the tables hold.
func TestVerifyPlansStayOnTheirKeys(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 10_000} {
		r := newAcceptRig(t)
		r.crowd(size)
		r.sql(`update runs set wake_at = now() + id * interval '1 second'`)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				r.sql(`vacuum analyze`)
			}
			r.verifyStaysOnKeys(size)
		}
	}
}

func (r *acceptRig) verifyStaysOnKeys(size int) {
	r.t.Helper()
	const root = "Limit on <nil> by <nil>\n"
	const run = root + "Index Scan on runs by runs_pkey\n"
	hop := func(table string) string {
		return "Subquery Scan .*\n" + root + "Index (Only )?Scan on " + table + " by " + table + "_pkey\n"
	}
	entry := sqlc.VerifyDueParams{Workflow: "invoice", Version: "1", WakeAt: "-infinity", Count: leftOversPage}
	for name, st := range map[string]struct {
		sql    string
		params any
		plan   string
	}{
		"runs": {sqlc.VerifyRuns, sqlc.VerifyRunsParams{After: 3, Count: verifyPage}, root + "Index Scan on runs by runs_pkey\n"},
		"runs of a namespace": {
			sqlc.VerifyNamespace,
			sqlc.VerifyNamespaceParams{Namespace: "default", After: 3, Count: verifyPage},
			root + "Index Scan on runs by (runs_pkey|runs_recent)\n",
		},
		"events":  {sqlc.VerifyEvents, sqlc.VerifyEventsParams{Run: 3}, "Index Scan on events by events_pkey\n"},
		"signals": {sqlc.VerifySignals, sqlc.VerifySignalsParams{Run: 3}, "Index Scan on signals by signals_pkey\n"},
		"entries of runs": {
			sqlc.VerifySchedule,
			sqlc.VerifyScheduleParams{Runs: []int64{1, 2, 3}},
			"(Nested Loop .*\n)+Function Scan on .*\n" + run + "(Memoize .*\n)?" + root + "Index Scan on due by due_pkey\n",
		},
		"schedule": {
			sqlc.VerifyDue, entry, "Nested Loop .*\n(Subquery .*\n)?" + root + "Index Only Scan on due by due_pkey\n" + run,
		},
		"owners": {
			sqlc.VerifyOwners,
			sqlc.VerifyOwnersParams{Count: leftOversPage},
			"Nested Loop .*\nRecursive Union .*\nResult .*\nWorkTable Scan .*\nResult .*\n" + root + "Merge Append .*\n" +
				hop("events") + hop("signals") + hop("hooks") + hop("tasks") + hop("updates") + "CTE Scan .*\n" + root + "Index Only Scan on runs by runs_pkey\n" +
				"Index Only Scan on events by events_pkey\nIndex Only Scan on signals by signals_pkey\n" +
				"Index Only Scan on hooks by hooks_pkey\nIndex Only Scan on tasks by tasks_pkey\n" +
				"Index Only Scan on updates by updates_pkey\n",
		},
		"updates": {sqlc.VerifyUpdates, sqlc.VerifyUpdatesParams{Run: 3}, "Index Scan on updates by updates_pkey\n"},
		"tasks":   {sqlc.VerifyTasks, sqlc.VerifyTasksParams{Run: 3}, "Index Scan on tasks by tasks_pkey\n"},
		"hooks":   {sqlc.VerifyHooks, sqlc.VerifyHooksParams{Run: 3}, "Index Scan on hooks by hooks_pkey\n"},
	} {
		tx := r.begin()
		p := &pipeline{}
		p.settings(time.Second)
		p.exec(sqlc.KeepVerifyOrder, nil)
		if err := p.send(r.t.Context(), tx); err != nil {
			r.t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if _, err := tx.Exec(r.t.Context(), "set local plan_cache_mode = "+mode); err != nil {
				r.t.Fatal(err)
			}
			// What is inside of a recursion is shown only by running it.
			if plan := r.explained(tx, "explain (analyze, format json) "+st.sql, st.params); !regexp.MustCompile("^" + st.plan + "$").MatchString(plan) {
				r.t.Errorf("%s of %d runs, %s:\n%s", name, size, mode, plan)
			}
		}
		if err := tx.Rollback(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A run of very many events is verified in the memory that its records take, not that of its payloads. It does not run
// beside other tests, because it measures the heap.
func TestVerifyReadsALongRunInBoundedMemory(t *testing.T) {
	r := running(t)
	r.ok(r.startOf("long"))
	const n, size = 800, 64 << 10
	r.longBacklog(n, size)
	done := make(chan Verified)
	before := liveHeap()
	go func() { done <- r.verified(VerifyQuery{}) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for most := uint64(0); ; {
		select {
		case all := <-done:
			if all.Events != n+2 || all.Differences != 0 {
				t.Errorf("%d events, %d differences: %v", all.Events, all.Differences, all.Found)
			}
			if most > before+n*size/4 {
				t.Errorf("the heap grew from %d to %d MiB; the payloads have %d", before>>20, most>>20, n*size>>20)
			}
			return
		case <-tick.C:
			most = max(most, liveHeap())
		}
	}
}

// liveHeap is what is in use, without garbage.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// longBacklog gives the run unread signals of a size each, as the door would have written them.
func (r *acceptRig) longBacklog(n, size int) {
	r.t.Helper()
	r.drain(by(approval))
	body := fmt.Sprintf(`"%0*d"`, size-2, 7)
	digest := payload(r.t, body).Digest()
	r.sql(`update runs set next_seq = next_seq + $1, backlog = $1, wake_at = now(), updated_at = now()`, n)
	r.sql(`insert into events (run, seq, generation, type, at, data, payload)
		select r.id, r.next_seq - $1 + i, 1, 'signal.received', r.updated_at,
			json_build_object('signal_id', 's' || i, 'name', 'other', 'digest', $2::text), $3
		from runs r, generate_series(0, $1 - 1) i`, n, digest.String(), []byte(body))
	r.sql(`insert into signals (run, signal_id, name, digest, seq, received_at, source, actor)
		select run, data->>'signal_id', 'other', $1, seq, at, '', '' from events where type = 'signal.received'`, digest[:])
}
