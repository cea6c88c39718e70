package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// damage is one change behind the back of the door, and the differences it makes.
type damage struct {
	table, column string
	where         string // the row, in words of SQL
	to            string // an expression for the column
	want          []string
}

// projections are the columns that verifying compares: each must be damaged below.
var notCompared = map[string]bool{
	// Names and numbers of the row itself.
	"runs.id": true, "runs.namespace": true, "runs.run_id": true, "hooks.id": true,
	// No projections of events.
	"runs.block_attempts": true, "runs.block_diagnosis": true,
	"tasks.attempt": true, "tasks.failures": true, "tasks.strikes": true, "tasks.worker": true, "tasks.held": true, "tasks.details": true,
	"tasks.last_error": true,
}

const (
	ofEventful = `(select id from runs where run_id = 'eventful')`
	ofParked   = `(select id from runs where run_id = 'parked')`
)

func ofRun(id string) string { return fmt.Sprintf("run_id = '%s'", id) }

func signalOf(id string) string { return "run = " + ofEventful + " and signal_id = '" + id + "'" }

func hookOf(id string) string { return "run = " + ofEventful + " and hook_id = '" + id + "'" }

func eventOfType(kind string) string {
	return "run = " + ofEventful + " and seq = (select min(seq) from events where run = " + ofEventful + " and type = '" + kind + "')"
}

func runDamages() []damage {
	return []damage{
		{"runs", "workflow", ofRun("eventful"), `'x'`, []string{`workflow: events say "invoice", the row says "x"`}},
		{"runs", "version", ofRun("eventful"), `'x'`, []string{`version: events say "1", the row says "x"`}},
		{"runs", "spec_digest", ofRun("eventful"), `sha256('x')`, []string{`spec_digest: differs`}},
		{"runs", "spec_digest", ofRun("eventful"), `'x'`, []string{`run: the row cannot be read`}},
		{"runs", "input_digest", ofRun("eventful"), `sha256('x')`, []string{`input_digest: differs`}},
		{"runs", "labels", ofRun("eventful"), `'{}'`, []string{`labels: differs`}},
		{"runs", "labels", ofRun("eventful"), `'[]'`, []string{`run: the row cannot be read`}},
		{"runs", "status", ofRun("eventful"), `'failed'`, []string{`status: events say "completed", the row says "failed"`}},
		{"runs", "status", ofRun("blocked"), `'running'`, []string{`status: events say "blocked", the row says "running"`}},
		{"runs", "generation", ofRun("eventful"), `1`, []string{`generation: events say "2", the row says "1"`}},
		{"runs", "first_seq", ofRun("eventful"), `1`, []string{`first_seq: events say "`}},
		{"runs", "next_seq", ofRun("eventful"), `next_seq + 1`, []string{`next_seq: events say "`}},
		{"runs", "backlog", ofRun("eventful"), `0`, []string{`backlog: events say "1", the row says "0"`}},
		{"runs", "backlog", ofRun("done"), `1`, []string{`backlog: events say "0", the row says "1"`}},
		{"runs", "cancel_requested_at", ofRun("cancelled"), `null`, []string{`cancel_requested_at: events say "`}},
		{"runs", "cancel_requested_at", ofRun("wish"), `now() + '1 hour'`, []string{`cancel_requested_at: events say "`}},
		{"runs", "cancel_requested_at", ofRun("done"), `now()`, []string{`cancel_requested_at: events say nothing, the row says "`}},
		{"runs", "cancel_seq", ofRun("cancelled"), `null`, []string{`cancel_seq: events say "`}},
		{"runs", "cancel_seq", ofRun("wish"), `cancel_seq + 1`, []string{`cancel_seq: events say "`}},
		{"runs", "cancel_seq", ofRun("done"), `1`, []string{`cancel_seq: events say "0", the row says "1"`}},
		{"runs", "block_cause", ofRun("blocked"), `'panic'`, []string{`block_cause: events say "decision", the row says "panic"`}},
		{"runs", "block_cause", ofRun("blocked"), `null`, []string{`block_cause: events say "decision", the row says nothing`}},
		{"runs", "block_cause", ofRun("done"), `'panic'`, []string{`block_cause: events say nothing, the row says "panic"`}},
		{"runs", "wake_at", ofRun("blocked"), `null`, []string{`wake_at: is missing: a blocked run`}},
		{"runs", "wake_at", ofRun("fresh"), `null`, []string{`wake_at: is missing: a turn is due`}},
		{"runs", "wake_at", ofRun("pending"), `null`, []string{`wake_at: is missing: a turn is due`}},
		{"runs", "wake_at", ofRun("wish"), `null`, []string{`wake_at: is missing: a turn is due`}},
		{"runs", "wake_at", ofRun("pending"), `now() + '1 hour'`, []string{`wake_at: is far ahead`}},
		{"runs", "wake_at", ofRun("asleep"), `null`, []string{`wake_at: events say "`}},
		{"runs", "wake_at", ofRun("asleep"), `wake_at + '1 microsecond'`, []string{`wake_at: events say "`}},
		{"runs", "wake_at", ofRun("parked"), `now()`, []string{`wake_at: events say nothing, the row says "`}},
		{"runs", "wake_at", ofRun("done"), `now()`, []string{`wake_at: events say nothing, the row says "`}},
		{"runs", "started_at", ofRun("eventful"), `started_at - interval '1 microsecond'`, []string{`started_at: events say "`}},
		{"runs", "updated_at", ofRun("eventful"), `started_at`, []string{`updated_at: events say "`}},
		{"runs", "updated_at", ofRun("eventful"), `'infinity'`, []string{`run: the row cannot be read`}},
		{"runs", "parent", ofRun("parked"), `'{"run_id": "x", "generation": 1, "child_id": "c", "depth": 1}'`, []string{`parent: differs`}},
		{"runs", "parent", ofRun("parked"), `'7'`, []string{`run: the row cannot be read`}},
		{"runs", "closed_at", ofRun("eventful"), `null`, []string{`closed_at: events say "`}},
		{"runs", "closed_at", ofRun("parked"), `now()`, []string{`closed_at: events say nothing, the row says "`}},
	}
}

