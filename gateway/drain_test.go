package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// 63: requests under way when the end is announced are answered and durable, and Serve returns in time.
func TestDrain_63_requests_under_way_are_finished(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), nil)
	s.start("r", doorInput{})
	release := lock(t, url, "r")
	const n = 20
	replies := make(chan reply, n)
	for i := range n {
		go func() {
			r, err := s.try("POST", "/v1/runs/r/signals/any%2Fthing", fmt.Sprint(i), "Idempotency-Key", fmt.Sprint("k", i))
			if err != nil {
				t.Errorf("send: %v", err)
			}
			replies <- r
		}()
	}
	await(t, "all are under way", func() bool { return s.gw.inFlight.used.Load() == n })
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- s.stop() }()
	await(t, "the drain began", s.gw.Draining)
	release()
	taken := 0
	for range n {
		r := <-replies
		if r.status == 202 {
			taken++
			if !r.closed {
				t.Error("the connection of an answer given while draining stays open")
			}
		}
	}
	if taken != n {
		t.Errorf("%d of %d were taken", taken, n)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the drain took %s", took)
	}
	if conn, err := net.Dial("tcp", s.addr); err == nil {
		_ = conn.Close()
		t.Error("a connection was accepted after the end")
	}
	after := serveOn(t, engineOn(t, url, nil), nil)
	for i := range n {
		if r := after.signal("r", "any%2Fthing", fmt.Sprint("k", i), fmt.Sprint(i)); r.text("verdict") != "duplicate" {
			t.Errorf("k%d is lost: %d %s", i, r.status, r.raw)
		}
	}
}

// A connection that outlives the drain deadline is told to go elsewhere.
func TestDrain_after_the_deadline_everything_is_refused(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.DrainTimeout = 200 * time.Millisecond })
	conn := s.dial()
	request := post(junkPath, "Content-Length: 4", "", "null")
	if _, err := io.WriteString(conn, request[:20]); err != nil {
		t.Fatal(err)
	}
	await(t, "the request began", func() bool { return s.gw.fiber.Server().GetOpenConnectionsCount() == 1 })
	if err := s.stop(); !errors.Is(err, ErrDrainTimeout) {
		t.Fatalf("got %v", err)
	}
	if _, err := io.WriteString(conn, request[20:]); err != nil {
		t.Fatal(err)
	}
	replies := readReplies(t, conn, false)
	if len(replies) != 1 || !replies[0].closed {
		t.Fatalf("got %d responses", len(replies))
	}
	checkProblem(t, replies[0], 503, "unavailable")
}

func TestDrain_parked_requests_are_answered_at_once(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	s := serveOn(t, eng, nil)
	s.start("r", doorInput{})
	parked := make(chan reply, 1)
	go func() {
		r, err := s.try("GET", "/v1/runs/r?wait=60s", "")
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		parked <- r
	}()
	await(t, "the request is parked", func() bool { return s.gw.waiters.used.Load() == 1 })
	admin := adminOf(t, eng, s.gw.Draining)
	admin.want("/readyz", 200)
	began := time.Now()
	s.gw.Drain()
	if r := <-parked; r.status != 200 || r.text("status") != string(engine.StatusRunning) {
		t.Errorf("got %d %s", r.status, r.raw)
	}
	// Still served, without waiting and with the end of the connection announced.
	r := s.call("GET", "/v1/runs/r?wait=60s", "")
	if r.status != 200 || !r.closed {
		t.Errorf("got %d, connection closed: %v", r.status, r.closed)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("answered after %s", took)
	}
	admin.want("/readyz", 503)
	admin.want("/livez", 200)
}

// A context that ended before the server was up ends it all the same.
func TestDrain_before_the_first_request(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
