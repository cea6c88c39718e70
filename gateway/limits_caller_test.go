package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A caller is told where it stands, and its limit is its own.
func TestLimits_a_principal(t *testing.T) {
	t.Parallel()
	var wait atomic.Int64
	clock := newTestClock()
	s := loaded(t, &wait, func(g *Gateway) {
		cfg := g.config
		cfg.Limits, cfg.Clock = Limits{Principal: Rate{PerSecond: 2, Burst: 4}}.withDefaults(), clock.Now
		g.limiter = newLimiter(cfg, func() float64 { return 0 })
		g.authenticate = func(c *fiber.Ctx, _ *call) (access.Principal, error) {
			return access.Principal{Namespace: spec.DefaultNamespace, Actor: c.Get("X-Test-Actor"), Scopes: access.AllScopes()}, nil
		}
	})
	ask := func(actor string) reply { return s.call("GET", "/v1/runs", "", "X-Test-Actor", actor) }
	for left := 3; left >= 0; left-- {
		r := ask("ada")
		want := fmt.Sprintf(`"principal";r=%d;t=%d`, left, (5-left)/2)
		if r.status != 200 || r.header.Get("RateLimit") != want || r.header.Get("RateLimit-Policy") != `"principal";q=4;w=2` {
			t.Errorf("got %d %q %q, want %q", r.status, r.header.Get("RateLimit"), r.header.Get("RateLimit-Policy"), want)
		}
	}
	r := ask("ada")
	checkLimited(t, r)
	if r.header.Get("RateLimit") != `"principal";r=0;t=2` || r.header.Get("Retry-After") != "1" {
		t.Errorf("got %v", r.header)
	}
	if r = ask("grace"); r.status != 200 {
		t.Errorf("another caller got %d", r.status)
	}
	for range 10 { // nobody in particular
		if r = ask(""); r.status != 200 {
			t.Errorf("got %d", r.status)
		}
		checkNoBudgets(t, r)
	}
	clock.pass(500 * time.Millisecond)
	if r = ask("ada"); r.status != 200 {
		t.Errorf("after the wait: got %d", r.status)
	}
}

// A source has a limit of its own, which what is not verified does not count for, and a verified event that is refused is
// taken later.
func TestLimits_a_source(t *testing.T) {
	t.Parallel()
	events := newEventSite(t, shopSources)
	events.order("o")
	s, clock := limited(t, events.gw.engine, Limits{Source: Rate{PerSecond: 1, Burst: 2}}, func(c *Config) {
		c.Ingress, c.Inbox = events.receiver, events.box
	})
	there := *events
	there.site = s
	body := func(id string) string { return fmt.Sprintf(`{"run":"o","id":%q,"type":"paid","data":1}`, id) }
	for range 10 {
		checkProblem(t, s.call("POST", "/ingress/shop", body("forged"), "X-Shop-Signature", "s=00"), 401, "signature-invalid")
	}
	for _, id := range []string{"1", "2"} {
		there.wantEvent("event "+id, there.event("shop", body(id)), 202, "accepted", "")
	}
	r := there.event("shop", body("3"))
	checkLimited(t, r)
	checkNoBudgets(t, r)
	there.wantEvent("another source", there.event("impatient", body("4")), 200, "accepted", "")
	clock.pass(time.Second)
	there.wantEvent("later", there.event("shop", body("3")), 202, "accepted", "")
	if ids := there.signalsOf("o"); len(ids) != 4 {
		t.Errorf("signals %q", ids)
	}
}

// Who holds an API key has it looked up at every request, and cannot have that done without a bound.
func TestLimits_look_ups_of_an_API_key(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	cfg := Config{Limits: Limits{Principal: Rate{PerSecond: 1, Burst: 2}}, Clock: clock.Now}.withDefaults()
	l := newLimiter(cfg, func() float64 { return 0 })
	l.remember("key", "default")
	use := func() error {
		v, err := l.visitKey(t.Context(), &call{}, "key")
		v.end(err)
		return err
	}
	for range 4 {
		if err := use(); err != nil {
			t.Fatal(err)
		}
	}
	if r, ok := errors.AsType[*refusal](use()); !ok || r.problem != rateLimited || r.retry != 1 {
		t.Errorf("got %v", r)
	}
	clock.pass(time.Second)
	if err := use(); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

// scriptedQuota answers as the test says.
type scriptedQuota struct {
	wait  atomic.Int64
	fails atomic.Bool
	asked atomic.Int64
}

func (q *scriptedQuota) Take(_ context.Context, ns spec.Namespace) (time.Duration, error) {
	q.asked.Add(1)
	if ns != spec.DefaultNamespace || q.fails.Load() {
		return 0, errors.New("the backend is gone")
	}
	return time.Duration(q.wait.Load()), nil
}

// What the exact quota refuses is 429 for all. When it cannot tell, callbacks are served and the API is not, and it is not
// asked again at once.
func TestLimits_a_quota(t *testing.T) {
	t.Parallel()
	var q scriptedQuota
	s, clock := limited(t, newEngine(t), Limits{}, func(c *Config) { c.Quota = &q })
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	other := s.open("other", doorInput{Hook: "ask", Stay: true})
	q.wait.Store(int64(7 * time.Second))
	checkLimited(t, s.call("GET", "/v1/runs/r", ""))
	r := s.answer(token, `1`)
	checkLimited(t, r)
	if after := r.header.Get("Retry-After"); len(after) > 2 || after < "7" && len(after) == 1 {
		t.Errorf("Retry-After: %s", after)
	}
	q.wait.Store(0)
	checkAccepted(t, s.answer(token, `1`))

	q.fails.Store(true)
	before := q.asked.Load()
	for range 5 {
		checkProblem(t, s.call("GET", "/v1/runs/r", ""), 503, "unavailable")
	}
	checkAccepted(t, s.answer(other, `1`))
	if n := q.asked.Load() - before; n != 1 {
		t.Errorf("a backend that failed was asked %d times", n)
	}
	q.fails.Store(false)
	clock.pass(quotaPause)
	if r := s.call("GET", "/v1/runs/r", ""); r.status != 200 {
		t.Errorf("got %d once the backend is back", r.status)
	}
}

// A database that is down is never said to be the caller's fault, and takes no budget of those who ask.
func TestLimits_trouble_costs_no_budget(t *testing.T) {
	t.Parallel()
	server := pgtest.Dedicated(t, db.Migrate)
	s, _ := limited(t, engineOn(t, server.URL(), nil), few(), nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	server.Kill()
	next := unknownTokens(t)
	for range 20 {
		checkBusy(t, func() reply { return s.answer(next(), `1`) })
		checkBusy(t, func() reply { return s.answer(token, `1`) })
	}
	pgtest.Restart(t, server)
	var r reply
	await(t, "the database is back", func() bool { r = s.answer(next(), `1`); return r.status != 503 })
	checkProblem(t, r, 404, "not-found")
	checkAccepted(t, s.answer(token, `1`))
}
