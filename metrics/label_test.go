package metrics_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/metrics"
	"github.com/flowgate-go/flowgate/spec"
)

// marker is in everything that these requests make up.
const marker = "zz9marker"

// raw writes bytes on a connection of its own and reads until it ends.
func (s *site) raw(request string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.public, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		s.t.Fatal(err)
	}
}

// Whatever is sent, no series has a label value that was not one before, but for methods and statuses of HTTP.
func TestNothingThatIsSentBecomesALabel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", `null`)
	before := s.scrape().labels()

	const host = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for i := range 50 {
		word := fmt.Sprint(marker, i)
		s.raw(strings.ToUpper(word) + " /v1/runs" + host + "\r\n")
		s.raw("GET /" + word + host + "X-" + word + ": " + word + "\r\n\r\n")
		s.raw(word + "\x00\xff\r\n\r\n")
		s.raw("GET /v1/runs HTTP/9.9\r\nHost: " + word + "\r\nConnection: close\r\n\r\n")
		for _, call := range [][3]string{
			{"POST", "/v1/runs", `{"workflow":"` + word + `","run_id":"` + word + `"}`},
			{"POST", "/v1/runs", `{"workflow":"test.gate","run_id":"` + word + `","labels":{"` + word + `":"` + word + `"}}`},
			{"POST", "/v1/runs/r/signals/" + word, `1`},
			{"POST", "/v1/runs/" + word + "/hooks/" + word + "/resume", `1`},
			{"POST", "/callbacks/flow/hooks/" + word, `1`},
			{"POST", "/ingress/" + word, `1`},
			{"GET", "/v1/runs/%ff" + word, ``},
			{"GET", "/v1/runs/r/queries/" + word + "?arg=" + word, ``},
			{"PUT", "/approvals/" + word, word},
			{"GET", "/metrics", ``},
		} {
			s.call(call[0], call[1], call[2], "Authorization", "Bearer "+word, "Idempotency-Key", word, "X-Request-Id", word)
		}
		h, err := s.eng.Namespace(spec.Namespace(word))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Start(t.Context(), engine.StartRequest{Workflow: "test.gate", RunID: spec.RunID(word)}); err != nil {
			t.Fatal(err)
		}
	}
	now := s.scrape()
	for series := range now {
		if strings.Contains(strings.ToLower(series), marker) {
			t.Fatalf("a caller's word: %s", series)
		}
	}
	for pair := range now.labels() {
		name, value, _ := strings.Cut(pair, "=")
		if before[pair] || name == "method" && slices.Contains([]string{"GET", "POST", "PUT", "unknown"}, value) ||
			name == "code" && len(value) == 3 {
			continue
		}
		t.Errorf("a new label value: %s", pair)
	}
}

// What one namespace does looks like what another one does: of who it was, nothing is left.
func TestNoLabelTellsNamespacesApart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	do := func(ns spec.Namespace) scrape {
		before := s.scrape()
		token := s.open(ns, "r", "plain")
		s.must("accepted", "POST", "/callbacks/flow/hooks/"+token, "1")
		s.must("conflict", "POST", "/callbacks/flow/hooks/"+token, "2")
		h, err := s.eng.Namespace(ns)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			_, err := h.SendSignal(t.Context(), engine.SignalRequest{RunID: "r", SignalID: spec.SignalID(fmt.Sprint(i)), Name: "note", Payload: []byte("1")})
			if err != nil {
				t.Fatal(err)
			}
		}
		now := s.scrape()
		grown := now.since(before, "flowgate_receipts_total")
		for _, name := range []string{"flowgate_conflicts_total", "flowgate_http_requests_total", "flowgate_http_verdicts_total"} {
			maps.Copy(grown, now.since(before, name))
		}
		for series := range now {
			if strings.Contains(series, string(ns)) {
				t.Errorf("the namespace is shown: %s", series)
			}
		}
		return grown
	}
	if a, b := do("alpha-corp"), do("beta-corp"); !maps.Equal(a, b) || len(a) == 0 {
		t.Errorf("alpha: %v\nbeta: %v", a, b)
	}
}

// What runs do is counted too: turns, attempts, and how long a run waited for its turn.
func TestWorkIsCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := s.scrape()
	s.start("ends", `null`)
	s.must("accepted", "POST", "/v1/runs/ends/signals/end", "null")
	s.start("blocks", `"block"`)
	s.start("steps", `"step"`)
	for series, least := range map[string]float64{
		`flowgate_turns_total{outcome="advanced"}`:                       1,
		`flowgate_turns_total{outcome="ended"}`:                          1,
		`flowgate_turns_total{outcome="blocked"}`:                        1,
		`flowgate_step_attempts_total{outcome="failed"}`:                 1,
		`flowgate_receipt_to_resume_seconds_count`:                       3,
		`flowgate_receipt_commit_seconds_count`:                          4,
		`flowgate_turn_seconds_count`:                                    3,
		`flowgate_http_request_duration_seconds_count{route="/v1/runs"}`: 3,
	} {
		s.await(series, func() bool { now := s.scrape(); return now[series]-before[series] >= least })
	}
	for series, v := range s.scrape() {
		if strings.HasPrefix(series, "flowgate_receipt_to_resume_seconds_sum") && (v <= 0 || v > 60) {
			t.Errorf("%s is %v", series, v)
		}
	}
}

// A database that takes no connections is said to be down; what the process itself counts is told all the same.
func TestScrapeWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("r", `null`)
	clock := time.Now()
	registry := metrics.Registry(metrics.Sources{Engine: s.eng, Clock: func() time.Time { return clock }})
	told := func() (up float64, runs int) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			switch f.GetName() {
			case "flowgate_metrics_database_up":
				up = f.GetMetric()[0].GetGauge().GetValue()
			case "flowgate_runs":
				runs = len(f.GetMetric())
			case "flowgate_receipts_total":
				if len(f.GetMetric()) < 90 {
					t.Errorf("%d series of receipts", len(f.GetMetric()))
				}
			}
		}
		return up, runs
	}
	if up, runs := told(); up != 1 || runs != 5 {
		t.Errorf("up %v, %d statuses", up, runs)
	}
	settings, err := pgx.ParseConfig(s.url)
	if err != nil {
		t.Fatal(err)
	}
	ours := settings.Database
	settings.Database = "postgres"
	conn, err := pgx.ConnectConfig(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `alter database `+pgx.Identifier{ours}.Sanitize()+` allow_connections false`); err != nil {
		t.Fatal(err)
	}
	if up, _ := told(); up != 1 {
		t.Error("it was asked again at once")
	}
	clock = clock.Add(time.Minute)
	if up, runs := told(); up != 0 || runs != 0 {
		t.Errorf("without a database: up %v, %d statuses", up, runs)
	}
}

func TestSeriesAreWellFormed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	problems, err := testutil.GatherAndLint(metrics.Registry(metrics.Sources{Engine: s.eng}))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
