package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// faultRig has a healthy store that runs and, on the same database, stores whose connections a breaker sees.
type faultRig struct {
	*acceptRig
	breaker pgfault.Breaker
	patient *Store // waits for locks as long as a test may take
	hasty   *Store // gives up soon
}

// The lock time-outs of the two.
const (
	longWait  = 20 * time.Second
	shortWait = 40 * time.Millisecond
)

func waiting20s(c *Config) { c.LockTimeout, c.Audit = longWait, true }

func newFaultRig(t *testing.T) *faultRig {
	t.Helper()
	f := &faultRig{acceptRig: running(t, waiting20s)}
	f.sql(pgfault.Install)
	f.sql(`create table orders (run_id text primary key)`) // the host's own
	broken := f.brokenBy(&f.breaker)
	f.patient = f.over(broken, longWait)
	f.hasty = f.over(broken, shortWait)
	f.start(f.patient)
	f.start(f.hasty)
	return f
}

// brokenBy is a pool whose connections a breaker sees.
func (r *acceptRig) brokenBy(b *pgfault.Breaker) *pgxpool.Pool {
	r.t.Helper()
	cfg := r.pool.Config()
	cfg.ConnConfig.DialFunc = b.Dialer(cfg.ConnConfig.DialFunc)
	cfg.MaxConns = 6
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // a ping is not what is to fail
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, strings.Join(pgfault.Prepare(), ";"))
		return err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	return pool
}

// over is a store on a broken pool. Its hints have a connection of their own, which nothing happens to.
func (r *acceptRig) over(pool *pgxpool.Pool, lockTimeout time.Duration, change ...func(*Config)) *Store {
	s := r.open(pool, append(change, func(c *Config) { c.LockTimeout, c.Audit = lockTimeout, true })...)
	s.notify.config = r.pool.Config().ConnConfig
	return s
}

