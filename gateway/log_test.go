package gateway

import (
	"encoding/json"
	"net/netip"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func (b *logBuffer) logger() zerolog.Logger { return zerolog.New(b) }

// lines decodes what was logged.
func (b *logBuffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(b.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, fields)
	}
	return out
}

// Every request is one line with the pattern of its route, and nothing of its own but a known method.
func TestLog_one_line_per_request(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	requests := []struct {
		send                           func() reply
		method, route, verdict, status string
	}{
		{func() reply { return s.answer(junkToken, `1`) }, "POST", "/callbacks/flow/hooks/{token}", "unknown", "404"},
		{func() reply { return s.call("GET", "/v1/runs?limit=1", "") }, "GET", "/v1/runs", "accepted", "200"},
		{func() reply { return s.call("GET", "/v1/runs/"+secretWord, "") }, "GET", "/v1/runs/{run}", "unknown", "404"},
		{func() reply { return s.call("GET", "/"+secretWord, "") }, "GET", "unmatched", "unknown", "404"},
		{func() reply { return s.call("GET", junkPath, "") }, "GET", "unmatched", "invalid", "405"},
		{func() reply { return s.one("BREW / HTTP/1.1\r\nHost: a\r\n\r\n") }, "unknown", "unmatched", "invalid", "400"},
		{func() reply { return s.one(secretWord + "\r\n\r\n") }, "unknown", "unmatched", "invalid", "400"},
		{func() reply { return s.one(post("/"+secretWord, "Expect: 100-continue", "Content-Length: 9", "", "")) }, "POST", "unmatched", "invalid", "417"},
	}
	for _, tc := range requests {
		before := len(s.logs.lines(t))
		r := tc.send()
		lines := s.logs.lines(t)
		if len(lines) != before+1 {
			t.Fatalf("%s: got %d lines, want one more than %d", tc.route, len(lines), before)
		}
		line := lines[before]
		got := []string{line["method"].(string), line["route"].(string), line["verdict"].(string)}
		if diff := cmp.Diff([]string{tc.method, tc.route, tc.verdict}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if line["request_id"] != r.header.Get("X-Request-Id") || line["peer"] != "127.0.0.1" {
			t.Errorf("got %v", line)
		}
		want := []string{"duration", "level", "message", "method", "peer", "request_id", "route", "status", "verdict"}
		if diff := cmp.Diff(want, keys(line)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if strings.Contains(s.logs.String(), secretWord) || strings.Contains(s.logs.String(), junkToken) {
		t.Error("the log repeats requests")
	}
	s.call("GET", "/v1/runs", "", "X-Forwarded-For", "203.0.113.1, 198.51.100.7")
	lines := s.logs.lines(t)
	if got := lines[len(lines)-1]["peer"]; got != "198.51.100.7" {
		t.Errorf("behind a trusted proxy: got peer %v", got)
	}
}

func keys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
