package pgfault

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// drainTime bounds how long a lost connection waits for the server to end the session.
const drainTime = 10 * time.Second

// conn is a connection whose client writes statements.
type conn struct {
	net.Conn
	breaker  *Breaker
	prepared map[string]string // statement name to text
	portals  map[string]string // portal name to text
	lost     atomic.Bool       // for the client

	mu      sync.Mutex
	expired chan struct{} // closed when the write deadline has passed
	alarm   *time.Timer
}

// Read is the server's side; a lost connection has none.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// Write sends what the client wrote, with the fault of a statement in it.
func (c *conn) Write(b []byte) (int, error) {
	if c.lost.Load() {
		return 0, io.ErrClosedPipe
	}
	all, ok := messages(b)
	switch {
	case cancels(b):
		_ = c.Conn.Close()
		return len(b), nil
	case !ok:
		return c.Conn.Write(b)
	}
	at, fault := c.find(all, "")
	if fault == nil {
		return c.Conn.Write(b)
	}
	if err := c.meet(fault, all, at); err != nil {
		return 0, err
	}
	return len(b), nil
}

// place is where a statement is among messages: from its first one, which may be its Parse or Bind, to the one that
// has it done.
type place struct{ from, to int }

// find returns the first statement that meets a fault, and its place. sent is the last statement that went to the server
// before these messages in the same write.
func (c *conn) find(all []message, sent string) (at place, f *Fault) {
	before := sent
	for i, m := range all {
		var sql string
		switch m.kind() {
		case typeParse:
			s := m.texts(2)
			c.prepared[s[0]] = s[1]
			continue
		case typeBind:
			s := m.texts(2)
			sent = c.prepared[s[1]]
			c.portals[s[0]] = sent
			continue
		case typeSync:
			at.from = i + 1
			continue
		case typeQuery:
			sql = m.texts(1)[0]
		case typeExecute:
			sql = c.portals[m.texts(1)[0]]
		default:
			continue
		}
		at.to = i
		if f := c.breaker.next(sql); f != nil {
			f.meet(sql, sent, before)
			return at, f
		}
		sent, before, at.from = sql, sql, i+1
	}
	return place{}, nil
}

func (c *conn) meet(f *Fault, all []message, at place) error {
	switch f.kind {
	case Refuse:
		defer close(f.done)
		all[at.to] = refusal(all[at.to], f.state)
		return c.send(all)
	case Hold:
		return c.holdBack(f, all, at.to, at.to)
	case HoldBind:
		return c.holdBack(f, all, at.from, at.to)
	case LoseBefore:
		defer close(f.done)
		return c.lose(all[:at.to])
	case LoseAfter:
		defer close(f.done)
		return c.lose(all[:at.to+1])
	case Detach:
		return c.detach(f, all, at.to)
	}
	return c.send(all)
}

// holdBack sends what comes before a message, waits, and sends that one, the rest of its statement and what follows.
func (c *conn) holdBack(f *Fault, all []message, from, to int) error {
	defer close(f.done)
	if err := c.send(all[:from]); err != nil {
		return err
	}
	if err := c.hold(f); err != nil {
		c.lost.Store(true)
		_ = c.Conn.Close()
		return err
	}
	if err := c.send(all[from : to+1]); err != nil {
		return err
	}
	// What follows is looked at again, as a fault planned meanwhile may be in it.
	rest := all[to+1:]
	if at, next := c.find(rest, f.sql); next != nil {
		return c.meet(next, rest, at)
	}
	return c.send(rest)
}

// hold waits for the release, or for the client to give up.
func (c *conn) hold(f *Fault) error {
	c.mu.Lock()
	expired := c.expired
	c.mu.Unlock()
	select {
	case <-f.released:
		return nil
	case <-expired:
		return os.ErrDeadlineExceeded
	}
}

// lose sends these messages, waits until the server has done them and ended the session, and loses the connection.
func (c *conn) lose(these []message) error {
	c.lost.Store(true)
	defer func() { _ = c.Conn.Close() }()
	if err := c.send(these); err != nil {
		return err
	}
	c.finish()
	return io.ErrUnexpectedEOF
}

// detach loses the connection for the client. The server gets the statement when the fault is released.
func (c *conn) detach(f *Fault, all []message, at int) error {
	c.lost.Store(true)
	if err := c.send(all[:at]); err != nil {
		close(f.done)
		c.breaker.sockets.Done()
		_ = c.Conn.Close()
		return err
	}
	last := append(message{}, all[at]...) // the driver uses its buffer again
	go func() {
		defer c.breaker.sockets.Done()
		defer close(f.done)
		<-f.released
		if c.send([]message{last}) == nil {
			c.finish()
		}
		_ = c.Conn.Close()
	}()
	return io.ErrUnexpectedEOF
}

// finish tells the server that nothing more comes, and reads until it ends the session.
func (c *conn) finish() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.Conn.SetDeadline(time.Now().Add(drainTime))
	_, _ = io.Copy(io.Discard, c.Conn)
}

func (c *conn) send(all []message) error {
	var b []byte
	for _, m := range all {
		b = append(b, m...)
	}
	if len(b) == 0 {
		return nil
	}
	_, err := c.Conn.Write(b)
	return err
}
