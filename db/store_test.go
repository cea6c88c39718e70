package db

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/flowgate-go/flowgate/internal/history"
)

// Not parallel: it counts the goroutines of the whole process.
func TestRunEndsItsGoroutines(t *testing.T) {
	r := newAcceptRig(t, func(c *Config) { c.Lanes = 3 })
	r.sql(`select 1`)
	known := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.ok(r.startOf("a"))
	release := r.hold("a")
	underWay := r.send(r.signal("a", "s1", "1"))
	r.until("it waits for the lock", func() bool { return r.waiters() == 1 })
	behind := r.send(r.signal("a", "s2", "1"))
	r.until("the next follows", func() bool { return r.side.waiting() == 1 })
	cancel()
	release()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if a := r.await(underWay); a.Err != nil || a.Receipt.Verdict != history.Accepted {
		t.Errorf("the call under way: %+v, want accepted", a)
	}
	if a := r.await(behind); !errors.Is(a.Err, ErrUnavailable) {
		t.Errorf("the call that waited: %+v, want ErrUnavailable", a)
	}
	if _, err := r.Accept(context.Background(), r.startOf("b")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after Run: %v, want ErrUnavailable", err)
	}
	goleak.VerifyNone(t, known)
	r.consistent()
}

func TestCallsBeforeRunWait(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	answers := r.line(r.startOf("a"))
	r.start(r.Store)
	if a := r.await(answers[0]); a.Err != nil || a.Receipt.Verdict != history.Accepted {
		t.Errorf("%+v", a)
	}
}

func TestFullQueueIsUnavailable(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, func(c *Config) { c.Batch = 1 })
	for range cap(r.queue) {
		r.queue <- &call{ctx: t.Context(), done: make(chan Answer, 1)}
	}
	_, err := r.Accept(t.Context(), r.startOf("a"))
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, errQueueFull) {
		t.Errorf("%v, want ErrUnavailable because the queue is full", err)
	}
}

func TestMigrateAgainAndAtOnce(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	url := r.pool.Config().ConnString()
	done := make(chan error, 3)
	for range cap(done) {
		go func() { done <- Migrate(context.Background(), url) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := value[int](r, `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
		and application_name <> '' `); n > 1 {
		t.Errorf("%d connections are left", n)
	}
	if err := Migrate(t.Context(), "postgres://nobody@/x?host=/nowhere"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
}
