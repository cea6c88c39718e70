package db

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// duel is moves that meet at one run, or at all runs whose IDs begin with its name.
type duel struct {
	name    string
	stopped bool                       // the database's clock stands still but for moves that come late
	prepare func(r *ring, run string)  // nil starts the run and has its first turn
	code    author                     // of all turns
	moves   []func(*contestant) string // each returns its verdict
	ends    []string                   // what may come of it, and does: the verdict of each move, and the events since
	rare    []string                   // what may come of it on a slow machine
	check   func(r *ring, run string)  // what else must be true at the end of each
	grid    bool                       // both moves are held as well
	reads   bool                       // the second move must not wait for anything
	again   bool                       // a turn may be decided more than once from one seq
	asleep  bool                       // nobody asks for a retry of blocked runs at the end
	least   int                        // statements of each move, at least; leastStatements
}

// contestant is a process that makes a move on a run.
type contestant struct {
	*ring
	*corner
	run string
}

// corner is a process of its own: a store on connections that can be held at each statement.
type corner struct {
	store   *Store
	name    string // of its connections
	breaker pgfault.Breaker
	pool    *pgxpool.Pool
	stop    func()
	circles atomic.Int32 // deadlocks that it was told of
}

// ring is a database in which duels are fought, each many times and each time on another run, and a store that nothing
// holds.
type ring struct {
	*acceptRig
	stopped bool // its clock
	duel    *duel
	corners []*corner
	acks    ledger
	calls   calls
	ended   map[string]int // how often each end of the duel was reached
	n       int            // of the bout under way
	first   int            // of the duel's bouts
}

// Times of duels on a stopped clock.
const (
	duelPeriod   = 2 * time.Hour // between the beginnings of two bouts
	duelDeadline = time.Hour     // from the beginning of a bout to its deadline
)

var duelEpoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// stoppedClock makes functions that stand for those of PostgreSQL where the schema is searched first.
var stoppedClock = []string{
	`create schema proof`,
	`create table proof.clock (at timestamptz not null)`,
	`insert into proof.clock values ('2030-01-01Z')`,
	`create function proof.clock_timestamp() returns timestamptz language sql volatile as 'select at from proof.clock'`,
	`create function proof.statement_timestamp() returns timestamptz language sql stable as 'select at from proof.clock'`,
}

func newRing(t testing.TB, stopped bool, corners int) *ring {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	if stopped {
		cfg.ConnConfig.RuntimeParams["search_path"] = "proof, pg_catalog, public"
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	r := &ring{stopped: stopped, acceptRig: &acceptRig{t: t, pool: pool}}
	if stopped {
		for _, sql := range stoppedClock {
			r.sql(sql)
		}
	}
	r.acceptRig = rigOn(t, pool, twoSignals)
	r.start(r.Store)
	for i := range corners {
		r.corners = append(r.corners, r.corner(fmt.Sprint("corner ", i)))
	}
	return r
}

// enter makes a duel the one that is fought.
func (r *ring) enter(d *duel) {
	r.duel, r.acks, r.calls, r.ended, r.first = d, ledger{}, calls{}, map[string]int{}, r.n+1
}

func (r *ring) corner(name string) *corner {
	r.t.Helper()
	s := &corner{name: name}
	cfg := r.pool.Config()
	cfg.MaxConns = 3
	cfg.ConnConfig.RuntimeParams["application_name"] = name
	cfg.ConnConfig.RuntimeParams["deadlock_timeout"] = "10ms" // a circle is found before any patience ends
	cfg.ConnConfig.DialFunc = s.breaker.Dialer(cfg.ConnConfig.DialFunc)
	usual := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == pgerrDeadlock {
			s.circles.Add(1)
		}
		return usual(c, err)
	}
	var err error
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
		r.t.Fatal(err)
	}
	s.store = r.open(s.pool, twoSignals, func(c *Config) { c.KnownRuns = -1 }) // each message reads what it is judged by
	s.store.notify.config = r.pool.Config().ConnConfig                         // hints are no statements of a move
	s.stop = r.start(s.store)
	return s
}

// pgerrDeadlock is the SQLSTATE of whom the server ends to break a circle of waiting transactions.
const pgerrDeadlock = "40P01"

// twoSignals declares the signal "rejected" as well.
func twoSignals(c *Config) {
	c.Authority = func(d canon.Digest) (history.Authority, bool) {
		a, ok := testAuthorities(d)
		return rejecting{a}, ok
	}
}

type rejecting struct{ history.Authority }

func (a rejecting) CheckSignal(name string, p canon.Payload) error {
	if name == "rejected" {
		name = "approved"
	}
	return a.Authority.CheckSignal(name, p)
}

// late is when the deadlines of the bout under way are. It is true of duels on a stopped clock.
func (r *ring) late() time.Time {
	return duelEpoch.Add(time.Duration(r.n)*duelPeriod + duelDeadline)
}

// setClock moves a stopped clock.
func (r *ring) setClock(to time.Time) { r.sql(`update proof.clock set at = $1`, to) }

// close ends the corners, so that the server counts what they did, and tells whether any of them met a deadlock.
func (r *ring) close() {
	r.t.Helper()
	for _, c := range r.corners {
		c.stop()
		c.pool.Close()
	}
	r.until("the sessions of the corners have ended", func() bool {
		return value[int](r.acceptRig, `select count(*) from pg_stat_activity
			where datname = current_database() and application_name like 'corner %'`) == 0
	})
	if n := value[int](r.acceptRig, `select deadlocks from pg_stat_database where datname = current_database()`); n != 0 {
		r.t.Errorf("%d deadlocks", n)
	}
}
