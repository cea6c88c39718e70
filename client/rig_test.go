package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

const publicURL = "https://gate.example.com"

// deskSpec is the workflow of these tests: a hook "ask", a signal "note", an update "set", a query "count", a step that fails
// and is held where the input wants one.
var deskSpec = spec.WorkflowSpec{
	Name: "test.desk", Version: "1", Description: "Takes everything.",
	Signals: []spec.Signal{{Name: "note"}, {Name: "end"}},
	Updates: []spec.Update{{Name: "set"}},
	Queries: []spec.Query{{Name: "count"}},
	Hooks:   []spec.Hook{{Name: "ask", DisposableByToken: true}},
}

func desk(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[struct {
		Step bool `json:"step"`
	}](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if how, ended, err := engine.SignalPayload[string](ctx, "end"); err != nil || ended {
		if how == "block" {
			return engine.Decision{}, errors.New("blocked by the test")
		}
		return ctx.Complete(how), err
	}
	all := []engine.Decision{ctx.CreateHook("ask", engine.Metadata(spec.HumanApproval("a trip"))), ctx.WaitForSignal("end", "end")}
	for _, u := range ctx.Updates("set") {
		all = append(all, ctx.CompleteUpdate(u.ID, u.Arg))
	}
	if in.Step {
		all = append(all, ctx.RunStep("s", "work", nil, spec.NoRetry().WithHold()))
	}
	return ctx.Await(all...), nil
}

var deskCode = []engine.CodeOption{
	engine.OnQuery("count", func(q *engine.QueryContext) (any, error) { return len(q.Signals("note")), nil }),
}

// office is a gateway with credentials on a database of its own.
type office struct {
	t     *testing.T
	url   string
	token string // of everything
	up    atomic.Bool
}

func newOffice(t *testing.T) *office {
	t.Helper()
	keys, err := tokens.NewKeyring(
		[]tokens.Key{{ID: "m1", Secret: bytes.Repeat([]byte("m"), 32)}}, []tokens.Key{{ID: "d1", Secret: bytes.Repeat([]byte("d"), 32)}},
	)
	check(t, err)
	pool, err := pgxpool.New(t.Context(), pgtest.URL(t))
	check(t, err)
	t.Cleanup(pool.Close)
	eng, err := engine.New(t.Context(), engine.Config{Pool: pool, Keys: keys, PublicURL: publicURL, Audit: true})
	check(t, err)
	o := &office{t: t}
	check(t, eng.Register(deskSpec, desk, deskCode...))
	check(t, eng.RegisterStep("work", func(context.Context, *engine.Step) (any, error) {
		if !o.up.Load() {
			return nil, errors.New("down")
		}
		return "done", nil
	}))
	o.run(eng.Run)
	eventually(t, func() bool { return !errors.Is(eng.Retry(t.Context(), "nobody"), engine.ErrUnavailable) })
	o.serve(eng, pool, keys.Digester())
	return o
}

func (o *office) serve(eng *engine.Engine, pool *pgxpool.Pool, digester *tokens.Digester) {
	o.t.Helper()
	store := db.Open(pool, db.Config{})
	signing, err := tokens.NewSignKeys([]tokens.Key{{ID: "s1", Secret: bytes.Repeat([]byte("s"), 32)}})
	check(o.t, err)
	verifier, err := access.New(o.t.Context(), access.Config{Store: store, Digester: digester, SignKeys: signing, PublicURL: publicURL})
	check(o.t, err)
	_, secret, err := access.NewKeys(store, digester, time.Now, randomly{}).Create(o.t.Context(), access.KeyRequest{
		Namespace: "default", Name: "test", Scopes: access.AllScopes(),
	})
	check(o.t, err)
	o.token = secret.Reveal()
	gw, err := gateway.New(gateway.Config{Engine: eng, PublicURL: publicURL, Access: verifier})
	check(o.t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(o.t, err)
	o.url = "http://" + ln.Addr().String()
	o.run(func(ctx context.Context) error { return gw.Serve(ctx, ln) })
}

// run has something work until the test ends.
func (o *office) run(what func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- what(ctx) }()
	o.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, gateway.ErrDrainTimeout) {
			o.t.Error(err)
		}
	})
}

// randomly is a source of bytes that are good enough for an API key of a test.
type randomly struct{}

func (randomly) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i*7 + 1)
	}
	return len(p), nil
}

// client is one without a pause between tries.
func (o *office) client(url string, change func(*client.Options)) *client.Client {
	o.t.Helper()
	options := client.Options{
		Token: o.token, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&options)
	}
	c, err := client.New(url, options)
	check(o.t, err)
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, yes func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it never comes to that")
		}
	}
}

// proxy stands before a gateway and hands every request on. Of every two it drops the reply of the first, once it has it.
type proxy struct {
	*httptest.Server
	mu      sync.Mutex
	seen    map[string]int // requests by method and pattern-less path
	dropped int
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{seen: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, body, err := forward(r, to)
		if err != nil {
			t.Errorf("the gateway: %v", err)
			panic(http.ErrAbortHandler)
		}
		if p.drops(r.Method + " " + r.URL.Path) {
			panic(http.ErrAbortHandler) // the connection ends without a reply
		}
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body)
	}))
	p.Config.ErrorLog = nil
	t.Cleanup(p.Close)
	return p
}

func forward(r *http.Request, to string) (*http.Response, []byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	return res, answer, err
}

func (p *proxy) drops(request string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[request]++
	if p.seen[request]%2 == 1 {
		p.dropped++
		return true
	}
	return false
}

// requests is how many of a kind there were.
func (p *proxy) requests(request string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[request]
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }
