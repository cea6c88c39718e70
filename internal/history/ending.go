package history

import (
	"slices"

	"github.com/flowgate-go/flowgate/spec"
)

// end closes the run or its generation: open hooks first, each with its cause, then the ending itself.
func (t *Turn) end(c Command) {
	t.ended = true
	switch c := c.(type) {
	case *Complete:
		t.closeHooks(StateRunEnded)
		t.emit(&RunCompleted{Digest: c.Output.Digest(), Output: c.Output})
	case *Fail:
		t.closeHooks(StateRunEnded)
		t.emit(&RunFailed{Message: printable(c.Message)})
	case *AcceptCancel:
		t.closeHooks(StateCancelled)
		t.emit(&RunCancelled{})
	case *ContinueAsNew:
		t.continueAsNew(c)
	}
}

// closeHooks ends every open hook in order of ID: with the cause, or as expired when its deadline is past, which is what
// its callers were told since.
func (t *Turn) closeHooks(cause HookState) {
	var open []spec.HookID
	for id, h := range t.state.hooks {
		if h.rejected == nil && h.record.State == StateActive {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	for _, id := range open {
		t.markClosed(id)
		if t.state.hooks[id].record.Expired(t.now) {
			t.emit(&HookExpired{HookID: id})
			continue
		}
		t.emit(&HookClosed{HookID: id, Cause: cause})
	}
}

// continueAsNew opens the next generation. Hooks of this turn are remembered before the state forgets the generation.
func (t *Turn) continueAsNew(c *ContinueAsNew) {
	s := t.state
	carried, records := s.carried(), t.hookRecords()
	t.emit(&RunContinued{
		Workflow: s.workflow, Version: s.version, SpecDigest: s.specDigest, Digest: c.Input.Digest(), Input: c.Input,
		StartedAt: s.startedAt, OpenedAt: t.effective(), CancelRequested: s.cancelRequested, Hooks: carried, Unread: s.unreadRanges(),
		TakenTo: s.takenTo,
	})
	t.remembered = &records
}
