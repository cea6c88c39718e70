// Package floor has the figures to compare with: what PostgreSQL itself can do on the same server in the same run for
// the durable facts that a workflow engine needs. Nothing here is an engine: there is no workflow code, no replay and no
// second process. Every client is a goroutine of this process, as those of the engine are.
package floor

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/bench/internal/server"
)

// Payload is what starts and signals carry: 200 bytes of JSON.
var Payload = []byte(`{"text":"` + strings.Repeat("x", 189) + `"}`)

// Speed is what a floor reached.
type Speed struct {
	PerSecond float64
	P50       float64 // of one piece of work with this number of clients, in milliseconds
}

// open makes a fresh database with the given tables and a pool whose plans keep to keys: for an array of unknown length
// the planner may otherwise scan a whole table.
func open(ctx context.Context, s *server.Server, clients int, tables ...string) (*pgxpool.Pool, error) {
	d, err := s.Empty(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := d.Pool(ctx, clients, map[string]string{
		"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
	})
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if _, err := pool.Exec(ctx, table); err != nil {
			pool.Close()
			return nil, err
		}
	}
	return pool, nil
}
