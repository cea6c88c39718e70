package gateway

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
)

// bareLimiter is a limiter, and a gateway around it that only counts, by a clock that stands still.
func bareLimiter(limits Limits) (*Gateway, *testClock) {
	clock := newTestClock()
	cfg := Config{Limits: limits, Clock: clock.Now}.withDefaults()
	return &Gateway{config: cfg, limiter: newLimiter(cfg, func() float64 { return 0 })}, clock
}

// answered counts an answer of this status to a call.
func (g *Gateway) answered(k *call, status int) int {
	var res fasthttp.Response
	res.SetStatusCode(status)
	g.charge(&res, k)
	return res.StatusCode()
}

// A site that has spent what it may leaves no more networks behind: they would take the room of others.
func TestLimits_a_site_leaves_few_networks(t *testing.T) {
	t.Parallel()
	g, _ := bareLimiter(few())
	for i := range 10 * siteNetworks {
		g.answered(&call{peer: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", i))}, 400)
	}
	if n, most := g.limiter.failures.Len(), 3*siteNetworks; n > most {
		t.Errorf("one site has %d networks remembered, want at most %d", n, most)
	}
	if got := g.answered(&call{peer: netip.MustParseAddr("2001:db8:2::1")}, 400); got != 400 {
		t.Errorf("another site got %d", got)
	}
}
