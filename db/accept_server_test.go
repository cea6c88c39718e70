package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func poolOn(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// The server is killed under load: what was acknowledged is there after its restart, and sending everything again
// completes the rest.
func TestAcknowledgedSurvivesTheServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, Migrate)
	r := rigOn(t, poolOn(t, server.URL()), func(c *Config) { c.Batch = 16 })
	r.start(r.Store)
	const senders, most = 8, 2000
	var mu sync.Mutex
	acknowledged := map[string]history.Receipt{}
	var sending sync.WaitGroup
	kill := make(chan struct{}, senders)
	for sender := range senders {
		run := fmt.Sprint("run-", sender)
		r.ok(r.startOf(run))
		sending.Go(func() {
			for i := range most {
				receipt, err := r.Accept(context.Background(), r.signal(run, fmt.Sprint(i), "1"))
				if errors.Is(err, ErrUnavailable) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[fmt.Sprint(run, "/", i)] = receipt
				mu.Unlock()
				if i == 50 {
					kill <- struct{}{}
				}
			}
		})
	}
	<-kill
	server.Kill()
	sending.Wait()
	pgtest.Restart(t, server)
	r.until("the database answers", func() bool { return r.pool.Ping(context.Background()) == nil })
	if n := len(acknowledged); n < 50 || n == senders*most {
		t.Fatalf("%d acknowledged: the server was not killed under load", n)
	}
	for name, first := range acknowledged {
		var run, id int
		if _, err := fmt.Sscanf(name, "run-%d/%d", &run, &id); err != nil {
			t.Fatal(err)
		}
		again := r.ok(r.signal(fmt.Sprint("run-", run), fmt.Sprint(id), "1"))
		if again.Verdict != history.Duplicate || again.Sequence != first.Sequence || !again.ReceivedAt.Equal(first.ReceivedAt) {
			t.Errorf("%s: acknowledged as %+v, now %+v", name, first, again)
		}
	}
	r.consistent()
}

// A server that neither answers nor fails costs a caller a bounded time.
func TestFrozenServerIsUnavailable(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, Migrate)
	r := rigOn(t, poolOn(t, server.URL()))
	r.start(r.Store)
	r.ok(r.startOf("a"))
	thaw := pgtest.Pause(t, server)
	began := time.Now()
	_, err := r.Accept(t.Context(), r.signal("a", "s1", "1"))
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if took := time.Since(began); took > 3*transactionTime {
		t.Errorf("answered after %v", took)
	}
	thaw()
	r.until("it is accepted after the thaw", func() bool {
		receipt, err := r.Accept(t.Context(), r.signal("a", "s1", "1"))
		return err == nil && receipt.Sequence == 2
	})
	r.consistent()
}
