package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Decide records the difference between what a decision names and what is open. A decision that contradicts the history,
// is malformed or goes beyond a limit blocks the turn and changes nothing.
func (t *Turn) Decide(d Decision) {
	if cause, words := t.check(d); words != "" {
		t.fail(cause, words)
		return
	}
	t.named, t.updating = t.named[:0], false
	for _, c := range d.Commands {
		switch c.kind() {
		case KindEnding:
		case KindUpdate:
			_, waits := c.(*WaitUpdate)
			t.updating = t.updating || waits
		default:
			t.named = append(t.named, c.id())
		}
	}
	ending := d.Commands[len(d.Commands)-1]
	if ending.kind() != KindEnding {
		ending = nil
	}
	t.withdraw(d, ending != nil)
	for _, c := range d.Commands {
		t.open(c, ending != nil)
	}
	if ending != nil && t.blocked == nil {
		t.end(ending)
	}
}

// withdraw ends the open claims that the decision does not name, in order of their IDs. An ending names none.
func (t *Turn) withdraw(d Decision, ending bool) {
	if len(t.state.queue)+len(t.state.ticking) == 0 {
		return
	}
	named := map[string]bool{}
	if !ending {
		for _, c := range d.Commands {
			named[c.id()] = true
		}
	}
	var gone []Data
	for _, w := range t.state.queue {
		if !named[string(w.id)] {
			gone = append(gone, &WaitWithdrawn{WaitID: w.id})
		}
	}
	for _, tm := range t.state.ticking {
		if !named[string(tm.id)] {
			gone = append(gone, &TimerCancelled{TimerID: tm.id})
		}
	}
	slices.SortFunc(gone, func(a, b Data) int { return cmp.Compare(claimID(a), claimID(b)) })
	for _, data := range gone {
		t.emit(data)
	}
}

func claimID(d Data) string {
	switch d := d.(type) {
	case *WaitWithdrawn:
		return string(d.WaitID)
	case *TimerCancelled:
		return string(d.TimerID)
	}
	return ""
}

// open records one command that is not an ending. A claim beside an ending would end in the same breath, so it is left
// out.
func (t *Turn) open(c Command, ending bool) {
	switch c := c.(type) {
	case *OpenWait:
		if !ending {
			t.openWait(c)
		}
	case *StartTimer:
		if !ending {
			t.startTimer(c)
		}
	case *CreateHook:
		t.createHook(c)
	case *WithdrawHook:
		t.withdrawHook(c.ID)
	case *ScheduleStep:
		t.scheduleStep(c)
	case *WithdrawStep:
		t.withdrawStep(c.ID)
	case *StartChild:
		t.startChild(c)
	case *CallSignal, *CallCancel:
		t.sendCall(c)
	case *CompleteUpdate, *RejectUpdate:
		t.answerUpdate(c)
	}
}

func (t *Turn) openWait(c *OpenWait) {
	w, known := t.state.waits.get(string(c.ID))
	if known && w.status != WaitWithdrew {
		return
	}
	data := &WaitOpened{WaitID: c.ID, Signal: c.Signal, Again: known}
	if known {
		data.Deadline = w.deadline
	} else {
		data.Deadline = t.deadline(c.Timeout, c.Until)
	}
	data.OpenedAt = t.openedAt(data.Deadline)
	t.emit(data)
}

func (t *Turn) startTimer(c *StartTimer) {
	tm, known := t.state.timers[string(c.ID)]
	if known && tm.status != WaitWithdrew {
		return
	}
	data := &TimerStarted{TimerID: c.ID, Again: known}
	if known {
		data.Due = tm.due
	} else {
		data.Due = *t.deadline(c.In, c.At)
	}
	data.OpenedAt = t.openedAt(&data.Due)
	t.emit(data)
}

func (t *Turn) createHook(c *CreateHook) {
	if _, known := t.state.hooks[c.ID]; known {
		return
	}
	if r, refused := t.rejected[c.ID]; refused {
		t.emit(&HookRejected{HookID: c.ID, Reason: r.Reason, OwnerRun: r.OwnerRun})
		t.call = true
		return
	}
	if t.hasToken(c) {
		t.emit(&HookRejected{HookID: c.ID, Reason: RejectTaken, OwnerRun: t.state.key.RunID})
		t.call = true
		return
	}
	t.created = append(t.created, c.ID)
	deadline := t.deadline(c.In, c.At)
	t.emit(&HookCreated{
		HookID: c.ID, Name: c.name(), Metadata: c.Metadata, Grant: c.Grant,
		ExpiresAt: deadline, OpenedAt: t.openedAt(deadline),
	})
}

// hasToken says whether another hook of the generation has the host-supplied token of a new one, under whatever digest
// key; if not, the token is claimed. The door judges the tokens of other runs and of earlier generations.
func (t *Turn) hasToken(c *CreateHook) bool {
	if len(c.HostDigests) == 0 {
		return false
	}
	if t.tokens == nil {
		t.tokens, t.hostDigests = map[TokenDigest]bool{}, map[spec.HookID][]TokenDigest{}
		for _, h := range t.state.hooks {
			if h.rejected == nil {
				t.tokens[h.record.Grant.Digest] = true
			}
		}
	}
	if slices.ContainsFunc(c.HostDigests, func(d TokenDigest) bool { return t.tokens[d] }) {
		return true
	}
	t.tokens[c.Grant.Digest] = true
	t.hostDigests[c.ID] = c.HostDigests
	return false
}

// withdrawHook closes an open hook. One that was answered stays answered, also when workflow code has not seen it yet;
// one past its deadline expired, which is what its callers were told. Workflow code, which stands at a time before the
// deadline, sees a hook that it disposed of: its result must not depend on how late the turn came.
func (t *Turn) withdrawHook(id spec.HookID) {
	h, open := t.state.active[id]
	if !open {
		if h, settled := t.state.hooks[id]; settled && h.rejected == nil {
			t.state.ask(h) // the code has done with it: it does not go over
		}
		return
	}
	t.markClosed(id)
	if h.record.Expired(t.now) {
		t.emit(&HookExpired{HookID: id, ByCode: true})
		return
	}
	t.emit(&HookDisposed{HookID: id, ByCode: true})
}

// openedAt is the effective time of an opening, where that counts: for what is opened past its deadline. Anything else is
// ordered by its deadline, which lies after both.
func (t *Turn) openedAt(deadline *time.Time) *time.Time {
	if deadline == nil || deadline.After(t.now) {
		return nil
	}
	return t.effective()
}

// effective is the time that orders what is opened now among facts still to be taken; nil when it is the turn's own.
func (t *Turn) effective() *time.Time {
	if !t.state.clock.Before(t.now) {
		return nil
	}
	clock := t.state.clock
	return &clock
}

// deadline is a point in time to the microsecond, which is what the store keeps.
func (t *Turn) deadline(in *time.Duration, at *time.Time) *time.Time {
	var point time.Time
	switch {
	case in != nil:
		point = t.now.Add(max(*in, 0))
	case at != nil:
		point = at.UTC()
	default:
		return nil
	}
	point = point.Truncate(time.Microsecond)
	return &point
}
