package engine_test
import ("testing";"github.com/flowgate-go/flowgate/internal/pgembed/pgtest")
func TestZZ(t *testing.T){
 pool:=pgtest.New(t)
 c,_:=pool.Acquire(t.Context()); defer c.Release()
 var v string; c.QueryRow(t.Context(),"select version()").Scan(&v); t.Log(v)
 c.Exec(t.Context(),"begin; set local enable_hashjoin=off; set local enable_mergejoin=off; set local enable_seqscan=off")
 rows,_:=c.Query(t.Context(),`EXPLAIN ANALYZE DELETE FROM workers AS w USING (
    SELECT d.process, d.workflow, d.version FROM workers AS d
    WHERE d.seen_at < clock_timestamp() - interval '1 day'
    LIMIT 100 FOR UPDATE SKIP LOCKED
) AS dead
WHERE w.process = dead.process AND w.workflow = dead.workflow AND w.version = dead.version`)
 for rows.Next(){var l string; rows.Scan(&l); t.Log(l)}
 c.Exec(t.Context(),"rollback")
}
