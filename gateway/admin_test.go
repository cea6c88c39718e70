package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

// adminSite is the admin handler on a socket.
type adminSite struct {
	t    *testing.T
	base string
}

func adminOf(t *testing.T, eng *engine.Engine, draining func() bool) adminSite {
	t.Helper()
	server := httptest.NewServer(Admin(eng, draining))
	t.Cleanup(server.Close)
	return adminSite{t: t, base: server.URL}
}

func (a adminSite) status(path string) int {
	a.t.Helper()
	res, err := http.Get(a.base + path)
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := readReply(res)
	if err != nil {
		a.t.Fatal(err)
	}
	if r.status != http.StatusNotFound && r.header.Get("Cache-Control") != "no-store" {
		a.t.Errorf("%s may be cached", path)
	}
	return r.status
}

func (a adminSite) want(path string, status int) {
	a.t.Helper()
	if got := a.status(path); got != status {
		a.t.Errorf("%s: got %d, want %d", path, got, status)
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	draining := false
	admin := adminOf(t, newEngine(t), func() bool { return draining })
	admin.want("/livez", 200)
	admin.want("/readyz", 200)
	admin.want("/metrics", 404)
	admin.want("/", 404)
	draining = true
	admin.want("/livez", 200)
	admin.want("/readyz", 503)
	res, err := http.Post(admin.base+"/livez", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d", res.StatusCode)
	}
}