func signalDamages() []damage {
	return []damage{
		{"signals", "run", signalOf("s1"), ofParked, []string{`"eventful" of "default": signal "s1": the row is missing`, `"parked" of "default": signal "s1": no event made this row`}},
		{"signals", "signal_id", signalOf("s1"), `'x'`, []string{`signal "x": no event made this row`, `signal "s1": the row is missing`}},
		{"signals", "name", signalOf("s1"), `'x'`, []string{`signal "s1": name: events say "approved", the row says "x"`}},
		{"signals", "digest", signalOf("s1"), `sha256('x')`, []string{`signal "s1": digest: differs`}},
		{"signals", "digest", signalOf("s1"), `'x'`, []string{`signal "s1": the row cannot be read`}},
		{"signals", "seq", signalOf("s1"), `seq + 1`, []string{`signal "s1": seq: events say "`}},
		{"signals", "received_at", signalOf("s1"), `received_at + interval '1 microsecond'`, []string{`signal "s1": received_at: events say "`}},
		{"signals", "received_at", signalOf("s1"), `'-infinity'`, []string{`signal "s1": the row cannot be read`}},
		{"signals", "source", signalOf("s1"), `'x'`, []string{`signal "s1": source: events say "test", the row says "x"`}},
		{"signals", "actor", signalOf("s1"), `''`, []string{`signal "s1": actor: events say "ada", the row says nothing`}},
		{"signals", "consumed_by", signalOf("s1"), `'x'`, []string{`signal "s1": consumed_by: events say "go", the row says "x"`}},
		{"signals", "consumed_generation", signalOf("s2"), `1`, []string{`signal "s2": consumed_generation: events say "2", the row says "1"`}},
	}
}

// updateOf is an update of the eventful run.
func updateOf(id string) string {
	return "update_id = '" + id + "' and run = (select id from runs where run_id = 'eventful')"
}

func updateDamages() []damage {
	return []damage{
		{"updates", "run", updateOf("u2"), ofParked, []string{`"eventful" of "default": update "u2": the row is missing`, `"parked" of "default": update "u2": no event made this row`}},
		{"updates", "update_id", updateOf("u1"), `'x'`, []string{`update "x": no event made this row`, `update "u1": the row is missing`}},
		{"updates", "name", updateOf("u1"), `'x'`, []string{`update "u1": name: events say "approved", the row says "x"`}},
		{"updates", "digest", updateOf("u1"), `sha256('x')`, []string{`update "u1": digest: differs`}},
		{"updates", "digest", updateOf("u1"), `'x'`, []string{`update "u1": the row cannot be read`}},
		{"updates", "seq", updateOf("u1"), `seq + 1`, []string{`update "u1": seq: events say "`}},
		{"updates", "received_at", updateOf("u1"), `received_at + interval '1 microsecond'`, []string{`update "u1": received_at: events say "`}},
		{"updates", "received_at", updateOf("u1"), `'-infinity'`, []string{`update "u1": the row cannot be read`}},
		{"updates", "source", updateOf("u1"), `'x'`, []string{`update "u1": source: events say "test", the row says "x"`}},
		{"updates", "actor", updateOf("u1"), `''`, []string{`update "u1": actor: events say "ada", the row says nothing`}},
		{"updates", "state", updateOf("u1"), `'rejected'`, []string{`update "u1": state: events say "completed", the row says "rejected"`}},
		{"updates", "resolved_at", updateOf("u2"), `received_at - interval '1 day'`, []string{`update "u2": resolved_at: events say "`}},
		{"updates", "resolved_seq", updateOf("u3"), `seq`, []string{`update "u3": resolved_seq: events say "`}},
	}
}

