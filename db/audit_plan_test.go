package db

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// crowdOfEntries has n entries of the trail: many runs with a few, one run with half of them, one refusal in fifty.
func (r *acceptRig) crowdOfEntries(n int) {
	r.t.Helper()
	r.sql(`insert into audit (at, namespace, run, run_id, kind, name, identity, seq, verdict, why, actor, source, method, credential, request_id, trace, peer)
		select now(), 'ns' || i % 3, case when i % 2 = 0 then 1 else i % 500 + 2 end, 'r', 'signal', 'paid', i::text, i,
			case when i % 50 = 0 then 'gone' else 'accepted' end, '', '', '', 'host', '', '', '00-1', ''
		from generate_series(1, $1) i`, n)
}

// What is read and written of the trail goes by its indexes, whatever it holds.
func TestAuditPlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	first := int64(1)
	type statement struct {
		sql     string
		params  any
		indexes string
	}
	var one auditRows
	one.params.Foreseen = true
	one.add(AuditEntry{Namespace: "default", RunID: "r", Kind: AuditSignal, Seq: 1})
	for _, size := range []int{5, 20_000} {
		r := newAcceptRig(t)
		r.crowd(500)
		r.crowdOfEntries(size)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				r.sql(`vacuum analyze`)
			}
			for name, st := range map[string]statement{
				"AppendAudit": {sqlc.AppendAudit, one.params, `runs_run_id|events_pkey`},
				"ListAudit": {
					sqlc.ListAudit, sqlc.ListAuditParams{Namespace: "ns1", Before: math.MaxInt64, Since: time.Time{}, Count: 51}, `audit_recent`,
				},
				"ListRunAudit": {
					sqlc.ListRunAudit, sqlc.ListRunAuditParams{Run: &first, Before: math.MaxInt64, Count: 51}, `audit_run`,
				},
				"AuditFloor":    {sqlc.AuditFloor, sqlc.AuditFloorParams{Namespace: "ns1", Before: math.MaxInt64, Look: 100}, `audit_recent`},
				"RunAuditFloor": {sqlc.RunAuditFloor, sqlc.RunAuditFloorParams{Run: &first, Before: math.MaxInt64, Look: 100}, `audit_run`},
				"RunRefusals":   {sqlc.RunRefusals, sqlc.RunRefusalsParams{Run: &first, Count: 10}, `audit_refused`},
				"ReadTraces":    {sqlc.ReadTraces, sqlc.ReadTracesParams{Run: &first, Count: 1000, Seqs: []int64{2, 4}}, `audit_run`},
				"SweepAudit":    {sqlc.SweepAudit, sqlc.SweepAuditParams{Most: 100, Keep: 60}, `audit_pkey`},
			} {
				r.indexesOnly(fmt.Sprintf("%s of %d", name, size), st.sql, st.params, st.indexes)
			}
		}
	}
}
