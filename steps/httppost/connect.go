package httppost

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
)

// connect makes the connection of one attempt, in the attempt's own goroutine and time: a transport that dials for itself
// would go on after the attempt has ended.
func (p *Poster) connect(ctx context.Context, target *url.URL) (net.Conn, error) {
	plain, err := p.dialer.dial(ctx, "tcp", target.Host)
	if err != nil || target.Scheme == "http" {
		return plain, err
	}
	config := p.tls.Clone()
	config.ServerName = target.Hostname()
	secure := tls.Client(plain, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, &handshakeError{err}
	}
	return secure, nil
}

// handshakeError marks an error of TLS.
type handshakeError struct{ error }

// Unwrap returns the error that was marked.
func (e *handshakeError) Unwrap() error { return e.error }

var errUsed = errors.New("the connection of this attempt is used")

// transport speaks HTTP/1.1 over one connection that is there, for one request: nothing idles, nothing is sent again behind
// the step's back, and proxies of the environment, which would connect unchecked, play no part.
func transport(conn net.Conn) *http.Transport {
	var used atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errUsed
		}
		return conn, nil
	}
	return &http.Transport{
		DialContext: dial, DialTLSContext: dial,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxResponseHeader,
	}
}