func hookDamages() []damage {
	return []damage{
		{"hooks", "run", hookOf("minted"), ofParked, []string{`"eventful" of "default": hook "minted": the row is missing`, `"parked" of "default": hook "minted": no event made this row`}},
		{"hooks", "namespace", hookOf("minted"), `'other'`, []string{`hook "minted": namespace: events say "default", the row says "other"`}},
		{"hooks", "hook_id", hookOf("minted"), `'x'`, []string{`hook "x": no event made this row`, `hook "minted": the row is missing`}},
		{"hooks", "name", hookOf("minted"), `'x'`, []string{`hook "minted": name: events say "approval", the row says "x"`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"subject": "y"}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"kind": "y"}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"data": {"amount": 12}}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"route": {"method": "POST", "path": "/{token}"}}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"requester": "ada"}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata || '{"rule": {"needed": 1, "of": 2}}'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `metadata - 'labels'`, []string{`hook "minted": metadata: differs`}},
		{"hooks", "metadata", hookOf("minted"), `'7'`, []string{`hook "minted": the row cannot be read`}},
		{"hooks", "labels", hookOf("minted"), `'{}'`, []string{`hook "minted": labels: differs`}},
		{"hooks", "token_digest", hookOf("minted"), `sha256('x')`, []string{`hook "minted": token_digest: differs`}},
		{"hooks", "token_digest", hookOf("minted"), `'x'`, []string{`hook "minted": token_digest: differs`}},
		{"hooks", "token_digest", hookOf("minted"), `token_digest || 'x'`, []string{`hook "minted": the row cannot be read`}},
		{"hooks", "digest_key", hookOf("minted"), `'k2'`, []string{`hook "minted": digest_key: events say "k1", the row says "k2"`}},
		{"hooks", "mint_key", hookOf("minted"), `null`, []string{`hook "minted": mint_key: events say "m1", the row says nothing`}},
		{"hooks", "mint_key", hookOf("asked"), `'m1'`, []string{`hook "asked": mint_key: events say nothing, the row says "m1"`}},
		{"hooks", "nonce", hookOf("minted"), `'x'`, []string{`hook "minted": nonce: differs`}},
		{"hooks", "state", hookOf("minted"), `'disposed'`, []string{`hook "minted": state: events say "resumed", the row says "disposed"`}},
		{"hooks", "payload_digest", hookOf("minted"), `sha256('x')`, []string{`hook "minted": payload_digest: differs`}},
		{"hooks", "payload_digest", hookOf("minted"), `null`, []string{`hook "minted": payload_digest: differs`}},
		{"hooks", "payload_digest", hookOf("minted"), `'x'`, []string{`hook "minted": the row cannot be read`}},
		{"hooks", "created_at", hookOf("minted"), `created_at - interval '1 microsecond'`, []string{`hook "minted": created_at: events say "`}},
		{"hooks", "expires_at", hookOf("minted"), `null`, []string{`hook "minted": expires_at: events say "`}},
		{"hooks", "expires_at", hookOf("asked"), `now()`, []string{`hook "asked": expires_at: events say nothing, the row says "`}},
		{"hooks", "resolved_at", hookOf("minted"), `created_at`, []string{`hook "minted": resolved_at: events say "`}},
		{"hooks", "resolved_seq", hookOf("minted"), `1`, []string{`hook "minted": resolved_seq: events say "`}},
		{"hooks", "resolved_seq", hookOf("late"), `null`, []string{`hook "late": resolved_seq: events say "`}},
		{"hooks", "source", hookOf("disposable"), `''`, []string{`hook "disposable": source: events say "test", the row says nothing`}},
		{"hooks", "actor", hookOf("disposable"), `'x'`, []string{`hook "disposable": actor: events say "eve", the row says "x"`}},
	}
}

