package db

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
)

// listen calls heard after each notification of a channel, on a connection that listens.
func (r *acceptRig) listen(channel string, heard func(*pgx.Conn)) {
	r.t.Helper()
	conn, err := pgx.ConnectConfig(r.t.Context(), r.pool.Config().ConnConfig)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := conn.Exec(r.t.Context(), "listen "+channel); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return
			}
			heard(conn)
		}
	})
	r.t.Cleanup(func() {
		cancel()
		ended.Wait()
		_ = conn.Close(context.Background())
	})
}

// listener counts the notifications of a channel.
func (r *acceptRig) listener(channel string) (count func() int) {
	r.t.Helper()
	var n atomic.Int64
	r.listen(channel, func(*pgx.Conn) { n.Add(1) })
	return func() int { return int(n.Load()) }
}

// A hundred commits are a few hints, and who looks when a hint comes has seen the last commit in the end.
func TestHintsAreFewAndNoneIsMissing(t *testing.T) {
	t.Parallel()
	r := running(t)
	ready, ended := r.listener(readyChannel), r.listener(endedChannel)
	var seen atomic.Int64
	r.listen(readyChannel, func(conn *pgx.Conn) {
		var seq int64
		if err := conn.QueryRow(context.Background(), `select max(seq) from events`).Scan(&seq); err != nil {
			t.Error(err)
		}
		seen.Store(seq)
	})
	for round := range 5 {
		hints, began := ready(), time.Now()
		r.ok(r.startOf("a"))
		var last history.Receipt
		for i := range 20 {
			last = r.ok(r.signal("a", fmt.Sprint(round, "-", i), "1"))
		}
		if got, windows := ready()-hints, int(time.Since(began)/notifyWindow)+4; got > windows {
			t.Errorf("%d hints in %d windows", got, windows)
		}
		r.until("the last commit was hinted at", func() bool { return seen.Load() == last.Sequence })
	}
	if ended() != 0 {
		t.Error("a hint of an ended run, and none has ended")
	}
	r.ok(&history.CancelRun{Run: keyOf("a")})
	r.until("the end was hinted at", func() bool { return ended() == 1 })
}

// What is refused or repeated wakes nobody; every run that became due does, after its commit.
func TestReadyAndEndedFollowTheCommit(t *testing.T) {
	t.Parallel()
	type seen struct {
		ref RunRef
		due bool
	}
	readies, ends := make(chan seen, 100), make(chan history.RunKey, 100)
	var r *acceptRig
	r = running(t, func(c *Config) {
		c.Ready = func(ref RunRef) {
			due := value[bool](r, `select wake_at <= clock_timestamp() from runs where run_id = $1`, ref.Key.RunID)
			readies <- seen{ref, due}
		}
		c.Ended = func(key history.RunKey, _ *RunView) { ends <- key }
	})
	r.ok(r.startOf("a"))
	r.ok(r.signal("a", "s1", "1"))
	for range 2 {
		got := <-readies
		want := seen{RunRef{Key: keyOf("a"), Code: Code{Workflow: "invoice", Version: "1"}}, true}
		if got != want {
			t.Errorf("ready %+v, want %+v", got, want)
		}
	}
	r.ok(r.signal("a", "s1", "1"))
	r.ok(r.startOf("a"))
	r.ok(&history.CancelRun{Run: keyOf("a")})
	if got := <-ends; got != keyOf("a") {
		t.Errorf("ended %v", got)
	}
	r.ok(&history.CancelRun{Run: keyOf("a")})
	if len(readies) != 0 || len(ends) != 0 {
		t.Errorf("%d and %d more calls, want none", len(readies), len(ends))
	}
}

func TestListenSurvivesItsConnection(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Process = "p1" })
	other := r.open(r.pool)
	defer r.start(other)()
	var ready, ended atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- r.Listen(ctx, Heed{Ready: func() { ready.Add(1) }, Ended: func() { ended.Add(1) }, Tasks: func() {}})
	}()
	r.until("it listens", func() bool { return ready.Load() == 1 && ended.Load() == 1 })
	r.Nudge() // is none of its own business
	other.Nudge()
	r.until("a nudge came", func() bool { return ready.Load() == 2 })
	r.sql(`select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and query ilike 'listen%' and application_name = 'flowgate hints p1'`)
	r.until("it listens again and says so", func() bool { return ready.Load() >= 3 && ended.Load() == 2 })
	before := ready.Load()
	r.await(sendTo(other, t.Context(), r.startOf("a")))
	r.await(sendTo(other, t.Context(), &history.CancelRun{Run: keyOf("a")}))
	r.until("hints come again", func() bool { return ready.Load() > before && ended.Load() >= 3 })
	r.lookEverywhere()
	r.until("it heeds a hint of its own that is for all", func() bool { return ended.Load() >= 4 })
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Listen: %v", err)
	}
}

// The connection for hints may be lost: the next hints go over another one.
func TestNotifierConnectsAgain(t *testing.T) {
	t.Parallel()
	r := running(t)
	ready := r.listener(readyChannel)
	r.Nudge()
	r.until("a hint came", func() bool { return ready() == 1 })
	r.sql(`select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and query like '%pg_notify%' and pid <> pg_backend_pid()`)
	r.until("hints come again", func() bool { r.Nudge(); return ready() > 1 })
}
