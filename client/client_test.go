package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/client"
)

const secret = "fhe_secret-of-the-test"

// fake answers in turn with what it was given, the last one for ever.
type fake struct {
	*httptest.Server
	asked  atomic.Int64
	pauses []time.Duration
}

type scripted struct {
	status int
	header map[string]string
	body   string
}

func newFake(t *testing.T, script ...scripted) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := script[min(int(f.asked.Add(1)), len(script))-1]
		if s.status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name, value := range s.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) client(t *testing.T, change func(*client.Options)) *client.Client {
	t.Helper()
	options := client.Options{
		Token: secret, MaxAttempts: 4, Chance: func() float64 { return 0 },
		Pause: func(ctx context.Context, d time.Duration) error { f.pauses = append(f.pauses, d); return ctx.Err() },
	}
	if change != nil {
		change(&options)
	}
	c, err := client.New(f.URL, options)
	check(t, err)
	return c
}

func problem(status int, code, verdict string) scripted {
	return scripted{status: status, body: fmt.Sprintf(`{"status":%d,"code":%q,"detail":"A sentence.","verdict":%q}`, status, code, verdict)}
}

var accepted = scripted{status: 202, body: `{"outcome":"accepted","verdict":"accepted","receipt":{"run_id":"r"},"request_id":"x"}`}

// What is lost, 408, 429 and 503 are tried again; everything else is an answer.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first scripted
		again bool
		is    error
	}{
		"a reply that is lost":   {scripted{}, true, client.ErrBusy},
		"half a reply":           {scripted{status: 202, header: map[string]string{"Content-Length": "999"}, body: `{"outc`}, true, client.ErrBusy},
		"a slow request":         {problem(408, "request-timeout", "busy"), true, client.ErrBusy},
		"too many":               {problem(429, "rate-limited", "busy"), true, client.ErrBusy},
		"not now":                {problem(503, "unavailable", "busy"), true, client.ErrBusy},
		"a proxy without it":     {scripted{status: 502, body: "<html>"}, true, client.ErrBusy},
		"a fault":                {problem(500, "internal", "busy"), false, client.ErrBusy},
		"bad form":               {problem(400, "invalid-argument", "invalid"), false, client.ErrInvalid},
		"no credential":          {problem(401, "unauthorized", "denied"), false, client.ErrDenied},
		"no right":               {problem(403, "forbidden", "denied"), false, client.ErrDenied},
		"nothing there":          {problem(404, "not-found", "unknown"), false, client.ErrUnknown},
		"a conflict":             {problem(409, "signal-conflict", "conflict"), false, client.ErrConflict},
		"an end":                 {problem(410, "run-ended", "gone"), false, client.ErrGone},
		"a broken schema":        {problem(422, "payload-schema", "invalid"), false, client.ErrInvalid},
		"a redirect":             {scripted{status: 307, header: map[string]string{"Location": "/elsewhere"}}, false, client.ErrNoGateway},
		"some other server":      {scripted{status: 200, body: "<html>"}, false, client.ErrNoGateway},
		"another server's error": {scripted{status: 404, body: `{"error":"x"}`}, false, client.ErrNoGateway},
		"a verdict of nobody's":  {problem(400, "invalid-argument", "splendid"), false, client.ErrNoGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, once := range []bool{true, false} {
				f := newFake(t, tt.first, accepted)
				if !once {
					f = newFake(t, tt.first)
				}
				_, err := f.client(t, nil).Retry(t.Context(), "r")
				want := int64(1)
				if tt.again {
					want = 2
				}
				if tt.again && !once {
					want = 4
				}
				if f.asked.Load() != want {
					t.Errorf("asked %d times, want %d", f.asked.Load(), want)
				}
				if good := tt.again && once; good != (err == nil) {
					t.Fatalf("error %v", err)
				}
				if err != nil && !errors.Is(err, tt.is) {
					t.Errorf("error %v, want it to be %v", err, tt.is)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the credential is in %q", err)
				}
			}
		})
	}
}

