package engine

import (
	"github.com/flowgate-go/flowgate/internal/history"
)

// ClaimOnly keeps an engine from advancing runs that its own commits made due without a claim, so that a test can say when
// turns are taken. It comes before Run.
func (e *Engine) ClaimOnly() { e.claimOnly = true }

// ClaimTasks keeps an engine from beginning tasks without a claim, so that a test can say when they are begun. It comes
// before Run.
func (e *Engine) ClaimTasks() { e.claimTasks = true }

// LookForTasks has this process look for tasks that are due.
func (e *Engine) LookForTasks() { hint(e.tasks) }

// IdempotencyKey names a step among all steps of all runs.
func IdempotencyKey(run history.RunKey, generation int, stepID string) string {
	return idempotencyKey(run, generation, stepID)
}
