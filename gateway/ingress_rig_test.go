package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// eventSite is a site with sources, an inbox and its courier.
type eventSite struct {
	*site
	url      string
	receiver *ingress.Receiver
	box      *inbox.Inbox
}

// recordedAt is when the requests in ingress/testdata were sent.
var recordedAt = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// shopSecret signs the events of the source "shop" and its kin.
const shopSecret = "test-secret-of-the-shop-0123456789"

// shopSources are sources of one provider whose events say everything themselves.
var shopSources = func() string {
	const common = `"verify":{"header":"X-Shop-Signature","prefix":"s=","separator":",","signed":"{body}"},
		"secrets":[{"id":"first","secret":"` + shopSecret + `"}],"run":"/run","id":"/id","payload":"/data","form":true,`
	return `{"sources":{
		"shop":{` + common + `"signal":"/type","hold":"1h","ignore":["/attempt"]},
		"impatient":{` + common + `"signal":"/type","status":200},
		"keeping":{` + common + `"signal":"/type","on_conflict":"inbox"},
		"asking":{` + common + `"hook":"approval","hold":"1h"},
		"foreign":{` + common + `"signal":"/type","hold":"1h","namespace":"other"},
		"open":{"unverified":true,"run":"/run","id":"header:X-Id","signal":"paid","status":204}}}`
}()

var orderSpec = spec.WorkflowSpec{
	Name: "test.order", Version: "1",
	Signals: []spec.Signal{{Name: "paid"}, {Name: "strict", Schema: json.RawMessage(`{"type":"object","required":["n"]}`)}, {Name: "end"}},
}

// orderFlow has a hook and ends at the signal "end".
func orderFlow(ctx *engine.Context) (engine.Decision, error) {
	if _, ended, err := engine.SignalPayload[any](ctx, "end"); ended || err != nil {
		return ctx.Complete("done"), err
	}
	return ctx.Await(ctx.CreateHook("approval"), ctx.WaitForSignal("end", "end")), nil
}

// newEventSite serves sources on a fresh database, in the time of the recorded requests.
func newEventSite(t *testing.T, sources string, change ...func(*inbox.Config)) *eventSite {
	t.Helper()
	return eventSiteOn(t, pgtest.URL(t), sources, change...)
}

func eventSiteOn(t *testing.T, url, sources string, change ...func(*inbox.Config)) *eventSite {
	t.Helper()
	return eventSiteOf(t, url, bareEngine(t, url, nil), sources, change...)
}

func eventSiteOf(t *testing.T, url string, eng *engine.Engine, sources string, change ...func(*inbox.Config)) *eventSite {
	t.Helper()
	s := &eventSite{url: url}
	if err := eng.Register(orderSpec, orderFlow); err != nil {
		t.Fatal(err)
	}
	run(t, eng)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	logs := &logBuffer{}
	cfg := inbox.Config{Store: db.Open(pool, db.Config{}), Engine: eng, Poll: 10 * time.Millisecond, Logger: zerolog.New(logs)}
	for _, c := range change {
		c(&cfg)
	}
	s.box = inbox.New(cfg)
	courier(t, s.box)
	parsed, err := ingress.Parse([]byte(sources))
	if err != nil {
		t.Fatal(err)
	}
	s.receiver = ingress.New(parsed, ingress.Options{Inbox: s.box, Clock: func() time.Time { return recordedAt }, Logger: zerolog.New(logs)})
	s.site = serveOn(t, eng, func(c *Config) { c.Ingress, c.Inbox, c.Logger = s.receiver, s.box, zerolog.New(logs) })
	s.logs = logs
	return s
}

// recordedSources are those of the recorded requests.
func recordedSources(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../ingress/testdata/sources.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sendRecorded sends a recorded request, byte by byte but for its path and the end of the connection.
func (s *eventSite) sendRecorded(source, kind string) reply {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("../ingress/testdata", source, kind+".http"))
	if err != nil {
		s.t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(text), "\r\n")
	return s.one(strings.Replace(line, "/ingress/it", "/ingress/"+source, 1) + "\r\nConnection: close\r\n" + rest)
}

func shopSign(body string) string { return "s=" + macOf(shopSecret, body) }

func macOf(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// event sends a signed event to a source of the shop.
func (s *eventSite) event(source, body string, headers ...string) reply {
	s.t.Helper()
	return s.call("POST", "/ingress/"+source, body, append([]string{"X-Shop-Signature", shopSign(body)}, headers...)...)
}

// wantEvent checks what became of an event.
func (s *eventSite) wantEvent(what string, r reply, status int, outcome, reason string) {
	s.t.Helper()
	if r.status != status || r.text("outcome") != outcome || r.text("reason") != reason {
		s.t.Errorf("%s: got %d %s, want %d %s %s", what, r.status, r.raw, status, outcome, reason)
	}
	checkHeaders(s.t, r)
	if again := r.header.Get("Idempotent-Replayed") == "true"; again != (outcome == "duplicate") {
		s.t.Errorf("%s: Idempotent-Replayed %t", what, again)
	}
	if strings.Contains(r.raw, "run_id") || strings.Contains(r.raw, "signal_id") {
		s.t.Errorf("%s: a sender learns an ID: %s", what, r.raw)
	}
}

// order starts a run and waits for its hook.
func (s *eventSite) order(id string) {
	s.t.Helper()
	if r := s.call("POST", "/v1/runs", fmt.Sprintf(`{"workflow":"test.order","run_id":%q}`, id)); r.status != 201 {
		s.t.Fatalf("got %d %s", r.status, r.raw)
	}
	await(s.t, "the hook is there", func() bool { return s.call("GET", "/v1/runs/"+id+"/hooks/approval", "").status == 200 })
}

// signalsOf are the IDs of the signals of a run, in order.
func (s *eventSite) signalsOf(run string) (ids []string) {
	s.t.Helper()
	items, _ := s.call("GET", "/v1/runs/"+run+"/history?limit=200", "").field("events").([]any)
	for _, item := range items {
		e := item.(map[string]any)
		if e["type"] == "signal.received" {
			data, _ := e["data"].(map[string]any)
			ids = append(ids, fmt.Sprint(data["signal_id"]))
		}
	}
	return ids
}

func courier(t *testing.T, box *inbox.Inbox) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- box.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("courier: %v", err)
		}
	})
}
