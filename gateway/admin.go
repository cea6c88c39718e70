package gateway

import (
	"context"
	"io"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

const (
	pingTimeout = 500 * time.Millisecond
	pingCached  = time.Second // how long an answer of the database is believed
)

// Admin is the handler of the admin listener: GET /livez is 200 while the process answers at all, GET /readyz is 200
// while the database answers and draining, which may be nil, is false. It shows nothing about runs, but belongs on a
// listener that the outside world does not reach.
func Admin(e *engine.Engine, draining func() bool) http.Handler {
	ready := &readiness{ping: e.Ping, draining: draining}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "live") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if ready.check(r.Context()) {
			say(w, http.StatusOK, "ready")
			return
		}
		say(w, http.StatusServiceUnavailable, "not ready")
	})
	return exactPath(mux)
}

// exactPath keeps the mux from answering another spelling of a path, such as one with //, by a redirect to the path as
// it should be: a prober does not follow, and the answer would repeat what was asked.
func exactPath(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean(r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func say(w http.ResponseWriter, status int, word string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A prober that left does not need the word.
	_, _ = io.WriteString(w, word+"\n")
}

// readiness asks the database at most once per second, however many ask it.
type readiness struct {
	ping     func(context.Context) error
	draining func() bool

	mu      sync.Mutex
	asked   time.Time
	reached bool
}

func (r *readiness) check(ctx context.Context) bool {
	if r.draining != nil && r.draining() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.asked) < pingCached {
		return r.reached
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	r.reached = r.ping(ctx) == nil
	r.asked = time.Now()
	return r.reached
}
