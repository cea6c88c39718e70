package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

const (
	gaugesCached  = 10 * time.Second
	gaugesTimeout = 500 * time.Millisecond
)

// gauges asks the database at most once in 10 s, however many scrape, and waits for it for half a second.
type gauges struct {
	read  func(context.Context) (engine.Gauges, error)
	clock func() time.Time

	mu    sync.Mutex
	asked time.Time
	known engine.Gauges
	err   error
}

// get is what the database said last; the error says that it did not.
func (g *gauges) get() (engine.Gauges, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if age := g.clock().Sub(g.asked); !g.asked.IsZero() && age >= 0 && age < gaugesCached {
		return g.known, g.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
	defer cancel()
	g.known, g.err = g.read(ctx)
	g.asked = g.clock()
	return g.known, g.err
}
