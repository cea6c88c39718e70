package metrics_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/flowgate-go/flowgate/tokens"
)

// provocation gets one verdict from one kind of message; n tells repetitions apart.
type provocation struct {
	kind, verdict string
	do            func(s *site, n int)
	also          scrape // what else grows by ten
}

const times = 10

func key(n int, of string) (string, string) { return "Idempotency-Key", fmt.Sprintf("%s-%d", of, n) }

func signal(verdict, run, name, body, id string) func(*site, int) {
	return func(s *site, n int) {
		header, value := key(n, id)
		if id[0] == '=' {
			value = id
		}
		s.must(verdict, "POST", "/v1/runs/"+run+"/signals/"+name, body, header, value)
	}
}

func post(verdict, path, body string, headers ...string) func(*site, int) {
	return func(s *site, _ int) { s.must(verdict, "POST", path, body, headers...) }
}

func posts(verdict, path, body string) func(*site, int) {
	return func(s *site, n int) { s.must(verdict, "POST", fmt.Sprintf(path, n), body) }
}

// Provoking each verdict ten times over the socket moves its counter by ten, and that of no other verdict.
func TestEveryVerdictIsCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", `null`)
	s.start("full", `null`)
	s.start("ended", `null`)
	s.must("accepted", "POST", "/v1/runs/ended/cancel", "")
	s.must("accepted", "POST", "/v1/runs/r/signals/note", "1", "Idempotency-Key", "=s")
	s.must("accepted", "POST", "/v1/runs/r/updates/set", "1", "Idempotency-Key", "=u")
	for n := range 12 {
		signal("accepted", "full", "note", "1", "fill")(s, n)
	}
	token, answered, closed := s.open("default", "hooked", "plain"), s.open("default", "answered", "plain"), s.open("default", "closed", "plain")
	internal, foreign, known := s.open("default", "inside", "internal"), s.open("elsewhere", "foreign", "plain"), s.open("default", "known", "known")
	callback := "/callbacks/flow/hooks/"
	s.must("accepted", "POST", "/v1/runs/answered/hooks/h/resume", "1")
	s.must("accepted", "POST", "/v1/runs/closed/cancel", "")
	for n := range times {
		s.open("default", fmt.Sprintf("h%d", n), "plain")
		s.start(fmt.Sprint("c", n), `null`)
		s.start(fmt.Sprint("t", n), `null`)
	}
	junk := token[:len(token)-1] + "-"
	conflict := func(kind string) scrape { return scrape{`flowgate_conflicts_total{kind="` + kind + `"}`: times} }
	unresolved := func(why string) scrape {
		return scrape{`flowgate_unresolved_tokens_total{reason="` + why + `"}`: times}
	}
	never := s.keys.Mint(tokens.Binding{Namespace: "default", RunID: "never", HookID: "h"}, tokens.Nonce{1}).Token.Reveal()
	for _, p := range []provocation{
		{"signal", "accepted", signal("accepted", "r", "note", "1", "new"), nil},
		{"signal", "duplicate", signal("duplicate", "r", "note", "1", "=s"), nil},
		{"signal", "conflict", signal("conflict", "r", "note", "2", "=s"), conflict("signal")},
		{"signal", "gone", signal("gone", "ended", "note", "1", "late"), nil},
		{"signal", "unknown", signal("unknown", "nobody", "note", "1", "x"), nil},
		{"signal", "invalid", signal("invalid", "r", "note", `"x"`, "x"), nil},
		{"signal", "busy", signal("busy", "full", "note", "1", "over"), nil},
		{"hook", "accepted", posts("accepted", "/v1/runs/h%d/hooks/h/resume", "1"), nil},
		{"hook", "duplicate", post("duplicate", callback+answered, "1"), nil},
		{"hook", "conflict", post("conflict", callback+answered, "2"), conflict("hook")},
		{"hook", "gone", post("gone", callback+closed, "1"), nil},
		{"hook", "unknown", post("unknown", callback+junk, "1"), unresolved("malformed")},
		{"hook", "unknown", post("unknown", callback+never, "1"), unresolved("unknown")},
		{"hook", "unknown", post("unknown", callback+internal, "1"), unresolved("internal")},
		{"hook", "denied", post("denied", callback+known, "1"), scrape{`flowgate_auth_failures_total{reason="missing"}`: times}},
		{"dispose", "denied", func(s *site, _ int) { s.must("denied", "DELETE", callback+token, "") }, nil},
		{"dispose", "unknown", post("unknown", "/v1/hooks/dispose", `{"token":"`+foreign+`"}`), unresolved("foreign")},
		{"dispose", "conflict", post("conflict", "/v1/runs/answered/hooks/h/dispose", ""), conflict("hook")},
		{"start", "accepted", func(s *site, n int) { s.start(fmt.Sprint("s", n), `null`) }, nil},
		{"start", "duplicate", post("duplicate", "/v1/runs", `{"workflow":"test.gate","run_id":"r"}`), nil},
		{"start", "conflict", post("conflict", "/v1/runs", `{"workflow":"test.gate","run_id":"r","input":"x"}`), conflict("run")},
		{"start", "unknown", post("unknown", "/v1/runs", `{"workflow":"none"}`), nil},
		{"start", "invalid", post("invalid", "/v1/runs", `{"workflow":"test.gate","input":7}`), nil},
		{"cancel", "accepted", posts("accepted", "/v1/runs/c%d/cancel", ""), nil},
		{"cancel", "duplicate", post("duplicate", "/v1/runs/ended/cancel", ""), nil},
		{"terminate", "accepted", posts("accepted", "/v1/runs/t%d/terminate", ""), nil},
		{"retry", "gone", post("gone", "/v1/runs/ended/retry", ""), nil},
		{"update", "duplicate", post("duplicate", "/v1/runs/r/updates/set", "1", "Idempotency-Key", "=u"), nil},
		{"update", "conflict", post("conflict", "/v1/runs/r/updates/set", "2", "Idempotency-Key", "=u"), conflict("update")},
		{"signal_with_start", "duplicate", post("duplicate", "/v1/workflows/test.gate/signal-with-start",
			`{"run_id":"r","signal":{"name":"note","id":"=s","payload":1}}`), nil},
		{"replay", "unknown", post("unknown", "/v1/dead-letters/1/replay", ""), nil},
		{"discard", "unknown", post("unknown", "/v1/dead-letters/1/discard", ""), nil},
	} {
		t.Run(p.kind+"_"+p.verdict, func(t *testing.T) {
			on := *s
			on.t = t
			before := on.scrape()
			for n := range times {
				p.do(&on, n)
			}
			now := on.scrape()
			want := scrape{fmt.Sprintf(`flowgate_receipts_total{kind=%q,verdict=%q}`, p.kind, p.verdict): times}
			if got := now.since(before, "flowgate_receipts_total"); !maps.Equal(got, want) {
				t.Errorf("receipts: got %v, want %v", got, want)
			}
			overHTTP := scrape{fmt.Sprintf(`flowgate_http_verdicts_total{verdict=%q}`, p.verdict): times}
			if got := now.since(before, "flowgate_http_verdicts_total"); !maps.Equal(got, overHTTP) {
				t.Errorf("answers: got %v, want %v", got, overHTTP)
			}
			also := scrape{}
			for _, name := range []string{"flowgate_conflicts_total", "flowgate_unresolved_tokens_total", "flowgate_auth_failures_total"} {
				maps.Copy(also, now.since(before, name))
			}
			if !maps.Equal(also, p.also) && len(also)+len(p.also) > 0 {
				t.Errorf("beside them: got %v, want %v", also, p.also)
			}
		})
	}
}