// Pauses double up to their limit, are given spread, and heed Retry-After within the limit.
func TestPauses(t *testing.T) {
	t.Parallel()
	f := newFake(t, scripted{})
	_, err := f.client(t, func(o *client.Options) {
		o.MaxAttempts, o.Backoff, o.MaxBackoff = 6, 100*time.Millisecond, time.Second
	}).Retry(t.Context(), "r")
	var away *client.UnreachableError
	if !errors.As(err, &away) || away.Attempts != 6 {
		t.Errorf("error %v", err)
	}
	if got := fmt.Sprint(f.pauses); got != "[50ms 100ms 200ms 400ms 500ms]" {
		t.Errorf("pauses %s", got)
	}
	later := problem(503, "unavailable", "busy")
	later.header = map[string]string{"Retry-After": "3"}
	much := problem(429, "rate-limited", "busy")
	much.header = map[string]string{"Retry-After": "86400"}
	odd := problem(429, "rate-limited", "busy")
	odd.header = map[string]string{"Retry-After": "-5"}
	f = newFake(t, later, much, odd)
	_, err = f.client(t, func(o *client.Options) { o.Chance = func() float64 { return 1 } }).Retry(t.Context(), "r")
	if !errors.Is(err, client.ErrBusy) {
		t.Errorf("error %v", err)
	}
	if got := fmt.Sprint(f.pauses); got != "[3.75s 10s 400ms]" {
		t.Errorf("pauses %s", got)
	}
}

// The end of the context ends the tries, and says so.
func TestContextEndsTries(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, scripted{})
	c := f.client(t, func(o *client.Options) {
		o.Pause = func(context.Context, time.Duration) error { cancel(); return ctx.Err() }
	})
	if _, err := c.Retry(ctx, "r"); !errors.Is(err, context.Canceled) || f.asked.Load() != 1 {
		t.Errorf("error %v after %d tries", err, f.asked.Load())
	}
}

// What no gateway would take is refused without a request.
func TestBadArgumentsAreRefusedHere(t *testing.T) {
	t.Parallel()
	f := newFake(t, accepted)
	c := f.client(t, nil)
	ctx := t.Context()
	for name, err := range map[string]error{
		"an empty run":      second(c.Run(ctx, "", 0)),
		"a long run":        second(c.Retry(ctx, spec255+"x")),
		"an empty hook":     second(c.Hook(ctx, "r", "")),
		"a key of controls": second(c.SendSignal(ctx, "r", "s", client.Message{ID: "a\r\nX-Evil: 1"})),
		"a name of nothing": second(c.SendSignal(ctx, "r", "", client.Message{ID: "a"})),
		"an empty letter":   second(c.ReplayLetter(ctx, "")),
		"no workflow":       second(c.SignalWithStart(ctx, client.SignalWithStartRequest{Name: "s"})),
		"an input of none":  second(c.Start(ctx, client.StartRequest{Workflow: "w", Input: raw(`{`)})),
		"an empty update":   second(c.Update(ctx, "r", "", 0)),
		"no query":          second(c.Query(ctx, "r", "", nil)),
	} {
		var p *client.Problem
		if !errors.Is(err, client.ErrInvalid) || !errors.As(err, &p) || p.Status != 0 || p.Code == "" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if f.asked.Load() != 0 {
		t.Errorf("%d requests were sent", f.asked.Load())
	}
	for _, url := range []string{"", "gate.example.com", "ftp://gate", "http://", "http://u:p@gate", "http://gate?x=1", "http://gate#x", "http://%zz"} {
		if _, err := client.New(url, client.Options{}); !errors.Is(err, client.ErrURL) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: error %v", url, err)
		}
	}
}

const spec255 = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"

func second[T any](_ T, err error) error { return err }

// A redirect is not followed: the credential is for the gateway that was named.
func TestCredentialStaysWithTheGateway(t *testing.T) {
	t.Parallel()
	elsewhere := newFake(t, accepted)
	f := newFake(t, scripted{status: 307, header: map[string]string{"Location": elsewhere.URL}})
	c := f.client(t, func(o *client.Options) { o.HTTPClient = &http.Client{} })
	if _, err := c.Retry(t.Context(), "r"); !errors.Is(err, client.ErrNoGateway) || elsewhere.asked.Load() != 0 {
		t.Errorf("error %v, %d requests elsewhere", err, elsewhere.asked.Load())
	}
}

// A broken source of randomness is an error, and no ID that somebody else may have.
func TestIDs(t *testing.T) {
	t.Parallel()
	f := newFake(t, accepted)
	c := f.client(t, func(o *client.Options) {
		o.Clock, o.Random = func() time.Time { return time.UnixMilli(0x0192_3456_789a) }, bytes.NewReader(bytes.Repeat([]byte{0xff}, 10))
	})
	if id, err := c.NewID(); err != nil || id != "01923456-789a-7fff-bfff-ffffffffffff" {
		t.Errorf("ID %q, error %v", id, err)
	}
	if _, err := c.Start(t.Context(), client.StartRequest{Workflow: "w"}); !errors.Is(err, io.EOF) || f.asked.Load() != 0 {
		t.Errorf("error %v", err)
	}
}

// strict reads an answer into a new value of its type and finds members that the type does not have.
func strict[T any](t *testing.T, raw json.RawMessage, _ T) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(new(T)); err != nil {
		t.Errorf("%v in %s", err, raw)
	}
}
