package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway"
)

// Sources are what a process is made of. Engine is required.
type Sources struct {
	Engine  *engine.Engine
	Gateway *gateway.Gateway // nil: this process has none
	Version string           // of the program
	Clock   func() time.Time // nil: time.Now; by it the figures of the database are kept for 10 s
}

// maxScrapes bounds the scrapes at a time; one more is answered 503.
const maxScrapes = 4

// Registry has all series of a process, those of the Go runtime and of the operating system's process included. It is one of
// its own: nothing that a library registers by itself is in it.
func Registry(from Sources) *prometheus.Registry {
	if from.Clock == nil {
		from.Clock = time.Now
	}
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{Sources: from, gauges: gauges{read: from.Engine.Gauges, clock: from.Clock}},
	)
	return r
}

// Handler answers a scrape. It belongs on a listener that the outside world does not reach.
func Handler(from Sources) http.Handler {
	return promhttp.HandlerFor(Registry(from), promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes,
	})
}
