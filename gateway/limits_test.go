package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// few are limits that a test reaches with a few requests.
func few() Limits {
	return Limits{
		Failures: Rate{PerSecond: 1, Burst: 3}, Lookups: Rate{PerSecond: 4, Burst: 8},
		SuspectLookups: Rate{PerSecond: 5, Burst: 10}, Hook: Rate{PerSecond: 1, Burst: 2},
	}
}

func TestLimits_failures_of_an_address(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, newEngine(t), few(), nil)
	fresh := s.open("fresh", doorInput{Hook: "ask", Stay: true})
	for range 3 {
		checkProblem(t, s.answer("malformed", `1`), 404, "not-found")
	}
	for range 5 {
		checkLimited(t, s.answer("malformed", `1`))
	}
	checkLimited(t, s.call("GET", "/nothing", ""))
	checkLimited(t, s.call("POST", "/callbacks/flow/hooks", `1`))
	checkLimited(t, s.call("GET", "/v1/runs/%20", ""))
	checkLimited(t, s.one("POST /v1/runs HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n"))
	checkLimited(t, s.one("BREW /v1/runs HTTP/1.1\r\nHost: a\r\n\r\n"))

	// Nobody else is concerned, nor what is no failure of form.
	checkProblem(t, s.from("127.0.0.2").answer("malformed", `1`), 404, "not-found")
	checkProblem(t, s.call("GET", "/callbacks/flow/hooks/"+fresh, ""), 405, "method-not-allowed")
	checkProblem(t, s.call("POST", "/callbacks/flow/hooks/"+fresh, `1`, "Content-Type", "text/plain"), 415, "unsupported-media-type")

	// Who may call the API goes on, and so does a token that is there.
	checkProblem(t, s.call("GET", "/v1/runs/unknown", ""), 404, "not-found")
	checkAccepted(t, s.answer(fresh, `1`))
	checkProblem(t, s.answer(fresh, `{`), 400, "malformed-payload")

	clock.pass(time.Second)
	checkProblem(t, s.answer("malformed", `1`), 404, "not-found")
	checkLimited(t, s.answer("malformed", `1`))
}

// What an authenticated caller or the holder of a token gets wrong is not held against its neighbours behind one address.
func TestLimits_who_is_known_spends_no_budget_of_its_address(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, newEngine(t), few(), nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	for range 10 {
		checkProblem(t, s.call("GET", "/v1/runs/unknown", ""), 404, "not-found")
		checkProblem(t, s.call("POST", "/v1/runs", "{"), 400, "malformed-payload")
	}
	for range 2 {
		checkProblem(t, s.answer(token, `{`), 400, "malformed-payload")
	}
	if n := s.gw.limiter.failures.Len(); n != 0 {
		t.Errorf("%d addresses have a budget", n)
	}
	checkProblem(t, s.answer("malformed", `1`), 404, "not-found")
}

// A token that was found once, or whose link was handed out here, needs no budget at all.
func TestLimits_known_tokens_need_no_look_up_budget(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	limits := few()
	limits.Hook = Rate{PerSecond: 100, Burst: 100}
	s, clock := limited(t, engineOn(t, url, nil), limits, nil)
	known := s.open("known", doorInput{Hook: "ask", Stay: true})
	late := serveOn(t, engineOn(t, url, nil), nil).open("late", doorInput{Hook: "ask", Stay: true})
	next := unknownTokens(t)
	// An attacker with many addresses spends what there is.
	for i := range 30 {
		s.from(fmt.Sprintf("127.0.1.%d", i+1)).answer(next(), `1`)
	}
	for range 10 {
		s.from("127.0.2.1").answer(next(), `1`)
	}
	checkLimited(t, s.from("127.0.2.2").answer(next(), `1`))

	first := s.answer(known, `1`)
	checkAccepted(t, first)
	checkDuplicate(t, s.answer(known, `1`), first)
	// One that nobody has shown here competes for the next look-up, and needs none after that.
	checkLimited(t, s.answer(late, `1`))
	clock.pass(250 * time.Millisecond)
	first = s.answer(late, `1`)
	checkAccepted(t, first)
	s.from("127.0.2.3").answer(next(), `1`) // spends what it gave back
	checkLimited(t, s.from("127.0.2.4").answer(next(), `1`))
	for range 20 {
		checkDuplicate(t, s.answer(late, `1`), first)
	}
}

