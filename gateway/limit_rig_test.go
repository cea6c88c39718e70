package gateway

import (
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/tokens"
)

// testClock is a time that only tests move.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func newTestClock() *testClock { return &testClock{now: time.Now()} }

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// limited serves an engine within limits, by a clock that stands still.
func limited(t *testing.T, eng *engine.Engine, limits Limits, change func(*Config)) (*site, *testClock) {
	t.Helper()
	c := newTestClock()
	s := serveOn(t, eng, func(cfg *Config) {
		cfg.Limits, cfg.Clock = limits, c.Now
		if change != nil {
			change(cfg)
		}
	})
	return s, c
}

// from is the site as a client at another address of this machine sees it.
func (s *site) from(address string) *site {
	s.t.Helper()
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 100,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext,
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	there := *s
	there.client = &http.Client{Transport: transport, Timeout: client.Timeout}
	return &there
}

// checkLimited checks the refusal of a limit.
func checkLimited(t *testing.T, r reply) {
	t.Helper()
	checkProblem(t, r, http.StatusTooManyRequests, "rate-limited")
	if r.text("verdict") != "busy" || r.field("retryable") != true {
		t.Errorf("verdict and retryable: %s", r.raw)
	}
	if after := r.header.Get("Retry-After"); len(after) == 0 || strings.Trim(after, "0") == "" {
		t.Errorf("Retry-After: %q", after)
	}
	if r.header.Get("WWW-Authenticate") != "" {
		t.Error("a challenge is left")
	}
}

// unknownTokens makes tokens as good as any that belong to nothing.
func unknownTokens(t *testing.T) (next func() string) {
	t.Helper()
	keys := testKeys(t)
	var mu sync.Mutex
	var n uint64
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		var nonce tokens.Nonce
		binary.BigEndian.PutUint64(nonce[:], n)
		return keys.Mint(tokens.Binding{Namespace: "default", RunID: "none", HookID: "none"}, nonce).Token.Reveal()
	}
}

// watched has an engine use connections that the Breaker sees.
func watched(t *testing.T, url string, b *pgfault.Breaker) func(*engine.Config) {
	t.Helper()
	settings, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	settings.MaxConns = 10
	settings.ConnConfig.DialFunc = b.Dialer(settings.ConnConfig.DialFunc)
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return func(c *engine.Config) { c.Pool = pool }
}

// statements returns those that were sent while do was under way. What the engine does for itself is among them.
func statements(b *pgfault.Breaker, do func()) []string {
	b.At(1<<30, pgfault.Refuse, "")
	do()
	return b.Clear()
}

// lookUps counts statements that resolve tokens.
func lookUps(statements []string) (n int) {
	for _, sql := range statements {
		if strings.Contains(sql, "name: ResolveTokens") {
			n++
		}
	}
	return n
}
