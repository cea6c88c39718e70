package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
)

// saboteur cuts one connection of a pool at the nth thing written from now, before or after the server gets it.
type saboteur struct {
	left    atomic.Int64 // writes until the cut; 0: no cut is planned
	deliver bool         // the server gets the last write, and its answer is lost
}

type cutConn struct {
	net.Conn
	by   *saboteur
	dead atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return 0, io.ErrClosedPipe
	}
	if c.by.left.Load() == 0 || c.by.left.Add(-1) != 0 {
		return c.Conn.Write(b)
	}
	c.dead.Store(true)
	if c.by.deliver {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		one := make([]byte, 1)
		_, _ = c.Conn.Read(one) // the server has begun to answer: it has done the work
	}
	_ = c.Conn.Close()
	if c.by.deliver {
		return len(b), nil
	}
	return 0, io.ErrClosedPipe
}

func (c *cutConn) Read(b []byte) (int, error) {
	if c.dead.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	return c.Conn.Read(b)
}

// sabotaged is a pool whose connections the saboteur sees.
func (r *acceptRig) sabotaged(by *saboteur) *pgxpool.Pool {
	r.t.Helper()
	cfg := r.pool.Config()
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &cutConn{Conn: conn, by: by}, err
	}
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	return pool
}

// The connection is lost at every write of an accept transaction, with and without the server getting it. The message is
// stored once, and the answer is true: it was decided once more on another connection.
func TestConnectionLostAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, deliver := range []bool{false, true} {
		t.Run(fmt.Sprintf("delivered %v", deliver), func(t *testing.T) {
			t.Parallel()
			by := &saboteur{deliver: deliver}
			r := newAcceptRig(t)
			r.Store = r.open(r.sabotaged(by))
			r.notify.config = r.pool.Config().ConnConfig // hints are not what is cut here
			r.start(r.Store)
			var got []history.Receipt
			for n := int64(1); ; n++ {
				run := fmt.Sprint("run-", n)
				r.ok(r.startOf(run))
				r.ok(r.signal(run, "s1", "1")) // prepares the statements on this connection
				by.left.Store(n)
				receipt := r.ok(r.signal(run, "s2", "1"))
				if by.left.Swap(0) > 0 {
					break // the transaction has fewer writes
				}
				if receipt.Sequence != 3 {
					t.Errorf("cut at write %d: seq %d, want 3", n, receipt.Sequence)
				}
				got = append(got, receipt)
			}
			if len(got) != 2 {
				t.Fatalf("%d round trips, want one to read and one to write", len(got))
			}
			want := history.Accepted
			if deliver {
				want = history.Duplicate // of the first attempt, whose COMMIT took effect
			}
			if got[0].Verdict != history.Accepted || got[1].Verdict != want {
				t.Errorf("cut before the write: %s, cut at the commit: %s, want accepted, %s", got[0].Verdict, got[1].Verdict, want)
			}
			r.consistent()
		})
	}
}

func TestBackendTerminatedDuringABatch(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.LockTimeout = 20 * time.Second })
	r.ok(r.startOf("a"))
	release := r.hold("a")
	answer := r.send(r.signal("a", "s1", "1"))
	killed := r.terminateWaiter(0)
	r.until("it waits again, on a new connection", func() bool { pid := r.waiter(); return pid != 0 && pid != killed })
	release()
	if a := r.await(answer); a.Err != nil || a.Receipt.Verdict != history.Accepted {
		t.Errorf("%+v", a)
	}
	release = r.hold("a")
	answer = r.send(r.signal("a", "s2", "1"))
	r.terminateWaiter(r.terminateWaiter(0))
	if a := r.await(answer); !errors.Is(a.Err, ErrUnavailable) {
		t.Errorf("terminated twice: %+v, want ErrUnavailable", a)
	}
	release()
	r.ok(r.signal("a", "s2", "1"))
	r.consistent()
}

// waiter is the backend that waits for a lock, 0 while none does.
func (r *acceptRig) waiter() int {
	return value[int](r, `select coalesce(max(pid), 0) from pg_stat_activity
		where datname = current_database() and wait_event_type = 'Lock'`)
}

// terminateWaiter ends the backend that waits for a lock, once that is another one than before.
func (r *acceptRig) terminateWaiter(before int) (pid int) {
	r.t.Helper()
	r.until("another backend waits for the lock", func() bool { pid = r.waiter(); return pid != 0 && pid != before })
	r.sql(`select pg_terminate_backend($1)`, pid)
	return pid
}

// A caller that leaves is told that nobody knows; sending again tells.
func TestCallerLeavesInFlight(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.LockTimeout = 20 * time.Second })
	r.ok(r.startOf("a"))
	release := r.hold("a")
	ctx, leave := context.WithCancel(t.Context())
	answer := sendTo(r.Store, ctx, r.signal("a", "s1", "1"))
	r.until("it waits for the lock", func() bool { return r.waiters() == 1 })
	leave()
	a := r.await(answer)
	if !errors.Is(a.Err, ErrUnavailable) || !errors.Is(a.Err, context.Canceled) {
		t.Errorf("%v, want ErrUnavailable because of the caller", a.Err)
	}
	release()
	r.until("the command went on without its caller", func() bool { return value[int](r, `select count(*) from signals`) == 1 })
	if got := r.ok(r.signal("a", "s1", "1")); got.Verdict != history.Duplicate || got.Sequence != 2 {
		t.Errorf("%+v, want a duplicate", got)
	}
	if _, err := r.Accept(ctx, r.signal("a", "s2", "1")); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("a caller that has left already: %v", err)
	}
	r.consistent()
}

func TestNoConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	cfg := r.pool.Config()
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("secret-host refused") }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := r.open(pool)
	stop := r.start(s)
	defer stop()
	if _, err := s.Accept(t.Context(), r.startOf("a")); !errors.Is(err, ErrUnavailable) || err.Error() != ErrUnavailable.Error() {
		t.Errorf("%v, want ErrUnavailable and no more words", err)
	}
}
