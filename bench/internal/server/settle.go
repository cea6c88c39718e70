package server

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// After heavy writing a disk may be several times slower for some seconds.
const (
	settleWithin = 4 * time.Second
	settlePause  = 150 * time.Millisecond
	probes       = 15
)

// Settle has everything written to disk and waits, for some seconds at most, until a commit takes about as long as it
// took at best, so that no measurement pays for the one before.
func (s *Server) Settle(ctx context.Context) error {
	return s.maintain(ctx, func(conn *pgx.Conn) error {
		for _, sql := range []string{"CHECKPOINT", "CREATE TABLE IF NOT EXISTS probe (n int)"} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		for begin := time.Now(); ; {
			took, err := probe(ctx, conn)
			if err != nil {
				return err
			}
			if s.calm == 0 || took < s.calm {
				s.calm = took
			}
			if took < 2*s.calm || time.Since(begin) > settleWithin {
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(settlePause):
			}
		}
	})
}

// probe is the middle one of the times of some commits.
func probe(ctx context.Context, conn *pgx.Conn) (time.Duration, error) {
	var times []time.Duration
	for range probes {
		begin := time.Now()
		if _, err := conn.Exec(ctx, "INSERT INTO probe VALUES (1)"); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
