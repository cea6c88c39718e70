package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// The back-off between attempts to listen again, and how long one attempt may take.
const (
	listenPauseMin = 100 * time.Millisecond
	listenPauseMax = 5 * time.Second
	listenTime     = 5 * time.Second
)

// Heed are what is called for the hints of other processes.
type Heed struct {
	Ready func() // a run became due
	Ended func() // a run, or an update of one, ended
	Tasks func() // a task is due
}

// Listen calls the functions when another process hints at what they are for: what this Store did is told by Config, but
// for a commit of which nobody knows whether it took effect. It holds one connection outside the pool, connects again when
// that is lost, and calls all of them once after each connect, because hints may have been missed. It returns nil when ctx
// ends. The functions are called one at a time and must not block.
func (s *Store) Listen(ctx context.Context, heed Heed) error {
	pause := listenPauseMin
	for ctx.Err() == nil {
		conn, err := s.subscribe(ctx)
		if err == nil {
			pause = listenPauseMin
			err = s.hear(ctx, conn, heed)
			s.notify.close(conn)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the connection ended because ctx did
		}
		s.cfg.Log.Warn().Err(translate(err)).Dur("retry_in", pause).Msg("no hints from other processes; polling goes on")
		rest(ctx, pause)
		pause = min(2*pause, listenPauseMax)
	}
	return nil
}

func (s *Store) subscribe(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, listenTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.notify.config.Copy())
	if err != nil {
		return nil, err
	}
	for _, channel := range []string{readyChannel, tasksChannel, endedChannel} {
		if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
			s.notify.close(conn)
			return nil, err
		}
	}
	return conn, nil
}

func (s *Store) hear(ctx context.Context, conn *pgx.Conn, heed Heed) error {
	heed.Ready()
	heed.Ended()
	heed.Tasks()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		switch {
		case s.notify.own(n):
		case n.Channel == readyChannel:
			heed.Ready()
		case n.Channel == endedChannel:
			heed.Ended()
		case n.Channel == tasksChannel:
			heed.Tasks()
		}
	}
}
