package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/metrics"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

func TestMain(m *testing.M) { pgtest.Main(m, db.Migrate) }

// gateSpec is the workflow of these tests: it opens the hook that its input names and waits for the signal "end".
var gateSpec = spec.WorkflowSpec{
	Name: "test.gate", Version: "1", Input: json.RawMessage(`{"type":["string","null"]}`),
	Signals: []spec.Signal{{Name: "note", Schema: json.RawMessage(`{"type":"number"}`)}, {Name: "end"}},
	Updates: []spec.Update{{Name: "set", Args: json.RawMessage(`{"type":"number"}`)}},
	Hooks:   []spec.Hook{{Name: "internal", Audience: spec.Internal}, {Name: "known", Requires: spec.Credential}},
}

func gate(ctx *engine.Context) (engine.Decision, error) {
	if _, ended, err := engine.SignalPayload[any](ctx, "end"); ended || err != nil {
		return ctx.Complete(nil), err
	}
	all := []engine.Decision{ctx.WaitForSignal("end", "end")}
	for _, u := range ctx.Updates("set") {
		all = append(all, ctx.CompleteUpdate(u.ID, nil))
	}
	if name, err := engine.Input[string](ctx); err == nil && name == "block" {
		return engine.Decision{}, errors.New("blocked by the test")
	} else if name == "step" {
		all = append(all, ctx.RunStep("s", "try", nil, spec.RetryPolicy{}))
	} else if name != "" {
		all = append(all, ctx.CreateHook("h", engine.As(name)))
	}
	return ctx.Await(all...), nil
}

// site is a gateway and an admin listener over one engine.
type site struct {
	t             *testing.T
	eng           *engine.Engine
	keys          *tokens.Keyring
	url           string // of the database
	public, admin string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, url: pgtest.URL(t)}
	pool, err := pgxpool.New(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s.keys, err = tokens.NewKeyring(
		[]tokens.Key{{ID: "m1", Secret: bytes.Repeat([]byte("m"), 32)}}, []tokens.Key{{ID: "d1", Secret: bytes.Repeat([]byte("d"), 32)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	s.eng, err = engine.New(t.Context(), engine.Config{
		Pool: pool, Keys: s.keys, PublicURL: "https://gate.example.com", Limits: engine.Limits{Backlog: 12},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.eng.Register(gateSpec, gate); err != nil {
		t.Fatal(err)
	}
	err = s.eng.RegisterStep("try", func(context.Context, *engine.Step) (any, error) {
		return nil, engine.NonRetryable(errors.New("not this one"))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(s.eng.Run)
	s.await("the engine takes messages", func() bool {
		return !errors.Is(s.eng.Retry(t.Context(), "nobody"), engine.ErrUnavailable)
	})
	gw, err := gateway.New(gateway.Config{
		Engine: s.eng, PublicURL: "https://gate.example.com", OpenAPI: true, Limits: gateway.Limits{Failures: gateway.Unlimited()},
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.run(func(ctx context.Context) error { return gw.Serve(ctx, ln) })
	admin := httptest.NewServer(metrics.Handler(metrics.Sources{Engine: s.eng, Gateway: gw, Version: "v0.0.1"}))
	t.Cleanup(admin.Close)
	s.public, s.admin = "http://"+ln.Addr().String(), admin.URL
	return s
}

// run does work until the test ends.
func (s *site) run(work func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- work(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		client.CloseIdleConnections()
		if err := <-ended; err != nil && !errors.Is(err, gateway.ErrDrainTimeout) {
			s.t.Error(err)
		}
	})
}

func (s *site) await(what string, yes func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatalf("never: %s", what)
		}
	}
}

var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}

// call sends a request and returns the status and the body.
func (s *site) call(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.public+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// must is call that gets the verdict.
func (s *site) must(verdict, method, path, body string, headers ...string) {
	s.t.Helper()
	status, raw := s.call(method, path, body, headers...)
	var said struct{ Verdict string }
	if err := json.Unmarshal([]byte(raw), &said); err != nil || said.Verdict != verdict {
		s.t.Fatalf("%s %s: %d %s, want %s", method, path, status, raw, verdict)
	}
}

func (s *site) start(run, input string) {
	s.t.Helper()
	s.must("accepted", "POST", "/v1/runs", `{"workflow":"test.gate","run_id":"`+run+`","input":`+input+`}`)
}

// open starts a run with a hook and returns the hook's token.
func (s *site) open(ns spec.Namespace, run, hook string) string {
	s.t.Helper()
	h, err := s.eng.Namespace(ns)
	if err != nil {
		s.t.Fatal(err)
	}
	input, _ := json.Marshal(hook)
	if _, err := h.Start(s.t.Context(), engine.StartRequest{Workflow: "test.gate", RunID: spec.RunID(run), Input: input}); err != nil {
		s.t.Fatal(err)
	}
	var link engine.Link
	s.await("the hook is there", func() bool {
		link, err = h.HookLink(s.t.Context(), spec.RunID(run), "h")
		return err == nil
	})
	return link.Token.Reveal()
}

// scrape is every series with its value.
type scrape map[string]float64

func (s *site) scrape() scrape {
	s.t.Helper()
	res, err := client.Get(s.admin + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("scrape: %d %s %v", res.StatusCode, raw, err)
	}
	found := scrape{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		found[line[:at]] = v
	}
	return found
}

// since is by how much the series of a name grew; those that did not are left out.
func (now scrape) since(before scrape, name string) scrape {
	grown := scrape{}
	for series, v := range now {
		if (series == name || strings.HasPrefix(series, name+"{")) && v != before[series] {
			grown[series] = v - before[series]
		}
	}
	return grown
}

var labelPair = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

// labels are all pairs of a label and its value, but for the bounds of histograms.
func (now scrape) labels() map[string]bool {
	all := map[string]bool{}
	for series := range now {
		for _, m := range labelPair.FindAllStringSubmatch(series, -1) {
			if m[1] != "le" && m[1] != "quantile" {
				all[m[1]+"="+m[2]] = true
			}
		}
	}
	return all
}
