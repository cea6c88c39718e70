package db

import (
	"errors"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// A process of an older version meets events that it does not know, while one version replaces another. It leaves those
// runs alone: it does not block or delay them, does not come back to them at every claim, and a newer process goes on.
func TestOlderProcessLeavesRunsOfANewerOneAlone(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]string{
		"of an unknown type":      `update events set type = 'wait.sung' where seq = 2 and run = (select id from runs where run_id = 'new')`,
		"with an unknown field":   `update events set data = '{"tempo":1,"signal_id":"s","name":"approved","digest":"0000000000000000000000000000000000000000000000000000000000000000"}' where seq = 2 and run = (select id from runs where run_id = 'new')`,
		"with one deep inside it": `update events set type = 'hook.created', data = '{"hook_id":"h","name":"h","metadata":{},"grant":{"token_digest":"0000000000000000000000000000000000000000000000000000000000000000","digest_key":"k","scope":"x"}}' where seq = 2 and run = (select id from runs where run_id = 'new')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := running(t)
			for _, id := range []string{"a", "new", "z"} {
				r.ok(r.startOf(id))
				r.ok(r.signal(id, "s", "null"))
			}
			row := value[string](r, `select (type, data, payload)::text from events where seq = 2 and run = (select id from runs where run_id = 'new')`)
			r.sql(`create table kept as select * from events where seq = 2 and run = (select id from runs where run_id = 'new')`)
			r.sql(write)
			r.due("new", time.Second)
			before := r.view("new")
			now := time.Now()
			old := r.open(r.pool, func(c *Config) { c.Clock = func() time.Time { return now } })
			done, err := old.Advance(t.Context(), by(approval))
			if err != nil || done.Claimed != 3 || done.Committed != 2 || len(done.Failed) != 1 || !errors.Is(done.Failed[0].Err, history.ErrNewerEvent) {
				t.Fatalf("%+v %v", done, err)
			}
			if v := r.view("new"); v.Status != history.Running || v.NextSeq != before.NextSeq || !v.WakeAt.Equal(*before.WakeAt) {
				t.Errorf("the run was touched: %+v", v)
			}
			for range 3 {
				if again, err := old.Advance(t.Context(), by(approval)); err != nil || again.Claimed != 0 || again.Skipped != nil || again.NextDue != nil || again.Full {
					t.Errorf("it is claimed over and over: %+v %v", again, err)
				}
				now = now.Add(2 * time.Second)
			}
			if _, err := old.History(t.Context(), keyOf("new"), 0, 0, 10); !errors.Is(err, ErrUnavailable) {
				t.Errorf("its history: %v", err)
			}
			now = now.Add(newerRest)
			if again, err := old.Advance(t.Context(), by(approval)); err != nil || again.Claimed != 1 || len(again.Failed) != 1 {
				t.Errorf("it is never looked at again: %+v %v", again, err)
			}
			r.sql(`update events e set type = k.type, data = k.data from kept k where e.run = k.run and e.seq = k.seq`)
			if again := value[string](r, `select (type, data, payload)::text from events where seq = 2 and run = (select id from runs where run_id = 'new')`); again != row {
				t.Fatal(again)
			}
			r.drain(by(approval)) // a process that knows the events
			if v := r.view("new"); v.Status != history.Completed {
				t.Errorf("%+v", v)
			}
			r.folded("a", "new", "z")
		})
	}
}

// More runs than can be named in every claim rest for a second instead, as others do whose turn fails for a passing
// reason.
func TestTooManyRunsOfANewerProcessRest(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("new"))
	r.sql(`update events set type = 'run.sung'`)
	now := time.Now()
	for i := range maxNewer {
		if !r.newer.add(int64(1000+i), now) {
			t.Fatalf("run %d is one too many", i)
		}
	}
	if done := r.advance(by(approval)); len(done.Failed) != 1 {
		t.Fatalf("%+v", done)
	}
	if v := r.view("new"); v.Status != history.Running || v.NextSeq != 2 || !v.WakeAt.After(v.UpdatedAt.Add(stallTime/2)) {
		t.Errorf("%+v", v)
	}
	if n := len(r.newer.at(now.Add(newerRest))); n != 0 || !r.newer.add(1, now) {
		t.Errorf("%d runs are left alone for ever", n)
	}
}
