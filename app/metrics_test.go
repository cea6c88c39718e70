package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// The figures of a process are for the admin listener. The public one does not have them, whoever asks and however.
func TestMetricsAreOnTheAdminListenerOnly(t *testing.T) {
	t.Parallel()
	p := launch(t, deployment(pgtest.URL(t)), "serve", "--examples", "--open-api")
	res, err := http.Get(p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	for _, series := range []string{
		"flowgate_build_info{version=", "flowgate_metrics_database_up 1", "go_goroutines", "process_resident_memory_bytes",
		`flowgate_receipts_total{kind="hook",verdict="conflict"} 0`,
	} {
		if !strings.Contains(string(raw), "\n"+series) {
			t.Errorf("%s is missing in\n%.2000s", series, raw)
		}
	}
	for _, path := range []string{"/metrics", "/metrics/", "//metrics", "/v1/metrics", "/v1/../metrics", "/%6detrics"} {
		if r, err := try("GET", p.url+path, ""); err != nil || r.status != http.StatusNotFound {
			t.Errorf("public %s: %d %v", path, r.status, err)
		}
	}
	for _, method := range []string{"POST", "DELETE"} {
		if r, err := try(method, p.admin+"/metrics", ""); err != nil || r.status == http.StatusOK {
			t.Errorf("%s on the admin listener: %d %v", method, r.status, err)
		}
	}
	if r, err := try("GET", p.admin+"//metrics", ""); err != nil || r.status != http.StatusNotFound {
		t.Errorf("another spelling: %d %v", r.status, err)
	}
}
