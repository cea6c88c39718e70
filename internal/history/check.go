package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// check judges a whole decision before anything is recorded. It returns "" when the decision may stand.
func (t *Turn) check(d Decision) (BlockCause, string) {
	if len(d.Commands) == 0 {
		return BlockDecision, "the decision is empty; return what the run waits for, or an ending"
	}
	opened := 0
	in := map[string]Command{}
	for i, c := range d.Commands {
		if c.kind() == KindEnding {
			if cause, words := t.checkEnding(c, i == len(d.Commands)-1); words != "" {
				return cause, words
			}
			continue
		}
		if c.kind() == KindUpdate {
			continue
		}
		if cause, words := t.checkCommand(c, in[c.id()]); words != "" {
			return cause, words
		}
		if in[c.id()] == nil {
			opened += t.opens(c)
		}
		if in[c.id()] == nil || !keeps(in[c.id()]) {
			in[c.id()] = c
		}
	}
	if opened > t.lim.OpenWaits {
		return BlockDecision, fmt.Sprintf("the decision names %d waits and timers; at most %d may be open", opened, t.lim.OpenWaits)
	}
	if more := t.moreHooks(d); more > 0 && int(t.state.bound)+more > t.lim.OpenHooks {
		return BlockDecision, t.tooManyHooks(more)
	}
	if words := t.checkTasks(d); words != "" {
		return BlockDecision, words
	}
	if words := t.checkUpdates(d); words != "" {
		return BlockDecision, words
	}
	return "", ""
}

// keeps says that a command is the one to compare later ones of its ID with: it opens a resource.
func keeps(c Command) bool {
	_, hook := c.(*CreateHook)
	_, task := askedBy(c)
	return hook || task
}

func (t *Turn) checkEnding(c Command, last bool) (BlockCause, string) {
	if !last {
		return BlockDecision, "an ending command must be the last of a decision"
	}
	if _, ok := c.(*AcceptCancel); ok && !t.state.cancelShown {
		return BlockDecision, "the decision ends the run as cancelled, but nobody asked to cancel it"
	}
	return "", ""
}

// checkCommand compares a command with the history, and with an earlier command of the decision for the same ID.
func (t *Turn) checkCommand(c, prior Command) (BlockCause, string) {
	id := c.id()
	if err := spec.CheckName("id", id); err != nil {
		return BlockDecision, fmt.Sprintf("the decision names a %s with a bad ID: %v", c.kind(), err)
	}
	if known, ok := t.state.kindOf(id); ok && known != c.kind() {
		return BlockNonDeterminism, fmt.Sprintf("ID %q is a %s in the history and a %s in the decision", id, known, c.kind())
	}
	if prior != nil && prior.kind() != c.kind() {
		return BlockDecision, fmt.Sprintf("ID %q is a %s and a %s in one decision", id, prior.kind(), c.kind())
	}
	switch c := c.(type) {
	case *OpenWait:
		return t.checkWait(c, prior)
	case *StartTimer:
		return t.checkTimer(c, prior)
	case *CreateHook:
		return t.checkHook(c, prior)
	case *WaitHook:
		if _, created := prior.(*CreateHook); !created && t.state.hooks[c.ID] == nil {
			return BlockDecision, fmt.Sprintf("the decision waits for hook %q, which was never created", id)
		}
	}
	return t.checkTask(c, prior)
}

func (t *Turn) checkWait(c *OpenWait, prior Command) (BlockCause, string) {
	if err := spec.CheckName("signal", c.Signal); err != nil {
		return BlockDecision, fmt.Sprintf("wait %q: %v", c.ID, err)
	}
	if c.Timeout != nil && c.Until != nil {
		return BlockDecision, fmt.Sprintf("wait %q has both a time-out and a time", c.ID)
	}
	w, known := t.state.waits.get(string(c.ID))
	if known && w.signal != c.Signal {
		return BlockNonDeterminism, fmt.Sprintf("wait %q is for signal %q in the history and for %q in the decision", c.ID, w.signal, c.Signal)
	}
	if p, ok := prior.(*OpenWait); ok && p.Signal != c.Signal {
		return BlockDecision, fmt.Sprintf("wait %q is for signals %q and %q in one decision", c.ID, p.Signal, c.Signal)
	}
	if p, ok := prior.(*OpenWait); ok && !known && !sameTime(p.Timeout, c.Timeout, p.Until, c.Until) {
		return BlockDecision, fmt.Sprintf("wait %q has two time-outs in one decision", c.ID)
	}
	return "", ""
}