func eventDamages() []damage {
	return []damage{
		{"events", "run", eventOfType("run.completed"), `(select id from runs where run_id = 'fresh')`, []string{
			`"eventful" of "default": status: `, `next_seq: `, `closed_at: `, `wake_at: `, // the last event is gone, and what it said
			`"fresh" of "default": event `,
		}},
		{"events", "seq", eventOfType("signal.received"), `seq + 1000`, []string{`is next`}},
		{"events", "generation", eventOfType("signal.received"), `7`, []string{`signal.received: another generation`}},
		{"events", "type", eventOfType("signal.received"), `'signal.lost'`, []string{`event of type "signal.lost" does not decode: the type is unknown`}},
		{"events", "at", eventOfType("signal.received"), `at - interval '1 day'`, []string{`signal.received: time goes back`}},
		{"events", "at", eventOfType("signal.received"), `'infinity'`, []string{`the row cannot be read`}},
		{"events", "data", eventOfType("signal.received"), `'[]'`, []string{`does not decode: data is malformed`}},
		{"events", "data", eventOfType("signal.received"), `(data::jsonb || '{"later": 1}')::json`, []string{`it has a field that is unknown`}},
		{"events", "data", eventOfType("signal.received"), `replace(data::text, '"eve"', '"x"')::json`, nil}, // nothing to replace
		{"events", "data", eventOfType("signal.received"), `replace(data::text, '"ada"', '"x"')::json`, []string{`signal "s1": actor: events say "x", the row says "ada"`}},
		{"events", "payload", eventOfType("signal.received"), `null`, []string{`does not decode: payload is missing`}},
		{"events", "payload", eventOfType("signal.received"), `'"forged"'`, []string{`digest: is not that of the payload`, `signal "s1": digest: differs`}},
	}
}

// dueOf is the entry of a run.
func dueOf(id string) string { return "run = (select id from runs where run_id = '" + id + "')" }

func dueDamages() []damage {
	missing, left := `"asleep" of "default": due: the row is missing`, `"asleep" of "default": due: the run's row has no such entry`
	return []damage{
		{"due", "workflow", dueOf("asleep"), `'x'`, []string{missing, left}},
		{"due", "version", dueOf("asleep"), `'x'`, []string{missing, left}},
		{"due", "wake_at", dueOf("asleep"), `wake_at + interval '1 microsecond'`, []string{missing, left}},
		{"due", "wake_at", dueOf("asleep"), `'infinity'`, []string{missing, left}},
		{"due", "run", dueOf("asleep"), ofParked, []string{missing, `"parked" of "default": due: the run's row has no such entry`}},
		{"due", "run", dueOf("asleep"), `4711`, []string{missing, `run "4711": the row is missing, but rows of it are in due`}},
		{"due", "blocked", dueOf("asleep"), `true`, []string{`"asleep" of "default": due: blocked: is not what the run's row says`}},
		{"due", "blocked", dueOf("blocked"), `false`, []string{`"blocked" of "default": due: blocked: is not what the run's row says`}},
	}
}

