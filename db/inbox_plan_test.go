package db

import (
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
					sqlc.ListMessages, sqlc.ListMessagesParams{Namespace: "default", Before: 1 << 62, State: "dead", Count: 51}, `inbox_recent|inbox_pkey`,
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
