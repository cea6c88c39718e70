package main

import (
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Modes of the workflows that misbehave.
const (
	modeOnce   = "once"   // at the first call in each process, until the fixed deployment
	modeBroken = "broken" // at every call, until the fixed deployment
	modeAlways = "always" // at every call
)

// tooLong is longer than a call may take by default.
const tooLong = 1300 * time.Millisecond

// broken are functions that break the rules of workflow code, and keep state of their process, which workflow code must
// not either. When they do not misbehave they collect signals.
type broken struct {
	fixed  bool
	called sync.Map // of spec.RunID
}

// misbehaves says whether this call does.
func (b *broken) misbehaves(run spec.RunID, mode string) bool {
	switch mode {
	case modeAlways:
		return true
	case modeBroken:
		return !b.fixed
	}
	_, before := b.called.LoadOrStore(run, true)
	return !b.fixed && !before
}

func (b *broken) slow(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if b.misbehaves(ctx.RunID(), in.Mode) {
		<-time.After(tooLong)
	}
	return collect(ctx)
}

func (b *broken) panics(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[input](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if b.misbehaves(ctx.RunID(), in.Mode) {
		panic("soak: a workflow that panics")
	}
	return collect(ctx)
}
