package gateway

import (
	"net"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"
)

// localHost refuses a request, in dev mode, whose Host is neither loopback nor the public URL's: a page of a stranger
// whose name was made to resolve to this machine reaches the open API with its own name as Host. The target may hold a
// second host (RFC 9112 section 3.2.2); both must pass.
func (g *Gateway) localHost(ctx *fasthttp.RequestCtx) *refusal {
	if !g.config.Dev {
		return nil
	}
	if g.isLocal(string(ctx.Request.Header.Host())) && g.isLocal(string(ctx.URI().Host())) {
		return nil
	}
	return refuse(forbiddenHost)
}

func (g *Gateway) isLocal(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.IsLoopback() {
		return true
	}
	return name != "" && name == strings.ToLower(g.publicHost)
}
