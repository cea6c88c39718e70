package engine

import (
	"context"
	"sync"
	"time"
)

const (
	// heartbeatEvery is how often a process says which code it has; after 30 s of silence it counts as gone.
	heartbeatEvery = 10 * time.Second
	// leaveTimeout bounds the farewell of a process that shuts down.
	leaveTimeout = 2 * time.Second
)

// heartbeat says which code this process has until ctx ends, then takes it back. It closes first after the first attempt.
func (e *Engine) heartbeat(ctx context.Context, codes []Code, first chan<- struct{}) error {
	said := sync.OnceFunc(func() { close(first) })
	defer said()
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	failing := false
	for {
		err := e.store.Heartbeat(ctx, e.cfg.Process, stored(codes))
		if err != nil && !failing && ctx.Err() == nil {
			e.cfg.Logger.Warn().Err(err).Msg("this process cannot say which workflows it runs")
		}
		failing = err != nil
		said()
		select {
		case <-ctx.Done():
			return e.leave(ctx)
		case <-ticker.C:
		}
	}
}

// leave is best effort: a process that could not say that it goes is taken for dead soon.
func (e *Engine) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := e.store.Leave(ctx, e.cfg.Process); err != nil {
		e.cfg.Logger.Info().Err(err).Msg("this process could not sign off")
	}
	return nil
}
