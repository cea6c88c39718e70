package httppost_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key    = "4f1d7f0e2c9a4b7e8d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706"
	oldKey = "whsec_b2xkLXNlY3JldC1vZi0yNC1ieXRlcy0xMjM0NTY3ODkw"
	newKey = "whsec_bmV3LXNlY3JldC1vZi0yNC1ieXRlcy0xMjM0NTY3ODkw"
)

// received is one request as a receiver saw it.
type received struct {
	header http.Header
	host   string
	path   string
	body   []byte
}

// receiver is a real server on loopback. answer decides what it says; nil is 204.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	return startReceiver(t, answer, true)
}

func startReceiver(t *testing.T, answer http.HandlerFunc, secure bool) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, received{header: q.Header.Clone(), host: q.Host, path: q.URL.String(), body: body})
		r.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, q)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

// port of a server.
func (r *receiver) port() uint16 {
	u, _ := url.Parse(r.URL)
	n, _ := strconv.Atoi(u.Port())
	return uint16(n)
}

// reaching is a Config that allows the receiver and nothing else of loopback.
func (r *receiver) reaching() httppost.Config {
	c := httppost.Config{
		Ports: []uint16{r.port()}, InternalNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		AllowHTTP: strings.HasPrefix(r.URL, "http:"),
	}
	if cert := r.Certificate(); cert != nil {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AddCert(cert)
	}
	return c
}

func newPoster(t *testing.T, c httppost.Config) *httppost.Poster {
	t.Helper()
	p, err := httppost.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// stepOf is an attempt with an input, as the engine would make it.
func stepOf(t *testing.T, in any, attempt int) *engine.Step {
	t.Helper()
	raw, ok := in.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
	}
	return &engine.Step{
		Namespace: "default", RunID: "order-1", Workflow: "approval", Version: "1", Generation: 1, ID: "notify",
		Name: httppost.Name, Attempt: attempt, IdempotencyKey: key, Input: raw,
	}
}

func do(t *testing.T, p *httppost.Poster, in any) (*httppost.Output, error) {
	t.Helper()
	return doIn(t.Context(), p, stepOf(t, in, 1))
}

func doIn(ctx context.Context, p *httppost.Poster, step *engine.Step) (*httppost.Output, error) {
	out, err := p.Step()(ctx, step)
	if err != nil {
		return nil, err
	}
	return out.(*httppost.Output), nil
}

// wantFailure checks what a failure tells the engine.
func wantFailure(t *testing.T, err error, code string, final bool) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want code %s", code)
	}
	if a := engine.AdviceOf(err); a.Code != code || a.Final != final {
		t.Errorf("%v: code %q, final %v; want %q, %v", err, a.Code, a.Final, code, final)
	}
	if e, ok := errors.AsType[*httppost.Error](err); ok && e.Code != code {
		t.Errorf("%v: its own code is %q, want %q", err, e.Code, code)
	}
}

// at is a clock that stands still.
func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// resolver answers a name with the lists of addresses given for it, one after the other, then the last again.
type resolver struct {
	mu    sync.Mutex
	names map[string][][]netip.Addr
	asked int
}

func (r *resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	lists := r.names[host]
	if len(lists) == 0 {
		return nil, nil
	}
	if len(lists) > 1 {
		r.names[host] = lists[1:]
	}
	return lists[0], nil
}

func addresses(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}
