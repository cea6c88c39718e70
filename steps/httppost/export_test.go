package httppost

import (
	"context"
	"net/netip"
)

// Refusal is the rule for an address that nothing was configured for.
var Refusal = refusal

// RetryPause reads Retry-After.
var RetryPause = retryAfter

// DecodeInput reads an input.
var DecodeInput = decodeInput

// OnConnect is told of every address that p is about to connect to; its error keeps p from it.
func OnConnect(p *Poster, f func(netip.AddrPort) error) { p.dialer.connecting = f }

// ConnectTo connects to an address for a host, past the look-up of its name.
func ConnectTo(ctx context.Context, p *Poster, host, address string) error {
	conn, err := p.dialer.connect(ctx, "tcp", host, address, 1)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// HostHeader is the header Host for a URL.
func HostHeader(p *Poster, text string) string {
	u, _ := p.targets.parse(text)
	return hostHeader(u)
}
