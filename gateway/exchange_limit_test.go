package gateway

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// limitedGuarded serves an API that needs credentials within limits; breaker sees what is looked up for them.
func limitedGuarded(t *testing.T, limits Limits) (*site, *credentials, *pgfault.Breaker) {
	t.Helper()
	url := pgtest.URL(t)
	var breaker pgfault.Breaker
	var connected engine.Config
	watched(t, url, &breaker)(&connected)
	c := newCredentialsOn(t, connected.Pool)
	s, _ := limited(t, engineOn(t, url, nil), limits, func(cfg *Config) { cfg.OpenAPI, cfg.Access = false, c.verifier })
	return s, c, &breaker
}

// A token that was exchanged for an API key has it looked up at every request, and cannot have that done without a bound:
// neither while the key is good nor after it was revoked.
func TestLimits_look_ups_for_exchanged_tokens(t *testing.T) {
	t.Parallel()
	limits := few()
	limits.Principal = Rate{PerSecond: 1, Burst: 5}
	s, c, breaker := limitedGuarded(t, limits)
	_, key := c.key("default", nil)
	gone, goneKey := c.key("default", nil)
	good, bad := c.exchanged(key, ""), c.exchanged(goneKey, "")
	if _, err := c.keys.Revoke(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what, token  string
		status, most int
	}{ // in this order: who guessed before is looked up for no more
		{"a good one", good, 200, 2 * limits.Principal.Burst},
		{"one whose key is revoked", bad, 401, limits.Failures.Burst + limits.withDefaults().suspect().Burst},
	} {
		got := map[int]int{}
		seen := statements(breaker, func() {
			for range 50 {
				got[s.as(tc.token).call("GET", "/v1/runs", "").status]++
			}
		})
		looked := 0
		for _, sql := range seen {
			if strings.Contains(sql, "name: ReadAPIKeys") {
				looked++
			}
		}
		if looked == 0 || looked > tc.most+1 { // and the first, which was not known
			t.Errorf("%s: %d look-ups, want at most %d", tc.what, looked, tc.most+1)
		}
		if got[tc.status] == 0 || got[tc.status]+got[429] != 50 {
			t.Errorf("%s: answers %v", tc.what, got)
		}
	}
}

// Who has a good credential and asks for more than it may give is a caller like any other: its own limit counts, and not the
// budget of its address.
func TestLimits_refused_exchanges(t *testing.T) {
	t.Parallel()
	limits := few()
	limits.Principal = Rate{PerSecond: 1, Burst: 6}
	s, c, _ := limitedGuarded(t, limits)
	_, key := c.key("default", nil, access.RunsRead)
	for _, form := range []string{
		exchangeForm("subject_token", key, "scope", "runs:cancel"),
		exchangeForm("subject_token", key, "resource", "https://evil.example/v1/runs/r"),
		exchangeForm("subject_token", key, "audience", "https://evil.example"),
	} {
		for range 2 {
			if r := s.exchange(form); r.status != 400 || r.header.Get("RateLimit") == "" {
				t.Errorf("got %d %s", r.status, r.raw)
			}
		}
	}
	checkLimited(t, s.exchange(exchangeForm("subject_token", key, "scope", "runs:cancel")))
	if n := s.gw.limiter.failures.Len(); n != 0 {
		t.Errorf("%d addresses have a budget", n)
	}
}
