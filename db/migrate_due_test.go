package db

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// entries is what the table due holds, in words: of each run whether it is due now or later, and whether it is blocked.
func (r *acceptRig) entries() string {
	r.t.Helper()
	return value[string](r, `select coalesce(string_agg(concat_ws(' ', run_id, case when due.wake_at <= now() then 'now' else 'later' end,
		case when blocked then 'blocked' end), ', ' order by run_id), '') from due left join runs on id = run`)
}

// Runs of the schema before are in the table due as their rows say: those that are due, that are due later and that are
// blocked; parked ones and ended ones are not.
func TestMigrateDue(t *testing.T) {
	t.Parallel()
	r := everythingButTasks(t)
	r.undoDue()
	const want = "asleep later, blocked later blocked, elsewhere later, fresh now, pending now, wish now"
	r.sql(`update runs set wake_at = now() - interval '1 second' where run_id = 'wish'`)
	r.sql(`update runs set wake_at = now() + interval '1 minute' where run_id = 'blocked'`) // its pause may be over by now
	if err := Migrate(t.Context(), r.pool.Config().ConnString()); err != nil {
		t.Fatal(err)
	}
	r.pool.Reset() // plans of the schema before
	if got := r.entries(); got != want {
		t.Errorf("the schedule is %q, want %q", got, want)
	}
	r.consistent()
	r.agrees()
	r.drain(by(cast))
	r.agrees()
}

// A process of the version before, or an operator, changes runs and knows nothing of the table due: it is right after each
// statement, and this version goes on from there.
func TestProcessThatDoesNotKnowDue(t *testing.T) {
	t.Parallel()
	r := running(t)
	step := func(want, sql string) {
		t.Helper()
		r.sql(sql)
		if got := r.entries(); got != want {
			t.Errorf("%s\nleaves %q, want %q", sql, got, want)
		}
		r.consistent()
	}
	step("old now", `with inserted as (
			insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, next_seq, wake_at, started_at, updated_at)
			select 'default', 'old', 'invoice', '1', sha256('plain'), sha256('x'), 2, at, at, at from clock_timestamp() at
			returning id, started_at
		) insert into events (run, seq, generation, type, at, data, payload)
			select id, 1, 1, 'run.started', started_at, '{}', '1' from inserted`)
	step("", `update runs set wake_at = null`)
	step("old later", `update runs set wake_at = now() + interval '1 hour'`)
	step("old now", `update runs set wake_at = now()`)
	step("old now", `update runs set backlog = backlog`)
	step("old later blocked", `update runs set status = 'blocked', block_cause = 'panic', wake_at = now() + interval '1 hour'`)
	step("old now blocked", `update runs set wake_at = now()`)
	step("old now", `update runs set status = 'running', block_cause = null`)
	step("", `update runs set status = 'failed', closed_at = now(), wake_at = null`)
	step("", `update runs set backlog = backlog`)
	step("old now", `update runs set status = 'running', closed_at = null, wake_at = now()`)
	step("old now", `update runs set version = '2'`)
	step("", `with gone as (delete from runs returning id) delete from events where run in (select id from gone)`)
	step("", `insert into runs (namespace, run_id, workflow, version, spec_digest, input_digest, started_at, updated_at)
			values ('default', 'parked', 'invoice', '1', sha256('plain'), sha256('x'), now(), now())`)
	r.sql(`delete from runs`)

	// What this version keeps itself is not kept twice; an operator's change in between is found.
	r.ok(r.startOf("a"))
	r.drain(by(approval))
	r.ok(r.signal("a", "s1", "1"))
	step("a later", `update runs set wake_at = wake_at + interval '1 hour'`)
	r.ok(r.signal("a", "s2", "2"))
	if got := r.entries(); got != "a now" {
		t.Errorf("after a message %q", got)
	}
	r.drain(by(approval))
	r.agrees()
}

