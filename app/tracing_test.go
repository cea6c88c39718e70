package app_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// A process that is told of a collector sends it its spans, the last ones when it ends.
func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	var found atomic.Bool
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == "/v1/traces" && bytes.Contains(raw, []byte("GET /v1/workflows")) {
			found.Store(true)
		}
	}))
	t.Cleanup(collector.Close)
	env := deployment(pgtest.URL(t))
	env["FLOWGATE_OTLP_ENDPOINT"] = collector.URL + "/v1/traces"
	p := launch(t, env, "serve", "--examples", "--open-api")
	call(t, http.StatusOK, "GET", p.url+"/v1/workflows", "")
	eventually(t, "the span is at the collector", found.Load)
}

func TestEndpointsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"collector-host:4318", "ftp://collector-host", "http://", "http://user:secret-word@collector-host/", "http://[::1", "\x00"} {
		env := nowhere()
		env["FLOWGATE_OTLP_ENDPOINT"] = bad
		_, _, err := runWith(t, env, "serve", "--examples")
		if err == nil || !strings.Contains(err.Error(), "FLOWGATE_OTLP_ENDPOINT") || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
