package pgfault

import "time"

// SetDeadline is how a driver gives up: a statement that is held ends then.
func (c *conn) SetDeadline(t time.Time) error {
	c.expireAt(t)
	if c.lost.Load() {
		return nil // the socket belongs to the fault
	}
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline is SetDeadline for writing.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.expireAt(t)
	if c.lost.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// Close is the client's. A connection that is lost for it is closed by the fault.
func (c *conn) Close() error {
	c.expireAt(time.Unix(1, 0))
	if c.lost.Load() {
		return nil
	}
	return c.Conn.Close()
}

func (c *conn) expireAt(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alarm != nil {
		c.alarm.Stop()
		c.alarm = nil
	}
	select {
	case <-c.expired:
		c.expired = make(chan struct{})
	default:
	}
	expired := c.expired
	switch {
	case t.IsZero():
	case !t.After(time.Now()):
		close(expired)
	default:
		c.alarm = time.AfterFunc(time.Until(t), func() { c.expire(expired) })
	}
}

func (c *conn) expire(expired chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-expired:
	default:
		close(expired)
	}
}
