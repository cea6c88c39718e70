package db

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// spoil changes the outcome of one run.
func spoil(run string, code author, change func(*history.Outcome)) Advance {
	a := by(code)
	inner := a.Decide
	a.Decide = func(rec history.Run, s *history.State, now time.Time, rej map[spec.HookID]history.Rejection) (history.Outcome, Fate) {
		out, fate := inner(rec, s, now, rej)
		if rec.Key == keyOf(run) {
			change(&out)
		}
		return out, fate
	}
	return a
}

// What the database refuses of one turn stops that run, not the others of its transaction.
func TestPoisonedTurnFailsAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*history.Outcome){
		"an event's seq is taken": func(o *history.Outcome) { o.Events[0].Seq = 1 },
		"a constraint is broken":  func(o *history.Outcome) { o.Run.Backlog = -1 },
		"text has a NUL": func(o *history.Outcome) {
			o.Run.BlockDiagnosis = "\x00"
			o.Run.BlockCause = "x"
			o.Run.Status = "blocked"
		},
		"metadata is no JSON": func(o *history.Outcome) {
			o.Events[0].Data = &history.HookCreated{HookID: "h", Metadata: spec.HookMetadata{Data: map[string]any{"f": func() {}}}}
		},
		"a hook has no token": func(o *history.Outcome) {
			o.NewHooks = []history.Hook{{ID: "h", Name: "h", State: "odd", CreatedAt: time.Unix(0, 0)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t)
			for i := range 9 {
				r.ok(r.startOf(fmt.Sprint("r", i)))
			}
			a := spoil("r4", approval, change)
			done := r.advance(a)
			if done.Claimed != 9 || done.Committed != 8 || len(done.Failed) != 1 || done.Failed[0].Run != keyOf("r4") || done.Failed[0].Err == nil {
				t.Fatalf("%+v", done)
			}
			v := r.view("r4")
			if v.Status != history.Blocked || v.BlockCause != history.BlockHistory || v.BlockDiagnosis == "" {
				t.Errorf("%+v", v)
			}
			if again := r.advance(a); again.Claimed != 0 {
				t.Errorf("it is claimed over and over: %+v", again)
			}
			r.due("r4", 0) // a mended program goes on
			r.drain(by(approval))
			if got := r.types("r4", 0); got != "run.started run.blocked run.unblocked wait.opened" {
				t.Error(got)
			}
			for i := range 9 {
				r.folded(fmt.Sprint("r", i))
			}
		})
	}
}

func TestCorruptHistoryFailsAlone(t *testing.T) {
	t.Parallel()
	const hole = `delete from events where seq = 2 and run = (select id from runs where run_id = 'bad')`
	for name, damage := range map[string]string{
		"an event is gone":      hole,
		"all events are gone":   `delete from events where run = (select id from runs where run_id = 'bad')`,
		"the type is another":   `update events set type = 'wait.timed_out', data = '{"wait_id":"w"}' where seq = 1 and run = (select id from runs where run_id = 'bad')`,
		"the data is malformed": `update events set data = '7' where seq = 1 and run = (select id from runs where run_id = 'bad')`,
		"the record is ahead":   `update runs set next_seq = 9 where run_id = 'bad'`,
		"labels are no labels":  `update runs set labels = '[1]' where run_id = 'bad'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t)
			for _, id := range []string{"a", "bad", "z"} {
				r.ok(r.startOf(id))
				r.ok(r.signal(id, "s1", "1"))
			}
			r.sql(damage)
			fresh := r.open(r.pool)
			done, err := fresh.Advance(t.Context(), by(approval))
			if err != nil || done.Committed != 2 || len(done.Failed) != 1 || done.Failed[0].Run != keyOf("bad") {
				t.Fatalf("%+v %v", done, err)
			}
			for _, id := range []string{"a", "z"} {
				if v := r.view(id); v.Status != history.Completed {
					t.Errorf("%s is %s", id, v.Status)
				}
			}
			if again := r.advance(by(approval)); again.Claimed != 0 {
				t.Errorf("it is claimed over and over: %+v", again)
			}
			if name == "labels are no labels" { // neither can it be blocked, so it rests
				if n := value[int](r, `select count(*) from runs where wake_at > now() + interval '4 min'`); n != 1 {
					t.Error("the run does not rest")
				}
				return
			}
			if v := r.view("bad"); v.Status != history.Blocked || v.BlockCause != history.BlockHistory {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A run whose next event exists already can neither advance nor be blocked: it rests.
func TestRunThatCannotBeBlockedRests(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("bad"))
	r.ok(r.signal("bad", "s1", "1"))
	r.ok(r.signal("bad", "s2", "1"))
	r.sql(`update runs set next_seq = 3, backlog = 1`)
	done := r.advance(by(approval))
	if done.Committed != 0 || len(done.Failed) != 1 {
		t.Errorf("%+v", done)
	}
	if n := value[int](r, `select count(*) from runs where wake_at > now() + interval '4 min' and status = 'running'`); n != 1 {
		t.Error("the run does not rest")
	}
}

// Somebody holds a token uncommitted, and one run of a claim waits for it in vain: it rests, the others go on.
func TestRunThatWaitsInVainForATokenRests(t *testing.T) {
	t.Parallel()
	r := running(t)
	s := r.open(r.pool, func(c *Config) { c.LockTimeout = 50 * time.Millisecond })
	r.ok(r.startOf("owner"))
	r.ok(r.startOf("a"))
	r.ok(r.startOf("b"))
	tx, err := r.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	digest := digestOf("token")
	if _, err := tx.Exec(t.Context(), `insert into hooks (run, namespace, hook_id, name, metadata, token_digest, digest_key, state, created_at)
		select id, namespace, 'h', 'h', '{}', $1, 'k1', 'active', now() from runs where run_id = 'owner'`, digest[:]); err != nil {
		t.Fatal(err)
	}
	r.sql(`update runs set wake_at = null where run_id = 'owner'`)
	a := only("a", opens("h", "token"), approval)
	done, err := s.Advance(t.Context(), a)
	if err != nil || done.Committed != 1 || len(done.Failed) != 1 || !errors.Is(done.Failed[0].Err, ErrUnavailable) {
		t.Errorf("%+v %v", done, err)
	}
	if v := r.view("a"); v.NextSeq != 2 || v.Status != history.Running || !v.WakeAt.After(v.UpdatedAt) {
		t.Errorf("%+v", v)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.due("a", 0)
	r.advance(a)
	r.folded("a", "b")
}

// Long histories are spread over several transactions, so that a claim's memory is bounded.
func TestLongHistoriesAreSpread(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, id := range []string{"a", "b", "c"} {
		r.ok(r.startOf(id))
	}
	r.sql(`insert into events (run, generation, seq, type, at, data)
		select r.id, 1, s, 'facts.taken', r.updated_at, '{}' from runs r, generate_series(2, 30000) s`)
	r.sql(`update runs set next_seq = 30001`)
	for i := range 3 {
		done, err := r.Advance(t.Context(), by(approval))
		for errors.Is(err, ErrUnavailable) { // a busy machine needs longer to read 30,000 events than a statement may take
			done, err = r.Advance(t.Context(), by(approval))
		}
		if err != nil {
			t.Fatal(err)
		}
		if done.Claimed != 3-i || done.Committed != 1 || done.Full != (i < 2) {
			t.Errorf("claim %d: %+v", i, done)
		}
	}
	r.folded("a", "b", "c")
}
