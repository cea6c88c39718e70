package pgfault_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Run(m, func(ctx context.Context, url string) error {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, pgfault.Install+"create table rows (n int primary key);")
		return err
	}))
}

type rig struct {
	t       *testing.T
	breaker pgfault.Breaker
	url     string
	plain   *pgx.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, url: pgtest.URL(t)}
	r.plain = r.connect(false)
	return r
}

func (r *rig) connect(broken bool) *pgx.Conn {
	r.t.Helper()
	cfg, err := pgx.ParseConfig(r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	if broken {
		cfg.DialFunc = r.breaker.Dialer(cfg.DialFunc)
	}
	c, err := pgx.ConnectConfig(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close(context.Background()) })
	for _, sql := range pgfault.Prepare() {
		if _, err := c.Exec(r.t.Context(), sql); err != nil {
			r.t.Fatal(err)
		}
	}
	return c
}

// transaction sends begin, two inserts and a commit in one round trip.
func transaction(ctx context.Context, c *pgx.Conn, n int) error {
	var b pgx.Batch
	b.Queue("begin")
	b.Queue("insert into rows values ($1)", n)
	b.Queue("insert into rows values ($1)", n+1)
	b.Queue("commit")
	return c.SendBatch(ctx, &b).Close()
}

func (r *rig) rows() (n int) {
	r.t.Helper()
	if err := r.plain.QueryRow(r.t.Context(), "select count(*) from rows").Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestARefusalIsTheServersAnswer(t *testing.T) {
	t.Parallel()
	for _, state := range pgfault.States() {
		r := newRig(t)
		for n := 1; n <= 4; n++ {
			c := r.connect(true)
			f := r.breaker.At(n, pgfault.Refuse, state)
			err := transaction(t.Context(), c, 0)
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.Code != state || !f.Happened() {
				t.Fatalf("statement %d: %v, want SQLSTATE %s", n, err, state)
			}
			r.breaker.Clear()
			if _, err := c.Exec(t.Context(), "rollback"); err != nil {
				t.Fatalf("the session is of no use afterwards: %v", err)
			}
			if r.rows() != 0 {
				t.Errorf("statement %d: %d rows", n, r.rows())
			}
		}
	}
}

func TestLossesAtEveryStatement(t *testing.T) {
	t.Parallel()
	for _, kind := range []pgfault.Kind{pgfault.LoseBefore, pgfault.LoseAfter} {
		r := newRig(t)
		for n := 1; n <= 4; n++ {
			c := r.connect(true)
			f := r.breaker.At(n, kind, "")
			if err := transaction(t.Context(), c, 0); err == nil || !c.IsClosed() {
				t.Fatalf("%s %d: %v, closed %v", kind, n, err, c.IsClosed())
			}
			<-f.Done()
			want := 0
			if kind == pgfault.LoseAfter && n == 4 {
				want = 2
			}
			if got := r.rows(); got != want {
				t.Errorf("%s statement %d (%s): %d rows, want %d", kind, n, f.SQL(), got, want)
			}
		}
	}
}

func TestADetachedCommitTakesEffectLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(true)
	f := r.breaker.AtText(func(sql string) bool { return sql == "commit" }, 1, pgfault.Detach, "")
	if err := transaction(t.Context(), c, 0); err == nil || !c.IsClosed() {
		t.Fatalf("%v, want a lost connection", err)
	}
	if r.rows() != 0 {
		t.Error("committed before the release")
	}
	f.Release()
	r.breaker.Wait()
	<-f.Done()
	if r.rows() != 2 {
		t.Errorf("%d rows after the release, want 2", r.rows())
	}
}

func TestAHeldStatementWaitsForItsReleaseOrTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(true)
	f := r.breaker.At(3, pgfault.Hold, "")
	answer := make(chan error, 1)
	go func() { answer <- transaction(t.Context(), c, 0) }()
	<-f.Met()
	if !strings.HasPrefix(f.SQL(), "insert") || r.rows() != 0 {
		t.Errorf("held at %q with %d rows", f.SQL(), r.rows())
	}
	f.Release()
	if err := <-answer; err != nil || r.rows() != 2 {
		t.Errorf("released: %v, %d rows", err, r.rows())
	}
	r.breaker.At(2, pgfault.Hold, "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := transaction(ctx, c, 10); err == nil || r.rows() != 2 {
		t.Errorf("not released: %v, %d rows", err, r.rows())
	}
	if seen := r.breaker.Clear(); len(seen) != 2 || seen[0] != "begin" {
		t.Errorf("seen %q", seen)
	}
}

// A query sees what was committed when it was bound: Hold keeps back what comes after that, HoldBind what comes before.
func TestHoldAndTheSnapshot(t *testing.T) {
	t.Parallel()
	const count = "select count(*) from rows where n > $1"
	for kind, want := range map[pgfault.Kind]struct {
		seen int
		sent string
	}{pgfault.Hold: {0, count}, pgfault.HoldBind: {1, "begin"}} {
		r := newRig(t)
		c := r.connect(true)
		seen := -1
		ask := func() error {
			var b pgx.Batch
			b.Queue("begin")
			b.Queue(count, 0).QueryRow(func(row pgx.Row) error { return row.Scan(&seen) })
			b.Queue("commit")
			return c.SendBatch(t.Context(), &b).Close()
		}
		if err := ask(); err != nil { // so that the statements are prepared
			t.Fatal(err)
		}
		f := r.breaker.At(2, kind, "")
		answer := make(chan error, 1)
		go func() { answer <- ask() }()
		<-f.Met()
		for waiting := false; !waiting; { // for what was sent to be done
			err := r.plain.QueryRow(t.Context(), `select state = 'active' and wait_event is not distinct from 'ClientRead' and query = $2
				from pg_stat_activity where pid = $1`, c.PgConn().PID(), f.Sent()).Scan(&waiting)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.plain.Exec(t.Context(), "insert into rows values (1)"); err != nil {
			t.Fatal(err)
		}
		f.Release()
		if err := <-answer; err != nil || seen != want.seen || f.SQL() != count || f.Sent() != want.sent {
			t.Errorf("%s: %v, saw %d rows, want %d; held %q after %q", kind, err, seen, want.seen, f.SQL(), f.Sent())
		}
	}
}
