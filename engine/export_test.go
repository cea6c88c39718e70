package engine

// ClaimOnly keeps an engine from advancing runs that its own commits made due without a claim, so that a test can say when
// turns are taken. It comes before Run.
func (e *Engine) ClaimOnly() { e.claimOnly = true }
