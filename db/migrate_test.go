package db

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// undoDue brings the schema back to where a program was that knew no table of due runs.
func (r *acceptRig) undoDue() {
	r.t.Helper()
	r.undoTasks()
	r.sql(`drop function runs_keep_due cascade`)
	r.sql(`drop table due`)
	r.sql(`create index runs_due on runs (workflow, version, wake_at) where wake_at is not null`)
	r.sql(`create index runs_blocked_code on runs (workflow, version) where status = 'blocked'`)
	for _, table := range []string{"events", "signals", "hooks"} {
		r.sql(`alter table ` + table + ` add constraint ` + table + `_run_fkey foreign key (run) references runs (id)`)
	}
	r.sql(`delete from goose_db_version where version_id >= 3`)
}

// undoTasks brings the schema back to where a program was that knew neither steps nor children.
func (r *acceptRig) undoTasks() {
	r.t.Helper()
	r.undoAudit()
	r.sql(`drop table api_keys, pages`)
	r.sql(`drop table inbox`)
	r.sql(`drop table updates`)
	r.sql(`drop table tasks, dead_letters`)
	r.sql(`alter table runs drop column parent`)
	r.sql(`delete from goose_db_version where version_id >= 5`)
}

// undoAudit brings the schema back to where a program was that knew no audit trail.
func (r *acceptRig) undoAudit() {
	r.t.Helper()
	r.sql(`drop table audit`)
	r.sql(`drop function audit_only_grows`)
	r.sql(`delete from goose_db_version where version_id >= 9`)
}

// undoCancelSeq brings the schema and its rows back to where a program was that did not know cancel_seq.
func (r *acceptRig) undoCancelSeq() {
	r.t.Helper()
	r.undoDue()
	r.sql(`drop function runs_cancel_seq cascade`)
	r.sql(`alter table runs drop column cancel_seq`)
	r.sql(`delete from goose_db_version where version_id >= 2`)
}

// Runs that were cancelled under the schema before have the sequence of their first wish after the migration.
func TestMigrateCancelSeq(t *testing.T) {
	t.Parallel()
	r := everythingButTasks(t)
	r.cooperative("forced")
	first := r.ok(&history.CancelRun{Run: keyOf("forced")})
	r.drain(by(continuing))
	r.ok(&history.CancelRun{Run: keyOf("forced"), Terminate: true})

	r.undoCancelSeq()
	if n := value[int](r, `select count(*) from runs where cancel_requested_at is not null`); n != 3 {
		t.Fatalf("%d runs with a wish to cancel, want 3", n)
	}
	if err := Migrate(t.Context(), r.pool.Config().ConnString()); err != nil {
		t.Fatal(err)
	}
	r.pool.Reset() // plans of the schema before
	r.cancelledAgain("forced", first)
	r.agrees()
	if !r.refuses(`update runs set cancel_seq = null, cancel_requested_at = null where status = 'cancelled'`) ||
		!r.refuses(`update runs set cancel_seq = 1 where cancel_requested_at is null`) {
		t.Error("the schema takes a run whose time and sequence of the wish do not belong together")
	}
}

func (r *acceptRig) refuses(change string) bool {
	_, err := r.pool.Exec(r.t.Context(), change)
	return err != nil
}

// A process of the version before writes the time of a wish and not its sequence: it works on, and nothing is missing.
func TestProcessThatDoesNotKnowCancelSeq(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.cooperative("a")
	r.sql(`with wish as (
			insert into events (run, seq, generation, type, at, data)
			select id, next_seq, generation, 'run.cancel_requested', clock_timestamp(), '{}' from runs returning run, seq, at
		) select from wish`)
	r.sql(`update runs r set next_seq = e.seq + 1, cancel_requested_at = e.at, updated_at = e.at, wake_at = e.at
		from events e where e.run = r.id and e.type = 'run.cancel_requested'`)
	at := value[int64](r, `select cancel_seq from runs`)
	wish := history.Receipt{Run: keyOf("a"), Sequence: at, ReceivedAt: *r.view("a").CancelRequestedAt}
	if want := value[int64](r, `select seq from events where type = 'run.cancel_requested'`); at != want {
		t.Errorf("cancel_seq %d, want %d", at, want)
	}
	r.cancelledAgain("a", wish)
	r.drain(by(continuing))
	r.agrees()
}
