package db

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// crowdOfMessages has many held messages for runs that are not there, as many for runs that are but for later, as many that
// were delivered, and three to deliver.
func (r *acceptRig) crowdOfMessages(n int) {
	r.t.Helper()
	for _, part := range []struct{ id, run, state, tryAt, resolved string }{
		{"early", "'absent' || i", "held", "now() - interval '1 second'", "null"},
		{"later", "(select run_id from runs where id = 1 + i % 500)", "held", "now() + interval '1 hour'", "null"},
		{"done", "'r' || i", "delivered", "now()", "now()"},
	} {
		r.sql(fmt.Sprintf(`insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, received_at, deadline, try_at, resolved_at)
			select 'default', 'src' || i %% 7, 'src:%s' || i, 'signal', coalesce(%s, 'x'), 'paid', sha256(''), '1', '%s', now(), now() + interval '1 hour', %s, %s
			from generate_series(1, $1) i`, part.id, part.run, part.state, part.tryAt, part.resolved), n)
	}
	r.sql(`insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, received_at, deadline, try_at)
		select 'default', 'src', 'src:due' || id, 'signal', run_id, 'paid', sha256(''), '1', 'held', now(), now() + interval '1 hour', now() - interval '1 second'
		from runs order by id limit 3`)
}

// What couriers and operators ask again and again is answered by keys, whatever the tables hold.
func TestInboxPlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	type statement struct {
		sql     string
		params  any
		indexes string
	}
	for _, size := range []int{5, 5_000} {
		r := newAcceptRig(t)
		r.crowd(500)
		r.crowdOfMessages(size)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				r.sql(`vacuum analyze`)
			}
			for name, st := range map[string]statement{
				"TakeMessages":  {sqlc.TakeMessages, sqlc.TakeMessagesParams{Lease: 60, UpTo: 1 << 62, Most: 50}, `inbox_held|inbox_pkey|runs_run_id|hooks_pkey`},
				"HeldMessages":  {sqlc.HeldMessages, sqlc.HeldMessagesParams{Most: 100}, `inbox_held`},
				"KnownMessage":  {sqlc.KnownMessage, sqlc.KnownMessageParams{Namespace: "default", MessageID: "src:early3"}, `inbox_message`},
				"SettleMessage": {sqlc.SettleMessage, sqlc.SettleMessageParams{State: "delivered", ID: 3, Attempt: 1}, `inbox_pkey`},
				"SweepMessages": {sqlc.SweepMessages, sqlc.SweepMessagesParams{Keep: 60, Most: 50}, `inbox_resolved_at|inbox_pkey`},
				"HoldMessage": {sqlc.HoldMessage, sqlc.HoldMessageParams{
					Namespace: "default", Source: "src1", MessageID: "src1:new", Kind: "signal", RunID: "r", Name: "paid", Digest: make([]byte, 32),
					Payload: []byte("1"), State: "held", Hold: 60, Room: 100,
				}, `inbox_room`},
				"ListMessages": {
					sqlc.ListMessages, sqlc.ListMessagesParams{Namespace: "default", Before: 1 << 62, State: "dead", Count: 51}, `inbox_recent|inbox_pkey|inbox_room`,
				},
			} {
				r.indexesOnly(fmt.Sprintf("%s of %d", name, size), st.sql, st.params, st.indexes)
			}
		}
		all, err := r.TakeMessages(t.Context(), MessageWindow{}, 50, 0)
		if err != nil || len(all) != 3 {
			t.Errorf("%d were taken, %v", len(all), err)
		}
	}
}

// The pages that a list of dead messages reads do not depend on those that were delivered.
func TestDeadMessagesAreListedWithoutTheDelivered(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.sql(`insert into inbox (namespace, source, message_id, kind, run_id, name, digest, payload, state, reason, received_at, deadline, try_at, resolved_at)
		select 'default', 'src', 'src:' || i, 'signal', 'r', 'paid', sha256(''), '1', case when i <= 3 then 'dead' else 'delivered' end,
			case when i <= 3 then 'conflict' else '' end, now(), now(), now(), case when i > 3 then now() end
		from generate_series(1, 20000) i`)
	r.sql(`vacuum analyze inbox`)
	tx := r.begin()
	var text []byte
	params := sqlc.ListMessagesParams{Namespace: "default", Before: 1 << 62, State: "dead", Count: 51}
	if err := tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sqlc.ListMessages, arguments(params)...).Scan(&text); err != nil {
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
	if p := out[0].Plan; p.Hit+p.Read > 30 || p.Rows != 3 {
		t.Errorf("%+v", p)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
