package gateway

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flowgate-go/flowgate/engine"
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

// An address that has many look-ups under way at once has them all admitted before the first is found to be in vain. It owes
// for them, so it cannot spend again and again what all others look up with.
func TestLimits_look_ups_at_once_are_owed(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"203.0.113.9", "2001:db8:1:2::3"} {
		limits := Limits{Failures: Rate{PerSecond: 1, Burst: 3}, Lookups: Rate{PerSecond: 100, Burst: 100}}
		g, clock := bareLimiter(limits)
		next, peer := unknownTokens(t), netip.MustParseAddr(address)
		admitted := func() (n int) { // of fifty at once
			var visits []*visit
			for range 50 {
				k := &call{peer: peer}
				v, err := g.limiter.visit(t.Context(), k, next())
				if err == nil && v.onTrust {
					n++
				}
				visits = append(visits, v)
				if err != nil {
					v.end(err)
				}
			}
			for _, v := range visits {
				if len(v.held) > 0 {
					v.end(engine.ErrTokenNotFound)
					if got := g.answered(v.call, 404); got != 404 {
						t.Errorf("%s: a look-up that was paid for is answered %d", address, got)
					}
				}
			}
			return n
		}
		if n := admitted(); n != 50 {
			t.Fatalf("%s: %d were admitted at first", address, n)
		}
		again := 0
		for range 25 {
			clock.pass(time.Second)
			again += admitted()
		}
		if again != 0 {
			t.Errorf("%s: %d more were admitted in 25 s, which is as if it owed nothing", address, again)
		}
		clock.pass(time.Minute) // what is owed has a bound
		if n := admitted(); n != 50 {
			t.Errorf("%s: %d are admitted when all is paid", address, n)
		}
	}
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
