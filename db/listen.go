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

// Listen calls onReady and onEnded when another process hints that a run became due or ended: what this Store did is told
// by Config, but for a commit of which nobody knows whether it took effect. It holds
// one connection outside the pool, connects again when that is lost, and calls both once after each connect, because
// hints may have been missed. It returns nil when ctx ends. The functions are called one at a time and must not block.
func (s *Store) Listen(ctx context.Context, onReady, onEnded func()) error {
	pause := listenPauseMin
	for ctx.Err() == nil {
		conn, err := s.subscribe(ctx)
		if err == nil {
			pause = listenPauseMin
			err = s.hear(ctx, conn, onReady, onEnded)
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
	for _, channel := range []string{readyChannel, endedChannel} {
		if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
			s.notify.close(conn)
			return nil, err
		}
	}
	return conn, nil
}

func (s *Store) hear(ctx context.Context, conn *pgx.Conn, onReady, onEnded func()) error {
	onReady()
	onEnded()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		switch {
		case s.notify.own(n):
		case n.Channel == readyChannel:
			onReady()
		case n.Channel == endedChannel:
			onEnded()
		}
	}
}
