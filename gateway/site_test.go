package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
)

// site is a gateway that serves on a socket of its own.
type site struct {
	t    *testing.T
	gw   *Gateway
	addr string
	logs *logBuffer
	// client is another one than the usual; see from.
	client *http.Client
	// stop ends Serve and returns its error; the test's clean-up calls it as well.
	stop func() error
	// credential is sent with every call that has no Authorization of its own; empty: none.
	credential string
}

// as is the site for a caller with a credential.
func (s *site) as(credential string) *site {
	other := *s
	other.credential = credential
	return &other
}

const publicURL = "https://gate.example.com/base"

// serveOn starts a gateway over an engine, with an open API and no limit on failures, which most tests provoke, unless
// change says otherwise.
func serveOn(t *testing.T, eng *engine.Engine, change func(*Config)) *site {
	t.Helper()
	logs := &logBuffer{}
	cfg := Config{Engine: eng, Logger: zerolog.New(logs), PublicURL: publicURL, OpenAPI: true}
	cfg.Limits.Failures = Unlimited()
	if change != nil {
		change(&cfg)
	}
	gw, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, gw, logs)
}

func listen(t *testing.T, gw *Gateway, logs *logBuffer) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- gw.Serve(ctx, ln) }()
	stop := sync.OnceValue(func() error { cancel(); return <-served })
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := stop(); err != nil && !errors.Is(err, ErrDrainTimeout) {
			t.Errorf("serve: %v", err)
		}
	})
	return &site{t: t, gw: gw, addr: ln.Addr().String(), logs: logs, stop: stop}
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// reply is a response with its body read.
type reply struct {
	status int
	header http.Header
	closed bool // the response announced the end of the connection
	raw    string
	body   map[string]any // nil when the body is not a JSON object
}

// field returns a member of the body by its path, such as "receipt/sequence".
func (r reply) field(path string) any {
	var at any = r.body
	for _, part := range strings.Split(path, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[part]
	}
	return at
}

func (r reply) text(path string) string { s, _ := r.field(path).(string); return s }

func readReply(res *http.Response) (reply, error) {
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: res.StatusCode, header: res.Header, closed: res.Close, raw: string(raw)}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	_ = dec.Decode(&r.body)
	return r, nil
}

// call sends a request over an ordinary client. Headers come as name, value, name, value.
func (s *site) call(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := s.try(method, path, body, headers...)
	if err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return r
}

// client has no redirect, no compression and no limit on connections.
var client = &http.Client{
	Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100},
	Timeout:   70 * time.Second,
}

func (s *site) try(method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	if s.credential != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+s.credential)
	}
	via := client
	if s.client != nil {
		via = s.client
	}
	res, err := via.Do(req)
	if err != nil {
		return reply{}, err
	}
	r, err := readReply(res)
	if err == nil {
		described31.seen(s.t, method, path, r)
	}
	return r, err
}

// dial opens a connection that is closed with the test.
func (s *site) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// raw writes bytes on a connection of its own and returns every response until the server closes it or says nothing
// more for a second after the first one.
func (s *site) raw(request string) []reply {
	s.t.Helper()
	conn := s.dial()
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	replies := readReplies(s.t, conn, strings.HasPrefix(request, "HEAD "))
	if len(replies) == 1 {
		method, path := requestLine(request)
		described31.seen(s.t, method, path, replies[0])
	}
	return replies
}

// one is raw for a request that must get exactly one response.
func (s *site) one(request string) reply {
	s.t.Helper()
	replies := s.raw(request)
	if len(replies) != 1 {
		s.t.Fatalf("got %d responses, want 1", len(replies))
	}
	return replies[0]
}

func readReplies(t *testing.T, conn net.Conn, head bool) []reply {
	t.Helper()
	in := bufio.NewReader(conn)
	var asked *http.Request
	if head {
		asked = &http.Request{Method: http.MethodHead}
	}
	var replies []reply
	for {
		res, err := http.ReadResponse(in, asked)
		if err != nil {
			return replies
		}
		r, err := readReply(res)
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, r)
		if res.Close {
			return replies
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkProblem checks a refusal: its status, its code, and that the document is complete.
func checkProblem(t *testing.T, r reply, status int, code string) {
	t.Helper()
	if r.status != status || r.text("code") != code {
		t.Fatalf("got %d %s, want %d %s", r.status, r.raw, status, code)
	}
	checkHeaders(t, r)
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type: got %q", got)
	}
	if r.text("type") != problemBase+code || r.text("instance") != "urn:request:"+r.header.Get("X-Request-Id") {
		t.Errorf("type and instance: got %s %s", r.text("type"), r.text("instance"))
	}
	for _, member := range []string{"title", "detail", "verdict"} {
		if r.text(member) == "" {
			t.Errorf("%s is missing in %s", member, r.raw)
		}
	}
	if _, ok := r.field("retryable").(bool); !ok {
		t.Errorf("retryable is missing in %s", r.raw)
	}
}

// checkHeaders checks what every response carries.
func checkHeaders(t *testing.T, r reply) {
	t.Helper()
	if r.header.Get("X-Request-Id") == "" {
		t.Error("X-Request-Id is missing")
	}
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: got %q", got)
	}
	if got := r.header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options: got %q", got)
	}
	for name := range r.header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "Etag" {
			t.Errorf("unexpected header %s", name)
		}
	}
	later := r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests
	if got := r.header.Get("Retry-After"); (got != "") != later {
		t.Errorf("status %d with Retry-After %q", r.status, got)
	}
}