// Whoever looks up tokens that are there spends nothing: a burst of first callbacks is not what the budget is for.
func TestLimits_a_look_up_that_finds_something_is_free(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	other := serveOn(t, engineOn(t, url, nil), nil)
	s, _ := limited(t, engineOn(t, url, nil), few(), nil)
	for i := range 20 {
		checkAccepted(t, s.answer(other.open(fmt.Sprint("r", i), doorInput{Hook: "ask", Stay: true}), `1`))
	}
}

// Addresses without budget cannot spend what the others look up with, and one of them cannot spend what they have together.
func TestLimits_suspects_have_look_ups_of_their_own(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	other := serveOn(t, engineOn(t, url, nil), nil)
	s, _ := limited(t, engineOn(t, url, nil), few(), nil)
	next := unknownTokens(t)
	count := func(from *site, n int) map[int]int {
		got := map[int]int{}
		for range n {
			got[from.answer(next(), `1`).status]++
		}
		return got
	}
	if got := count(s.from("127.0.3.1"), 50); got[404] != 3+2 || got[429] != 45 {
		t.Errorf("one address: got %v, want its budget and its part of the look-ups of suspects", got)
	}
	if got := count(s.from("127.0.3.2"), 50); got[404] != 3+2 || got[429] != 45 {
		t.Errorf("another address: got %v", got)
	}
	// Of the 8 look-ups of those with budget, 6 are gone; a first-time token is found from a clean address ...
	for i := range 10 {
		checkAccepted(t, s.answer(other.open(fmt.Sprint("r", i), doorInput{Hook: "ask", Stay: true}), `1`))
	}
	// ... and from one that is suspect, since some of what suspects have is left.
	third := s.from("127.0.3.3")
	for range 4 {
		third.answer("malformed", `1`)
	}
	checkAccepted(t, third.answer(other.open("s", doorInput{Hook: "ask", Stay: true}), `1`))
}

func TestLimits_a_hook(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, newEngine(t), few(), nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	other := s.open("other", doorInput{Hook: "ask", Stay: true})
	first := s.answer(token, `1`)
	checkAccepted(t, first)
	checkDuplicate(t, s.answer(token, `1`), first)
	checkLimited(t, s.answer(token, `1`))
	checkLimited(t, s.call("DELETE", "/callbacks/flow/hooks/"+token, ""))
	checkAccepted(t, s.answer(other, `1`))
	clock.pass(time.Second)
	checkDuplicate(t, s.answer(token, `1`), first)
	checkLimited(t, s.answer(token, `1`))
}

// The first use of a token that is there counts for its hook as the later ones do.
func TestLimits_a_hook_from_its_first_use(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	token := serveOn(t, engineOn(t, url, nil), nil).open("r", doorInput{Hook: "ask", Stay: true})
	s, _ := limited(t, engineOn(t, url, nil), few(), nil)
	checkAccepted(t, s.answer(token, `1`))
	if s.answer(token, `1`).status != 202 {
		t.Error("two at once are allowed")
	}
	checkLimited(t, s.answer(token, `1`))
}

func TestLimits_a_namespace(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, newEngine(t), Limits{Namespace: Rate{PerSecond: 1, Burst: 40}}, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	last := s.call("GET", "/v1/runs/r", "")
	for range 40 {
		if last = s.call("GET", "/v1/runs/r", ""); last.status != 200 {
			break
		}
	}
	checkLimited(t, last)
	if got := last.header.Get("RateLimit-Policy"); got != `"namespace";q=40;w=40` {
		t.Errorf("policy: %q", got)
	}
	if got := last.header.Get("RateLimit"); got != `"namespace";r=0;t=40` {
		t.Errorf("state: %q", got)
	}
	// Callbacks count as well, and hear nothing of what others use.
	r := s.answer(token, `1`)
	checkLimited(t, r)
	checkNoBudgets(t, r)
	clock.pass(time.Second)
	r = s.answer(token, `1`)
	checkAccepted(t, r)
	checkNoBudgets(t, r)
}

func checkNoBudgets(t *testing.T, r reply) {
	t.Helper()
	for name := range r.header {
		if strings.HasPrefix(strings.ToLower(name), "ratelimit") {
			t.Errorf("%s is told to who has no credential", name)
		}
	}
}

