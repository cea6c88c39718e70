package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// spoofs are headers in which a client may claim another address; %d makes each claim another one.
var spoofs = []string{
	"X-Forwarded-For: 198.51.100.%d", "X-Forwarded-For: 198.51.100.%d, 203.0.113.7", "x-forwarded-for:198.51.100.%d",
	"X-Forwarded-For: 2001:db8::%d", "X-Forwarded-For: [2001:db8::%d]:80", "X-Forwarded-For: 198.51.100.%d:443",
	"X-Forwarded-For: 127.0.0.%d", "X-Forwarded-For: ::ffff:198.51.100.%d", "X-Forwarded-For: junk%d",
	"X-Forwarded-For: \r\nX-Forwarded-For: 198.51.100.%d", "X-Forwarded-For: 198.51.100.%d\r\nX-Forwarded-For: 10.0.0.1",
	"X-Real-IP: 198.51.100.%d", "Forwarded: for=198.51.100.%d", "Forwarded: for=\"[2001:db8::%d]\"", "True-Client-IP: 198.51.100.%d",
	"CF-Connecting-IP: 198.51.100.%d", "X-Client-IP: 198.51.100.%d", "X-Cluster-Client-IP: 198.51.100.%d",
	"X-Forwarded-Host: 198.51.100.%d", "Via: 1.1 198.51.100.%d", "X-Forwarded: 198.51.100.%d", "Host: 198.51.100.%d",
}

func spoofed(header string, i int) string {
	if header = fmt.Sprintf(header, i); !strings.HasPrefix(header, "Host:") {
		header = "Host: gate\r\n" + header
	}
	return "POST /callbacks/flow/hooks/malformed HTTP/1.1\r\n" + header + "\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1"
}

// 24: whatever a client claims, it is counted by the address it has.
func TestLimits_24_spoofed_addresses(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, bareEngine(t, pgtest.URL(t), nil), few(), nil)
	for _, header := range spoofs {
		for i := range 3 {
			checkProblem(t, s.one(spoofed(header, i)), 404, "not-found")
		}
		checkLimited(t, s.one(spoofed(header, 100)))
		clock.pass(time.Minute)
	}
	if n := s.gw.limiter.failures.Len(); n != 1 {
		t.Errorf("%d addresses are remembered", n)
	}
}

