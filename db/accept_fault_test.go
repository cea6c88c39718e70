package db

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
)

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
