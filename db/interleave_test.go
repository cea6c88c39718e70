package db

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/internal/history"
)

// gate holds a connection before one of its writes, until it is opened.
type gate struct {
	mu     sync.Mutex
	left   int           // writes until the gate; 0: none is held
	held   chan struct{} // closed when a write is held
	opened chan struct{}
}

type gatedConn struct {
	net.Conn
	by *gate
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.by.pass()
	return c.Conn.Write(b)
}

func (g *gate) pass() {
	g.mu.Lock()
	hold := g.left == 1
	if g.left > 0 {
		g.left--
	}
	held, opened := g.held, g.opened
	g.mu.Unlock()
	if hold {
		close(held)
		<-opened
	}
}

// before plans to hold the nth write from now.
func (g *gate) before(n int) (held, opened chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.held, g.opened = n, make(chan struct{}), make(chan struct{})
	return g.held, g.opened
}

func (r *acceptRig) gated(g *gate) *pgxpool.Pool {
	r.t.Helper()
	cfg := r.pool.Config()
	dial := cfg.ConnConfig.DialFunc
	var first atomic.Bool
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil || !first.CompareAndSwap(false, true) { // hints have a connection of their own
			return conn, err
		}
		return &gatedConn{Conn: conn, by: g}, nil
	}
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	if err := pool.Ping(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return pool
}

// C04: the turn that opens a wait and the acceptance of its message, each held before every one of its writes while the
// other one runs as far as it can. Whatever the order, the two find each other.
func TestC04_AWaitAndItsMessageAlwaysMeet(t *testing.T) {
	t.Parallel()
	for _, holdTurn := range []bool{true, false} {
		t.Run(fmt.Sprintf("turn held %v", holdTurn), func(t *testing.T) {
			t.Parallel()
			r := running(t)
			g := &gate{}
			slow := r.open(r.gated(g))
			r.start(slow)
			r.ok(r.startOf("warm")) // so that statements are prepared and the count below is that of one transaction
			if _, err := slow.Advance(t.Context(), by(approval)); err != nil {
				t.Fatal(err)
			}
			r.await(sendTo(slow, t.Context(), r.signal("warm", "s0", "1")))
			for n := 1; ; n++ {
				if n > 40 {
					t.Fatal("a transaction takes too many writes")
				}
				id := fmt.Sprint("r", n)
				r.ok(r.startOf(id))
				held, opened := g.before(n)
				passed := meet(t, r, slow, id, holdTurn, held, opened)
				r.drain(by(approval))
				if v := r.view(id); v.Status != history.Completed || v.Backlog != 0 {
					t.Fatalf("held before write %d: %+v", n, v)
				}
				if passed {
					if n < 3 {
						t.Fatalf("only %d writes were held", n-1)
					}
					return
				}
			}
		})
	}
}

// meet runs the turn and the message, one of them through the gate. It reports that the gate held nothing.
func meet(t *testing.T, r *acceptRig, slow *Store, id string, holdTurn bool, held, opened chan struct{}) bool {
	t.Helper()
	message := r.signal(id, "s", "1")
	var first, second func()
	if holdTurn {
		first = func() { _, _ = slow.Advance(t.Context(), by(approval)) }
		second = func() { r.ok(message) }
	} else {
		first = func() { r.await(sendTo(slow, t.Context(), message)) }
		second = func() { _, _ = r.Advance(t.Context(), by(approval)) }
	}
	done, other := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); first() }()
	select {
	case <-held:
	case <-done:
		close(opened)
		second()
		return true
	}
	go func() { defer close(other); second() }()
	// The other one goes through, or waits for the row: then it has to be let in.
	r.until("through or waiting", func() bool {
		select {
		case <-other:
			return true
		default:
			return r.waiter() > 0
		}
	})
	close(opened)
	<-done
	<-other
	return false
}
