package load_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
)

func TestConnTakesEveryFormOfAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/chunks":
			_, _ = io.WriteString(w, long)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "end")
		case "/close":
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusAccepted)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("X-Who")+" "+r.Header.Get("Content-Type")+" "+string(body))
		}
	}))
	t.Cleanup(server.Close)
	c, err := load.Dial(t.Context(), server.Listener.Addr().String(), "X-Who: me\r\n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/", "{}", 200, "POST me application/json {}"},
		{"GET", "/", "", 200, "GET me  "},
		{"GET", "/chunks", "", 200, long + "end"},
		{"GET", "/empty", "", 204, ""},
		{"GET", "/close", "", 202, ""},
		{"POST", "/", "again", 200, "POST me application/json again"},
	} {
		var body []byte
		if tt.body != "" {
			body = []byte(tt.body)
		}
		status, got, err := c.Do(t.Context(), tt.method, tt.path, body, 10*time.Second)
		if err != nil || status != tt.status || string(got) != tt.want {
			t.Errorf("%s %s: %d, %d bytes, want %d and %d: %v", tt.method, tt.path, status, len(got), tt.status, len(tt.want), err)
		}
	}
}

func TestConnSendsAgainWhatMetAClosedConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(server.Close)
	c, err := load.Dial(t.Context(), server.Listener.Addr().String(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for range 3 {
		if status, _, err := c.Do(t.Context(), "GET", "/", nil, 10*time.Second); err != nil || status != 200 {
			t.Fatalf("%d: %v", status, err)
		}
		server.CloseClientConnections()
	}
}
