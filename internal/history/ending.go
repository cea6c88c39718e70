package history

import (
	"maps"
	"slices"
)

// end closes the run or its generation: open hooks first, each with its cause, then the ending itself.
func (t *Turn) end(c Command) {
	t.ended = true
	switch c := c.(type) {
	case *Complete:
		t.closeAll(StateRunEnded)
		t.emit(&RunCompleted{Digest: c.Output.Digest(), Output: c.Output})
	case *Fail:
		t.closeAll(StateRunEnded)
		t.emit(&RunFailed{Message: printable(c.Message)})
	case *AcceptCancel:
		t.closeAll(StateCancelled)
		t.emit(&RunCancelled{})
	case *ContinueAsNew:
		t.continueAsNew(c)
	}
}

// closeAll ends what is open when the run ends, and has its parent told.
func (t *Turn) closeAll(cause HookState) {
	t.closeHooks(cause)
	t.closeTasks(cause)
	t.orphanUpdates(cause)
	if parent := t.run.Parent; parent != nil {
		t.newTasks = append(t.newTasks, parent.report(t.state.generation))
	}
}

// closeHooks ends every open hook in order of ID: with the cause, or as expired when its deadline is past, which is what
// its callers were told since.
func (t *Turn) closeHooks(cause HookState) {
	for _, id := range slices.Sorted(maps.Keys(t.state.active)) {
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
		StartedAt: s.startedAt, OpenedAt: t.effective(), CancelRequested: s.cancelShown, CancelPending: s.pendingCancel(),
		Hooks: carried, Unread: s.unreadRanges(), OpenUpdates: s.openUpdates(), TakenTo: s.takenTo,
	})
	t.remembered = &records
}

// pendingCancel is the wish to cancel that was not taken yet, if there is one.
func (s *State) pendingCancel() *PendingWish {
	for _, f := range s.pending {
		if f.kind == factCancel {
			return &PendingWish{Seq: f.seq, At: f.at}
		}
	}
	return nil
}