// Each column of each row, damaged alone, is reported, as the difference it is and no other; and what is lost or left over
// is, too.
func TestVerifyFindsEveryDamage(t *testing.T) {
	t.Parallel()
	r := everything(t)
	r.unguard()
	damages := slices.Concat(runDamages(), signalDamages(), hookDamages(), taskDamages(), eventDamages(), dueDamages(), updateDamages())
	for _, d := range damages {
		change := fmt.Sprintf("update %s set %s = %s where %s", d.table, d.column, d.to, d.where)
		r.finds(change, d.want)
	}
	for change, want := range map[string][]string{
		"delete from signals where " + signalOf("s3"): {`signal "s3": the row is missing`},
		"delete from updates where " + updateOf("u3"): {`update "u3": the row is missing`},
		"update updates set run = 4711 where " + updateOf("u3"): {
			`update "u3": the row is missing`, `run "4711": the row is missing, but rows of it are in updates`,
		},
		"update updates set state = 'open', resolved_at = null, resolved_seq = null where " + updateOf("u3"): {
			`update "u3": state: events say "orphaned", the row says "open"`, `update "u3": resolved_at: `, `update "u3": resolved_seq: `,
		},
		"delete from hooks where " + hookOf("late"):           {`hook "late": the row is missing`},
		"delete from events where run = " + ofParked:          {`"parked" of "default": event 1: is missing: the run has no event`},
		"delete from events where " + eventOfType("run.none"): nil,
		"update signals set consumed_by = null, consumed_generation = null where " + signalOf("s1"): {
			`signal "s1": consumed_by: events say "go", the row says nothing`, `signal "s1": consumed_generation: `,
		},
		"delete from due where " + dueOf("asleep"): {`"asleep" of "default": due: the row is missing`},
		"insert into due select workflow, version, now(), id, false from runs where run_id = 'parked'": {
			`"parked" of "default": due: the run's row has no such entry`,
		},
		"insert into due select workflow, version, wake_at - interval '1 second', id, false from runs where run_id = 'asleep'": {
			`"asleep" of "default": due: the run's row has no such entry`,
		},
		"update events set run = 4711 where " + eventOfType("run.none"):          nil,
		"update signals set run = 4711 where " + signalOf("s3"):                  {`signal "s3": the row is missing`, `run "4711": the row is missing, but rows of it are in signals`},
		"delete from tasks where " + taskOf("tasked", "step"):                    {`"tasked" of "default": task "step": the row is missing`},
		"delete from tasks where " + taskOf("bereaved", "terminated"):            nil, // the child has been told
		"update tasks set run = 4711 where " + taskOf("tasked", "call"):          {`task "call": the row is missing`, `run "4711": the row is missing, but rows of it are in tasks`},
		"update tasks set generation = 2 where " + taskOf("bereaved", "sent"):    {`task "sent": no event made this row`},
		"update tasks set task_id = 'x' where " + taskOf("child", "of-bereaved"): {`"child" of "default": task "x": no event made this row`},
		"update hooks set run = -4711 where " + hookOf("late"):                   {`hook "late": the row is missing`, `run "-4711": the row is missing, but rows of it are in hooks`},
		"insert into events select -1, seq, generation, type, at, data, payload from events where run = " + ofParked: {
			`run "-1": the row is missing, but rows of it are in events`,
		},
		"insert into events select 0, seq, generation, type, at, data, payload from events where run = " + ofParked +
			"; insert into due values ('a', 'b', now(), 0, false)": {
			`run "0": the row is missing, but rows of it are in due`, `run "0": the row is missing, but rows of it are in events`,
		},
	} {
		r.finds(change, want)
	}
	r.coversEveryColumn(damages)
}

// unguard drops what keeps the rows right, and keeps a copy of them.
func (r *acceptRig) unguard() {
	r.t.Helper()
	rows, err := r.pool.Query(context.Background(), `select format('alter table %s drop constraint %I', conrelid::regclass, conname)
		from pg_constraint where conrelid in ('runs'::regclass, 'events'::regclass, 'signals'::regclass, 'hooks'::regclass, 'tasks'::regclass, 'updates'::regclass)
		and contype in ('c', 'f', 'u')`)
	if err != nil {
		r.t.Fatal(err)
	}
	drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(drops) < 10 {
		r.t.Fatalf("%d constraints, %v", len(drops), err)
	}
	for _, drop := range append(drops, `drop trigger runs_cancel_seq on runs`) {
		r.sql(drop)
	}
	for _, table := range []string{"runs", "events", "signals", "hooks", "tasks", "updates"} {
		r.sql("create table saved_" + table + " as table " + table)
	}
}

// finds makes a change, wants these differences, and takes the change back.
func (r *acceptRig) finds(change string, want []string) {
	r.t.Helper()
	r.sql(change)
	all := r.verified(VerifyQuery{})
	var got []string
	for _, d := range all.Found {
		got = append(got, d.String())
	}
	ok := len(got) == len(want) && all.Differences == len(want) && all.Runs == allRuns
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		r.t.Errorf("%s\nfound %d in %d runs:\n\t%s\nwant:\n\t%s", change, all.Differences, all.Runs, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	r.sql("truncate due") // the rows of runs bring it back
	for _, table := range []string{"runs", "events", "signals", "hooks", "tasks", "updates"} {
		r.sql("truncate " + table)
		r.sql("insert into " + table + " overriding system value table saved_" + table)
	}
}

// coversEveryColumn keeps a new column from being forgotten.
func (r *acceptRig) coversEveryColumn(damages []damage) {
	r.t.Helper()
	rows, err := r.pool.Query(context.Background(), `select table_name || '.' || column_name from information_schema.columns
		where table_schema = 'public' and table_name in ('runs', 'events', 'signals', 'hooks', 'tasks', 'due', 'updates')`)
	if err != nil {
		r.t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(columns) < 50 {
		r.t.Fatalf("%d columns, %v", len(columns), err)
	}
	for _, column := range columns {
		damaged := slices.ContainsFunc(damages, func(d damage) bool { return d.table+"."+d.column == column && d.want != nil })
		if damaged == notCompared[column] {
			r.t.Errorf("column %s: damaged %v, and said to be compared %v", column, damaged, !notCompared[column])
		}
	}
}