// A transaction of the host in which this version says that it keeps the table leaves the host's own statements to the
// schema.
func TestHostChangesRunsBesideTheDoor(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	r.drain(by(approval))
	tx := r.begin()
	if _, err := r.AcceptTx(t.Context(), tx, []history.Message{r.signal("a", "s1", "1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `update runs set wake_at = now() + interval '1 hour' where run_id = 'b'`); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.entries(); got != "a now, b later" {
		t.Errorf("the schedule is %q", got)
	}
	r.consistent()
}

// endless is workflow code that reads one message after the other, beside a timer.
func endless(s *history.State) history.Decision {
	hour := time.Hour
	for i := 0; ; i++ {
		id := fmt.Sprint("w", i)
		if done, _ := s.Wait(id); done != history.WaitDone {
			return decide(&history.StartTimer{ID: "t", In: &hour}, &history.OpenWait{ID: spec.WaitID(id), Signal: "approved"})
		}
	}
}

// Neither a message nor a turn, claimed or handed over, changes an index of runs: each new version of a row is found
// through the old one.
func TestChangesOfARunTouchNoIndexOfIt(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Takes = func(Code) bool { return true } })
	advance := by(endless)
	advance.Limit = 100
	const runs, rounds = 40, 3
	r.sql(`alter table runs set (fillfactor = 10)`) // room for all versions: what others on the server do may put off pruning
	for i := range runs {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	r.drain(advance)
	handed := 0
	for n := range rounds {
		for i := range runs {
			r.ok(r.signal(fmt.Sprint("r", i), fmt.Sprint("s", n), "1"))
		}
		if n%2 == 0 {
			done, err := r.AdvanceHanded(t.Context(), advance)
			if err != nil {
				t.Fatal(err)
			}
			handed += done.Committed
		}
		r.drain(advance)
	}
	if handed < runs*rounds/3 {
		t.Errorf("%d turns were handed over: the test did not test", handed)
	}
	r.pool.Reset() // a connection that ends says what it counted
	var updates, hot int64
	r.until("the updates are counted", func() bool {
		updates = value[int64](r, `select n_tup_upd from pg_stat_user_tables where relname = 'runs'`)
		hot = value[int64](r, `select n_tup_hot_upd from pg_stat_user_tables where relname = 'runs'`)
		return updates >= runs*rounds*2
	})
	if updates != hot {
		t.Errorf("%d of %d updates of runs changed an index", updates-hot, updates)
	}
	r.agrees()
}

// The same of a table that processes read when they start: while a backup reads it, they start all the same.
func TestMigrateKeysWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	r := everythingButTasks(t)
	r.undoAudit()
	r.sql(`drop table api_keys, inbox, pages`)
	r.sql(`delete from goose_db_version where version_id >= 7`)
	backup := r.begin()
	if _, err := backup.Exec(t.Context(), `select from keys`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Migrate(t.Context(), r.pool.Config().ConnString()) }()
	r.until("the migration wants what is read", func() bool { return r.waiters() > 0 })
	starts := make(chan error, 1)
	go func() { _, err := r.pool.Exec(t.Context(), `select from keys`); starts <- err }()
	select {
	case err := <-starts:
		if err != nil {
			t.Errorf("a process that starts: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a process that starts waits as long as the backup takes")
	}
	if err := backup.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the migration: %v", err)
	}
	r.pool.Reset() // plans of the schema before
	r.agrees()
}

// A schema is changed under processes at work: one that keeps what the migration wants is waited for, not broken.
func TestMigrateWaitsForProcessesAtWork(t *testing.T) {
	t.Parallel()
	r := everythingButTasks(t)
	r.undoDue()
	tx := r.begin()
	if _, err := tx.Exec(t.Context(), `select from hooks`); err != nil { // and runs a moment later, as lists of hooks do
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Migrate(t.Context(), r.pool.Config().ConnString()) }()
	r.until("the migration wants what is read", func() bool { return r.waiters() > 0 })
	if _, err := tx.Exec(t.Context(), `select from runs`); err != nil {
		t.Errorf("a reader is the victim: %v", err)
	}
	r.until("the migration gives way", func() bool { return r.waiters() == 0 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the migration: %v", err)
	}
	r.pool.Reset() // plans of the schema before
	r.agrees()
}
