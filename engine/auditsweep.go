package engine

import (
	"context"
	"errors"
	"time"
)

const (
	// auditSweepEvery is how often a process looks for entries of the audit trail that are too old.
	auditSweepEvery = time.Minute
	// auditSweepSize is how many go in one transaction.
	auditSweepSize = 1000
)

// sweepAudit lets entries of the audit trail go that are older than Config.AuditKeep, until ctx ends. Processes that do it at
// the same time pass over what another one is at.
func (e *Engine) sweepAudit(ctx context.Context) error {
	pause := time.NewTicker(auditSweepEvery)
	defer pause.Stop()
	for {
		n, err := e.store.SweepAudit(ctx, auditSweepSize, e.cfg.AuditKeep)
		if err != nil && !errors.Is(err, ErrUnavailable) {
			e.cfg.Logger.Error().Err(err).Msg("old entries of the audit trail cannot be deleted; it is tried again")
		}
		if n == auditSweepSize && ctx.Err() == nil {
			continue // there may be more
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}
