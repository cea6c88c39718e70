package gateway

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// A body over the limit is refused while the sender is still writing it. If the connection were closed with unread
// bytes, the kernel would reset it, and many a sender would see a broken connection, and try again, in place of the
// 413. So such a connection is read for a moment before it is closed.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// lingeringListener hands out connections that can linger.
type lingeringListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lingeringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: conn}, nil
}

type lingeringConn struct {
	net.Conn
	lingers atomic.Bool
}

// Close closes the connection, after what is left of a refused body was read or the limits of that are reached.
func (c *lingeringConn) Close() error {
	if c.lingers.Swap(false) {
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_ = c.SetReadDeadline(time.Now().Add(lingerTime))
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}

func lingerOn(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(*lingeringConn); ok {
		c.lingers.Store(true)
	}
}
