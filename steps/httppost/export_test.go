package httppost

import "net/netip"

// Refusal is the rule for an address that nothing was configured for.
var Refusal = refusal

// RetryPause reads Retry-After.
var RetryPause = retryAfter

// DecodeInput reads an input.
var DecodeInput = decodeInput

// OnConnect is told of every address that p is about to connect to; its error keeps p from it.
func OnConnect(p *Poster, f func(netip.AddrPort) error) { p.dialer.connecting = f }