// Behind a proxy that is trusted a client is what the proxy says, and nothing that the client said before.
func TestLimits_24_behind_a_trusted_proxy(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, bareEngine(t, pgtest.URL(t), nil), few(), func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	ask := func(forwarded string) reply {
		return s.call("POST", "/callbacks/flow/hooks/malformed", `1`, "X-Forwarded-For", forwarded)
	}
	for name, claim := range map[string]string{
		"IPv4": "198.51.100.%d, 203.0.113.7", "over two proxies": "198.51.100.%d, 203.0.113.8, 10.1.1.1",
		"a claim of a proxy": "10.0.0.%d, 203.0.113.9", "junk": "junk%d, 203.0.113.10", "one /64": "2001:db8:0:1::%d",
	} {
		for i := range 3 {
			checkProblem(t, ask(fmt.Sprintf(claim, i+1)), 404, "not-found")
		}
		if r := ask(fmt.Sprintf(claim, 77)); r.status != 429 {
			t.Errorf("%s: got %d, want 429", name, r.status)
		}
	}
	checkProblem(t, ask("2001:db8:0:2::1"), 404, "not-found")
	checkProblem(t, ask("203.0.113.11"), 404, "not-found")
	clock.pass(time.Minute)
	// A stranger is believed nothing.
	stranger := s.from("127.0.0.9")
	for i := range 4 {
		r := stranger.call("POST", "/callbacks/flow/hooks/malformed", `1`, "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
		if want := 404 + 25*(i/3); r.status != want {
			t.Errorf("the stranger's request %d: got %d, want %d", i, r.status, want)
		}
	}
}

// Whoever has an IPv6 /48 has 65,536 networks, and the failures and look-ups of a few.
func TestLimits_a_site(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	token := serveOn(t, engineOn(t, url, nil), nil).open("r", doorInput{Hook: "ask", Stay: true})
	limits := few()
	limits.Lookups = Rate{PerSecond: 1, Burst: 100}
	s, _ := limited(t, engineOn(t, url, nil), limits, func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	next := unknownTokens(t)
	from := func(address, token string) reply {
		return s.call("POST", "/callbacks/flow/hooks/"+token, `1`, "X-Forwarded-For", address)
	}
	for i := range 3 * siteNetworks {
		checkProblem(t, from(fmt.Sprintf("2001:db8:1:%x::1", i), next()), 404, "not-found")
	}
	checkLimited(t, from("2001:db8:1:ffff::1", "malformed"))
	unknown := 0
	for i := range 10 { // as suspects they have the look-ups of one
		if r := from(fmt.Sprintf("2001:db8:1:%x::2", 0x1000+i), next()); r.status == 404 {
			unknown++
		}
	}
	if unknown != 2 {
		t.Errorf("%d look-ups, want 2", unknown)
	}
	checkProblem(t, from("2001:db8:2:ffff::1", "malformed"), 404, "not-found")
	checkAccepted(t, from("2001:db8:2:ffff::1", token))
}

// hangUp waits until the server closes a connection on which nothing was said.
func hangUp(t *testing.T, conn net.Conn) bool {
	t.Helper()
	_, err := conn.Read(make([]byte, 1))
	timeout, ok := errors.AsType[net.Error](err)
	return err != nil && (!ok || !timeout.Timeout())
}

// One address cannot hold all connections; its next one is closed, until it has closed one itself.
func TestLimits_connections_of_an_address(t *testing.T) {
	t.Parallel()
	s := serveOn(t, bareEngine(t, pgtest.URL(t), nil), func(c *Config) { c.Limits.Connections = 4 })
	var open []net.Conn
	for range 4 {
		open = append(open, s.dial())
	}
	await(t, "four are open", func() bool { return s.gw.fiber.Server().GetOpenConnectionsCount() == 4 })
	if !hangUp(t, s.dial()) {
		t.Error("a fifth connection is open")
	}
	if got := s.gw.LimitStats().Refused["connections"]; got != 1 {
		t.Errorf("%d were counted as refused", got)
	}
	checkProblem(t, s.from("127.0.0.2").call("POST", junkPath, `1`), 404, "not-found")
	_ = open[0].Close()
	await(t, "there is room again", func() bool {
		r, err := s.try("POST", junkPath, `1`)
		return err == nil && r.status == 404
	})
}

// The connections of a trusted proxy are those of many, and have no bound.
func TestLimits_connections_of_a_proxy(t *testing.T) {
	t.Parallel()
	s := serveOn(t, bareEngine(t, pgtest.URL(t), nil), func(c *Config) {
		c.Limits.Connections = 2
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	for range 20 {
		s.dial()
	}
	await(t, "all are open", func() bool { return s.gw.fiber.Server().GetOpenConnectionsCount() == 20 })
}

// loaded serves an engine whose messages wait as long as the test says.
func loaded(t *testing.T, wait *atomic.Int64, change func(*Gateway)) *site {
	t.Helper()
	logs := &logBuffer{}
	gw, err := New(Config{Engine: newEngine(t), Logger: zerolog.New(logs), PublicURL: publicURL, OpenAPI: true, MaxInFlight: 10})
	if err != nil {
		t.Fatal(err)
	}
	gw.overload.wait = func() time.Duration { return time.Duration(wait.Load()) }
	if change != nil {
		change(gw)
	}
	return listen(t, gw, logs)
}

// When messages wait too long, the API is sent away first, and callbacks from twice as long a wait; both until it is half.
func TestLimits_overload_sheds_callbacks_last(t *testing.T) {
	t.Parallel()
	var wait atomic.Int64
	s := loaded(t, &wait, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	for i, step := range []struct {
		wait           time.Duration
		api, callbacks bool // served
	}{
		{time.Second, true, true},
		{time.Second + 1, false, true},
		{time.Second / 2, false, true},
		{time.Second/2 - 1, true, true},
		{2*time.Second + 1, false, false},
		{time.Second, false, false},
		{time.Second - 1, false, true},
		{0, true, true},
	} {
		wait.Store(int64(step.wait))
		for path, served := range map[string]bool{"/v1/runs/r": step.api, "/callbacks/flow/hooks/" + token: step.callbacks} {
			method := map[bool]string{true: "POST", false: "GET"}[strings.HasPrefix(path, "/callbacks")]
			r := s.call(method, path, map[string]string{"POST": "1"}[method])
			if !served {
				checkProblem(t, r, 503, "unavailable")
			} else if r.status/100 != 2 {
				t.Errorf("step %d: %s got %d", i, method, r.status)
			}
		}
	}
}

// The last places are for callbacks.
func TestLimits_room_for_callbacks(t *testing.T) {
	t.Parallel()
	var wait atomic.Int64
	s := loaded(t, &wait, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	await(t, "nothing is under way", func() bool { return s.gw.inFlight.used.Load() == 0 })
	s.gw.inFlight.used.Add(9)
	checkProblem(t, s.call("GET", "/v1/runs/r", ""), 503, "unavailable")
	checkAccepted(t, s.answer(token, `1`))
	s.gw.inFlight.used.Add(1)
	checkProblem(t, s.answer(token, `1`), 503, "unavailable")
	s.gw.inFlight.used.Add(-10)
	if r := s.call("GET", "/v1/runs/r", ""); r.status != 200 {
		t.Errorf("got %d", r.status)
	}
}