// ready opens a connection, so that what is counted next is the use case alone.
func (f *faultRig) ready() {
	f.t.Helper()
	if err := f.patient.pool.Ping(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// runRows are all rows of the runs of a use case, by their names in it: everything that a use case may change,
// without what differs from run to run. A run that does not exist has none.
func (f *faultRig) runRows(prefix string) map[string]string {
	f.t.Helper()
	got, err := f.pool.Query(context.Background(), `
		select substr(r.run_id, length($1) + 1),
			status || ' g' || generation || ' seq ' || first_seq || '..' || next_seq || ' backlog ' || backlog
			|| ' blocked ' || coalesce(block_cause, '-') || ' ' || block_attempts || ' wake ' || case
				when wake_at is null then 'never'
				when wake_at > clock_timestamp() + interval '30 min' then 'far'
				when block_attempts > 0 and wake_at = updated_at + interval '1 s' * 2 ^ (block_attempts - 1) then 'backing off'
				when wake_at <= clock_timestamp() then 'due' else 'later' end
			|| coalesce((select string_agg(E'\n\t' || seq || ' g' || e.generation || ' ' || type || ' '
				|| coalesce(convert_from(payload, 'UTF8'), ''), '' order by seq) from events e where e.run = r.id), '')
			|| coalesce((select string_agg(E'\n\tsignal ' || signal_id || ' ' || seq || ' ' || coalesce(consumed_by, 'unread'), ''
				order by seq) from signals s where s.run = r.id), '')
			|| coalesce((select string_agg(E'\n\thook ' || hook_id || ' ' || state || ' ' || coalesce(resolved_seq, 0), ''
				order by hook_id) from hooks h where h.run = r.id), '')
			|| coalesce((select string_agg(E'\n\ttask ' || kind || ' ' || task_id || ' ' || t.seq || ' ' || attempt || ' ' || failures || ' '
				|| coalesce(worker, '-') || ' ' || held || ' ' || (run_after > clock_timestamp())::text || ' ' || coalesce(last_error, ''), ''
				order by kind, task_id) from tasks t where t.run = r.id), '')
			|| coalesce((select string_agg(E'\n\tletter ' || step_id || ' ' || reason || ' ' || state, '' order by d.id)
				from dead_letters d where d.run = r.id), '')
			|| coalesce((select string_agg(E'\n\tupdate ' || update_id || ' ' || state || ' ' || coalesce(resolved_seq, 0), ''
				order by update_id) from updates u where u.run = r.id), '')
			|| coalesce((select string_agg(E'\n\taudit ' || a.kind || ' ' || a.name || ' ' || replace(a.identity, $1, '') || ' ' || a.seq || ' ' || a.verdict, ''
				order by a.seq, a.kind, a.identity) from audit a where a.run = r.id), '')
		from runs r where starts_with(r.run_id, $1)
		union all select 'order', count(*)::text from orders where starts_with(run_id, $1) having count(*) > 0`, prefix+"/")
	if err != nil {
		f.t.Fatal(err)
	}
	rows := map[string]string{}
	var name, text string
	if _, err := pgx.ForEachRow(got, []any{&name, &text}, func() error { rows[name] = text; return nil }); err != nil {
		f.t.Fatal(err)
	}
	return rows
}

// nothingLeft checks that no session has a transaction open or a lock, and that every connection was given back.
func (f *faultRig) nothingLeft() {
	f.t.Helper()
	f.until("no transaction, lock or connection is left", func() bool {
		return f.patient.pool.Stat().AcquiredConns() == 0 && value[int](f.acceptRig, `
			select count(*) from pg_stat_activity a
			where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
			and (state like 'idle in transaction%' or exists (select from pg_locks l where l.pid = a.pid))`) == 0
	})
}

// someFolded checks that the rows of all runs agree with their events, and that those of every seventh run are the fold
// of them: the others have the same rows but for their times.
func (f *faultRig) someFolded() {
	f.t.Helper()
	f.folded(value[[]string](f.acceptRig, `select array_agg(run_id) from runs where id % 7 = 1`)...)
}

// turns lets a store advance what is due until nothing is.
func (f *faultRig) turns(s *Store, code author) {
	f.t.Helper()
	for range 100 {
		done, err := s.Advance(context.Background(), by(code))
		if err != nil || len(done.Failed) > 0 {
			f.t.Fatalf("advance: %+v %v", done, err)
		}
		if !done.Full {
			return
		}
	}
	f.t.Fatal("runs are due over and over")
}

// fresh is a healthy store that has not claimed yet, so that it looks at everything that is due.
func (f *faultRig) fresh() *Store { return f.open(f.pool) }

// readingOf is what a caller reads, in words. An error that blames the caller for our trouble is in its own words.
func readingOf(v history.Verdict, err error) string {
	broken, refused := errors.AsType[*DatabaseError](err)
	switch {
	case err == nil:
		return string(v)
	case errors.Is(err, ErrUnavailable):
		return unavailableWord
	case refused:
		return "refused " + broken.SQLState
	}
	return err.Error()
}

const (
	acceptedWord    = string(history.Accepted)
	duplicateWord   = string(history.Duplicate)
	doneWord        = "done"
	unavailableWord = "unavailable"
)

// suffix is what a run of a use case is named after its prefix: the author's code depends on it.
func suffix(s *history.State) string {
	id := string(s.Key().RunID)
	return id[strings.LastIndex(id, "/")+1:]
}

// underWay is a call that has not returned.
type underWay struct {
	done chan struct{}
	got  []string // once done
}

func (f *faultRig) begin(c *faultCase, s *Store, prefix string) *underWay {
	u := &underWay{done: make(chan struct{})}
	go func() {
		defer close(u.done)
		u.got = c.act(f, s, prefix)
	}()
	return u
}

func (u *underWay) over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

func (f *faultRig) outcomes(u *underWay) []string {
	f.t.Helper()
	f.until("the call returns", u.over)
	return u.got
}

// overOrWaiting waits until a call returned or some session waits for a lock.
func (f *faultRig) overOrWaiting(u *underWay) {
	f.t.Helper()
	f.until("the call returns or waits", func() bool { return u.over() || f.waiter() > 0 })
}

func isCommit(sql string) bool { return sql == "commit" }

func hasPrefix(texts []string, prefix string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, prefix) })
}

func hasText(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) })
}

func at(prefix, run string) string { return fmt.Sprint(prefix, "/", run) }

// title is the first line of a statement, which names it.
func title(sql string) string {
	line, _, _ := strings.Cut(sql, "\n")
	return line
}
