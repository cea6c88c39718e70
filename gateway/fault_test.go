package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// checkBusy checks that our own fault is said to be ours, in time for the sender to hear it.
func checkBusy(t *testing.T, send func() reply) {
	t.Helper()
	began := time.Now()
	checkProblem(t, send(), http.StatusServiceUnavailable, "unavailable")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("answered after %s", took)
	}
}

// lock holds the row of a run, as a stuck transaction does, until the returned function is called.
func lock(t *testing.T, url, run string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = conn.Close(context.Background()) })
	t.Cleanup(release)
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	tag, err := conn.Exec(t.Context(), "SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE", run)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("lock: %v %v", tag, err)
	}
	return release
}

// 32 with a lock that is held: the run's callers are told to come again, nobody else notices.
func TestFault_32_a_lock_is_held(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), nil)
	token := s.open("locked", doorInput{Hook: "ask", Stay: true})
	s.start("free", doorInput{})
	release := lock(t, url, "locked")
	checkBusy(t, func() reply { return s.answer(token, `1`) })
	checkBusy(t, func() reply { return s.signal("locked", "note", "k", `{"n":1}`) })
	checkAccepted(t, s.signal("free", "note", "k", `{"n":1}`))
	if r := s.call("GET", "/v1/runs/locked", ""); r.status != http.StatusOK {
		t.Errorf("reads wait for the lock: %d", r.status)
	}
	if r := s.call("GET", "/v1/runs/locked/queries/hook", ""); r.status != http.StatusOK {
		t.Errorf("queries wait for the lock: %d", r.status)
	}
	release()
	checkAccepted(t, s.answer(token, `1`))
	checkAccepted(t, s.signal("locked", "note", "k", `{"n":1}`))
}

// 32, C71: a database that is gone is our fault, and the retry after it is back is the first delivery.
func TestC71_the_database_is_down(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	eng := engineOn(t, server.URL(), nil)
	s := serveOn(t, eng, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	admin := adminOf(t, eng, nil)
	admin.want("/readyz", http.StatusOK)

	server.Kill()
	for range 3 {
		checkBusy(t, func() reply { return s.answer(token, `1`) })
		checkBusy(t, func() reply { return s.signal("r", "note", "k", `{"n":1}`) })
		checkBusy(t, func() reply { return s.call("GET", "/v1/runs/r", "") })
		checkBusy(t, func() reply { return s.call("GET", "/v1/runs/r/queries/hook", "") })
		checkBusy(t, func() reply { return s.call("POST", "/v1/runs/r/cancel", "") })
	}
	// What needs no look-up is still said.
	checkProblem(t, s.answer("malformed", `1`), 404, "not-found")
	checkProblem(t, s.answer(token, `{`), 400, "malformed-payload")
	await(t, "the process says that it is not ready", func() bool { return admin.status("/readyz") == 503 })
	admin.want("/livez", http.StatusOK)

	pgtest.Restart(t, server)
	var r reply
	await(t, "the retry is taken", func() bool { r = s.answer(token, `1`); return r.status != 503 })
	if r.status != 202 {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	await(t, "the process is ready again", func() bool { return admin.status("/readyz") == 200 })
}

func TestFault_32_the_database_is_frozen(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	s := serveOn(t, engineOn(t, server.URL(), nil), nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	resume := pgtest.Pause(t, server)
	checkBusy(t, func() reply { return s.answer(token, `1`) })
	checkBusy(t, func() reply { return s.call("GET", "/v1/runs/r", "") })
	resume()
	var r reply
	await(t, "the retry is taken", func() bool { r = s.answer(token, `1`); return r.status != 503 })
	if r.status != 202 {
		t.Errorf("got %d %s", r.status, r.raw)
	}
}

func TestFault_32_the_pool_is_empty(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var pool *pgxpool.Pool
	s := serveOn(t, engineOn(t, url, func(c *engine.Config) { pool = c.Pool }), nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var taken []*pgxpool.Conn
	giveBack := sync.OnceFunc(func() {
		for _, conn := range taken {
			conn.Release()
		}
	})
	defer giveBack()
	for ctx.Err() == nil {
		if conn, err := pool.Acquire(ctx); err == nil {
			taken = append(taken, conn)
		}
	}
	checkBusy(t, func() reply { return s.answer(token, `1`) })
	checkBusy(t, func() reply { return s.call("GET", "/v1/runs/r", "") })
	giveBack()
	var r reply
	await(t, "the retry is taken", func() bool { r = s.answer(token, `1`); return r.status != 503 })
	if r.status != 202 {
		t.Errorf("got %d %s", r.status, r.raw)
	}
}

func TestFault_overload_is_shed(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), func(c *Config) { c.MaxInFlight = 2 })
	s.start("locked", doorInput{})
	s.start("free", doorInput{})
	release := lock(t, url, "locked")
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			r, err := s.try("POST", "/v1/runs/locked/signals/end", `1`, "Idempotency-Key", fmt.Sprint(i))
			if err != nil || r.status != 202 && r.status != 503 {
				t.Errorf("got %d %v", r.status, err)
			}
		})
	}
	await(t, "two are under way", func() bool { return s.gw.inFlight.used.Load() == 2 })
	checkProblem(t, s.call("GET", "/v1/runs/free", ""), 503, "unavailable")
	// The form of a request is judged before the load.
	checkProblem(t, s.call("GET", "/v1/runs/%20", ""), 400, "invalid-argument")
	release()
	group.Wait()
	if r := s.call("GET", "/v1/runs/free", ""); r.status != 200 {
		t.Errorf("got %d", r.status)
	}
}
