package httppost_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// stored is the output as the engine stores it: it must be a payload.
func stored(t *testing.T, out *httppost.Output) string {
	t.Helper()
	p, err := canon.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(p.Bytes())
}

func TestWhatAnOutputKeeps(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	for _, tt := range []struct {
		name, kind, body string
		want             string // JSON
		cut              bool
	}{
		{"JSON as it is", "application/json", `{"b":1.0,"a":12345678901234567890,"c":[null]}`, `{"b":1.0,"a":12345678901234567890,"c":[null]}`, false},
		{"a JSON type", "application/problem+json; charset=utf-8", `"x"`, `"x"`, false},
		{"JSON that is not declared", "text/plain", `{"a":1}`, `"{\"a\":1}"`, false},
		{"text", "text/plain", "ok", `"ok"`, false},
		{"no type", "", "ok", `"ok"`, false},
		{"nothing", "application/json", "", `null`, false},
		{"broken JSON", "application/json", `{"a":`, `"{\"a\":"`, false},
		{"JSON with a name twice", "application/json", `{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`, false},
		{"JSON that is too deep", "application/json", deep, `"` + deep + `"`, false},
		{"JSON with NUL", "application/json", `"\u0000"`, `"\"\\u0000\""`, false},
		{"NUL", "text/plain", "a\x00b", "\"a\uFFFDb\"", false},
		{"not UTF-8", "text/plain", "a\xffb", "\"a\uFFFDb\"", false},
		{"as much as fits", "text/plain", strings.Repeat("x", 128), `"` + strings.Repeat("x", 128) + `"`, false},
		{"more than fits", "text/plain", strings.Repeat("x", 129), `"` + strings.Repeat("x", 128) + `"`, true},
		{"JSON that does not fit", "application/json", `["` + strings.Repeat("x", 128) + `"]`, `"[\"` + strings.Repeat("x", 126) + `"`, true},
		{"a character on the edge", "text/plain", strings.Repeat("x", 127) + "ü", `"` + strings.Repeat("x", 127) + `"`, true},
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tt.kind}
			w.Header().Set("X-Request-Id", "r1")
			w.Header()["Set-Cookie"] = []string{hush}
			_, _ = io.WriteString(w, tt.body)
		})
		c := r.reaching()
		c.CaptureBytes = 128
		out, err := doIn(t.Context(), newPoster(t, c), stepOf(t, httppost.Input{URL: r.URL, Body: 1, CaptureHeaders: []string{"x-request-id", "X-None"}}, 3))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		body, err := json.Marshal(out.Body)
		if err != nil || string(body) != tt.want || out.Truncated != tt.cut {
			t.Errorf("%s: %s, cut %v, %v; want %s, %v", tt.name, body, out.Truncated, err, tt.want, tt.cut)
		}
		if len(out.Headers) != 1 || out.Headers["x-request-id"] != "r1" || out.Attempt != 3 || out.Status != 200 || out.MessageID != key {
			t.Errorf("%s: %+v", tt.name, out)
		}
		if strings.Contains(stored(t, out), hush) {
			t.Errorf("%s: %s", tt.name, stored(t, out))
		}
	}
}

// Neither a huge body nor an endless one is read further than what is kept.
func TestHugeBodiesAreCut(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		chunk := strings.Repeat("\x01", 4096)
		for {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	c := r.reaching()
	c.CaptureBytes = httppost.LimitCaptureBytes
	out, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1})
	if err != nil {
		t.Fatal(err)
	}
	<-gone
	if !out.Truncated || len(out.Body.(string)) != httppost.LimitCaptureBytes {
		t.Errorf("cut %v, %d bytes", out.Truncated, len(out.Body.(string)))
	}
	if n := len(stored(t, out)); n > canon.DefaultLimits.MaxBytes {
		t.Errorf("an output of %d bytes is no payload", n)
	}
}

func TestNoBodyIsKept(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })
	out, err := do(t, newPoster(t, r.reaching()), httppost.Input{URL: r.URL, Body: 1, CaptureBytes: new(int)})
	if err != nil || out.Body != nil || !out.Truncated {
		t.Errorf("%+v, %v", out, err)
	}
}

// A body that breaks off does not undo a success: the endpoint has said that it took the message.
func TestBodiesThatBreakOff(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Type: application/json\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n",
	} {
		port, url := raw(t, answer)
		p := newPoster(t, httppost.Config{
			AllowHTTP: true, Ports: []uint16{port}, InternalNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		})
		out, err := do(t, p, httppost.Input{URL: url, Body: 1})
		if err != nil || out.Body != "{}" || !out.Truncated {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestHeadersOfAResponseAreBounded(t *testing.T) {
	t.Parallel()
	port, url := raw(t, "HTTP/1.1 204 No Content\r\nX-A: \xff\xfe"+strings.Repeat("x", 5000)+"\r\nX-A: second\r\n\r\n")
	p := newPoster(t, httppost.Config{
		AllowHTTP: true, Ports: []uint16{port}, InternalNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	})
	out, err := do(t, p, httppost.Input{URL: url, Body: 1, CaptureHeaders: []string{"X-A"}})
	if err != nil {
		t.Fatal(err)
	}
	if v := out.Headers["X-A"]; len(v) > 600 || !utf8.ValidString(v) || !strings.HasPrefix(v, "\uFFFDxx") {
		t.Errorf("%d bytes: %.20q", len(v), v)
	}
	stored(t, out)
}