func (t *Turn) checkTimer(c *StartTimer, prior Command) (BlockCause, string) {
	if (c.In == nil) == (c.At == nil) {
		return BlockDecision, fmt.Sprintf("timer %q needs either a duration or a time", c.ID)
	}
	_, known := t.state.timers[string(c.ID)]
	if p, ok := prior.(*StartTimer); ok && !known && !sameTime(p.In, c.In, p.At, c.At) {
		return BlockDecision, fmt.Sprintf("timer %q has two due times in one decision", c.ID)
	}
	return "", ""
}

func sameTime(in1, in2 *time.Duration, at1, at2 *time.Time) bool {
	if (in1 == nil) != (in2 == nil) || (at1 == nil) != (at2 == nil) {
		return false
	}
	return (in1 == nil || *in1 == *in2) && (at1 == nil || at1.Equal(*at2))
}

func (t *Turn) checkHook(c *CreateHook, prior Command) (BlockCause, string) {
	if c.In != nil && c.At != nil {
		return BlockDecision, fmt.Sprintf("hook %q has both a time to live and an expiry time", c.ID)
	}
	h, known := t.state.hooks[c.ID]
	if p, ok := prior.(*CreateHook); ok && !known {
		if what := p.contradicts(c); what != "" {
			return BlockDecision, fmt.Sprintf("hook %q has two %s in one decision", c.ID, what)
		}
	}
	if !known || h.rejected != nil {
		return "", ""
	}
	host := h.record.Grant.MintKey == ""
	if host != (len(c.HostDigests) > 0) || host && !slices.Contains(c.HostDigests, h.record.Grant.Digest) {
		return BlockNonDeterminism, fmt.Sprintf("hook %q has another token in the decision than in the history", c.ID)
	}
	return "", ""
}

// contradicts says in what two creations of one hook differ. The first one would count, so the other would be lost without
// a word. Metadata may differ: it means nothing to the engine.
func (c *CreateHook) contradicts(other *CreateHook) string {
	switch {
	case !slices.Equal(c.HostDigests, other.HostDigests):
		return "tokens"
	case c.name() != other.name():
		return "names"
	case !sameTime(c.In, other.In, c.At, other.At):
		return "expiries"
	}
	return ""
}

// opens is 1 when the command names a wait or timer that is open afterwards because of it.
func (t *Turn) opens(c Command) int {
	switch c := c.(type) {
	case *OpenWait:
		if w, ok := t.state.waits.get(string(c.ID)); !ok || w.status == WaitOpen || w.status == WaitWithdrew {
			return 1
		}
	case *StartTimer:
		if tm, ok := t.state.timers[string(c.ID)]; !ok || tm.status == WaitOpen || tm.status == WaitWithdrew {
			return 1
		}
	}
	return 0
}

// moreHooks is how many more hooks count once the decision stands: those it opens less those it has done with.
func (t *Turn) moreHooks(d Decision) int {
	if !slices.ContainsFunc(d.Commands, func(c Command) bool { return c.kind() == KindHook }) {
		return 0
	}
	more := 0
	created, withdrawn := map[spec.HookID]bool{}, map[spec.HookID]bool{}
	for _, c := range d.Commands {
		switch c := c.(type) {
		case *CreateHook:
			if _, known := t.state.hooks[c.ID]; !known && !created[c.ID] {
				created[c.ID] = true
				more++
			}
		case *WithdrawHook:
			if (created[c.ID] || t.frees(c.ID)) && !withdrawn[c.ID] {
				withdrawn[c.ID] = true
				more--
			}
		}
	}
	return more
}

// frees says that a hook which counts does not any more once it is withdrawn. One whose answer workflow code was not shown
// yet counts until it was.
func (t *Turn) frees(id spec.HookID) bool {
	h, known := t.state.hooks[id]
	return known && h.goesOver() && (h.record.State == StateActive || h.shown != StateActive)
}

func (t *Turn) tooManyHooks(more int) string {
	ignored := 0
	for _, h := range t.state.hooks {
		if h.goesOver() && h.shown != StateActive {
			ignored++
		}
	}
	open := int(t.state.bound) - ignored + more
	if ignored == 0 {
		return fmt.Sprintf("the decision would leave %d hooks open; at most %d may be", open, t.lim.OpenHooks)
	}
	return fmt.Sprintf("open hooks (%d) and hooks that settled and were never asked about (%d) may be at most %d together: ask "+
		"about settled hooks (HookState, HookPayload, First) or dispose of them", open, ignored, t.lim.OpenHooks)
}
