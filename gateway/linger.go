package gateway

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

// A body over the limit is refused while the sender is still writing it. If the connection were closed with unread
// bytes, the kernel would reset it, and many a sender would see a broken connection, and try again, in place of the
// 413. So such a connection is read for a moment before it is closed.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// listener is what the server accepts connections from: they can linger, and one address holds so many of them at most.
type listener struct {
	net.Listener
	open    *throttle.Shares[netip.Prefix]
	trusted []netip.Prefix
	refused func()
}

func (g *Gateway) listener(ln net.Listener) net.Listener {
	return &listener{
		Listener: ln, open: throttle.NewShares[netip.Prefix](g.config.Limits.Connections), trusted: g.config.TrustedProxies,
		refused: func() { g.limiter.refused.add(limitConnections) },
	}
}

// Accept implements net.Listener. A connection too many is closed without a word: whoever has so many open does not hear
// it.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := addressOf(conn.RemoteAddr())
		if trusts(l.trusted, peer) {
			return &lingeringConn{Conn: conn, closed: func() {}}, nil
		}
		from := network(peer)
		if l.open.Take(from) {
			return &lingeringConn{Conn: conn, closed: sync.OnceFunc(func() { l.open.Give(from) })}, nil
		}
		l.refused()
		_ = conn.Close()
	}
}

type lingeringConn struct {
	net.Conn
	closed  func() // called at least once
	lingers atomic.Bool
}

// Close closes the connection, after what is left of a refused body was read or the limits of that are reached.
func (c *lingeringConn) Close() error {
	defer c.closed()
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