// One namespace cannot have all the room; who has none is told when, and not that it is its fault: here a lock is the cause.
// Others notice nothing.
func TestLimits_share_of_a_namespace(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serveOn(t, engineOn(t, url, nil), func(c *Config) { c.MaxInFlight = 32 })
	token := s.open("locked", doorInput{Hook: "ask", Stay: true})
	release := lock(t, url, "locked")
	got := make(chan reply, 8)
	for i := range 8 {
		go func() {
			r, err := s.try("POST", "/v1/runs/locked/signals/end", `1`, "Idempotency-Key", fmt.Sprint(i))
			if err != nil {
				t.Errorf("send: %v", err)
			}
			got <- r
		}()
	}
	await(t, "the share is used", func() bool { return s.gw.limiter.shares.Used("default") == 8 })
	checkProblem(t, s.call("GET", "/v1/runs/locked", ""), 503, "unavailable")
	checkProblem(t, s.answer(token, `1`), 503, "unavailable")
	if !s.gw.limiter.shares.Take("other") {
		t.Error("another namespace has no room")
	}
	s.gw.limiter.shares.Give("other")
	release()
	for range 8 {
		<-got
	}
	await(t, "the share is given back", func() bool { return s.gw.limiter.shares.Len() == 0 })
	checkAccepted(t, s.answer(token, `1`))
}

// Whoever is parked leaves its share to others.
func TestLimits_parked_requests_hold_no_share(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", doorInput{})
	ended := make(chan reply, 1)
	go func() {
		r, err := s.try("GET", "/v1/runs/r?wait=30s", "")
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		ended <- r
	}()
	await(t, "the request is parked", func() bool { return s.gw.waiters.used.Load() == 1 && s.gw.limiter.shares.Len() == 0 })
	s.ends("r", "complete", "completed")
	<-ended
	await(t, "nothing is held", func() bool { return s.gw.limiter.shares.Len() == 0 && s.gw.inFlight.used.Load() == 0 })
}

func TestLimits_what_is_given_to_the_engine(t *testing.T) {
	t.Parallel()
	s, clock := limited(t, newEngine(t), Limits{Requests: Rate{PerSecond: 1, Burst: 50}}, nil)
	token := s.open("r", doorInput{Hook: "ask", Stay: true})
	for range 200 { // junk takes nothing of it
		s.answer("malformed", `1`)
	}
	var r reply
	for range 51 {
		if r = s.answer(token, `1`); r.status != 202 {
			break
		}
	}
	checkProblem(t, r, 503, "unavailable")
	clock.pass(time.Second)
	if r = s.answer(token, `1`); r.status != 202 {
		t.Errorf("got %d", r.status)
	}
	checkProblem(t, s.call("GET", "/v1/runs/r", ""), 503, "unavailable")
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"203.0.113.9":          "203.0.113.9/32",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::":       "2001:db8:1:2::/64",
		"::1":                  "::/64",
	} {
		if got := network(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
	for addr, want := range map[string]string{"203.0.113.9": "203.0.113.9/32", "2001:db8:1:2::1": "2001:db8:1::/48"} {
		if got := siteOf(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("site of %s: got %s, want %s", addr, got, want)
		}
	}
	if got := network(netip.Addr{}); got.IsValid() {
		t.Errorf("no address: got %s", got)
	}
}

func TestRetryAfter_is_never_zero(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		wait   time.Duration
		chance float64
		want   int
	}{
		{0, 0, 1},
		{0, 0.999, 1},
		{time.Nanosecond, 0, 1},
		{999 * time.Millisecond, 0, 1},
		{time.Second, 0.001, 2},
		{time.Second, 0, 1},
		{1001 * time.Millisecond, 0, 2},
		{10 * time.Second, 0, 10},
		{10 * time.Second, 0.999, 15},
		{-time.Second, 0, 1},
	} {
		l := &limiter{chance: func() float64 { return tc.chance }}
		if got := l.retryAfter(tc.wait); got != tc.want {
			t.Errorf("%s with chance %v: got %d, want %d", tc.wait, tc.chance, got, tc.want)
		}
	}
}

func TestLimits_defaults(t *testing.T) {
	t.Parallel()
	if got := (Limits{}).withDefaults(); got != DefaultLimits() {
		t.Errorf("got %+v", got)
	}
	set := Limits{Hook: Rate{PerSecond: 3}, Failures: Rate{Burst: 7}, NamespaceShare: 400}
	got := set.withDefaults()
	if got.Hook != (Rate{PerSecond: 3, Burst: 256}) || got.Failures != (Rate{PerSecond: 1, Burst: 7}) || got.NamespaceShare != 100 {
		t.Errorf("got %+v", got)
	}
	for inFlight, want := range map[int]int{1024: 256, 32: 8, 16: 8, 4: 4} {
		if got := DefaultLimits().share(inFlight); got != want {
			t.Errorf("share of %d: got %d, want %d", inFlight, got, want)
		}
	}
}
