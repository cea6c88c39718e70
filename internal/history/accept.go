package history

import (
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Records is what the door read of one run under its lock: rows, not history. Accept judges messages against it one
// after the other, each seeing the effects of those before it; the door then writes the net rows.
type Records struct {
	Run     Run
	Known   bool // the run exists
	Fresh   bool // its row was inserted for a StartRun in this transaction and has no event yet
	Signals map[spec.SignalID]Signal
	Hooks   map[spec.HookID]Hook // those asked about; every active one when a CancelRun is among the messages

	Updates     map[spec.UpdateID]Update // those asked about; every open one when a CancelRun is among the messages
	OpenUpdates int                      // how many are open, when a SendUpdate is among the messages

	Tasks map[TaskKey]Task // the open ones asked about; all of them when a CancelRun is among the messages

	Events       []Event              // appended, with their seqs
	NewSignals   []spec.SignalID      // to insert
	ChangedHooks map[spec.HookID]bool // to update
	NewUpdates   []spec.UpdateID      // to insert
	EndedUpdates []spec.UpdateID      // to update; none of the new ones
	NewTasks     []Task               // to insert
	ChangedTasks map[TaskKey]bool     // to update
	ClosedTasks  []TaskKey            // to delete
	Letters      []DeadLetter         // to insert
	Decided      []LetterDecision     // about letters that are there
	woken        bool                 // wake_at changed without an event
}

// Changed says that something must be written.
func (r *Records) Changed() bool {
	return len(r.Events) > 0 || r.woken || len(r.ClosedTasks) > 0 || len(r.ChangedTasks) > 0
}

// Accept judges one message. It returns a receipt for what was accepted now or before, or the refusal; a refusal changes
// nothing. Known identity is checked before anything else about the run.
func (r *Records) Accept(m Message, auth Authority, lim Limits, now time.Time) (Receipt, error) {
	if !r.Known {
		return Receipt{}, ErrRunNotFound
	}
	switch m := m.(type) {
	case *StartRun:
		return r.start(m, now)
	case *SendSignal:
		return r.signal(m, auth, lim, now)
	case *SendUpdate:
		return r.update(m, auth, lim, now)
	case *ResumeHook:
		return r.resume(m, auth, now)
	case *DisposeHook:
		return r.dispose(m, auth, now)
	case *CancelRun:
		return r.cancel(m, auth, now)
	case *RetryRun:
		return r.retry(now)
	case *SettleTask:
		return r.settleTask(m, now)
	case *HoldTask:
		return r.holdTask(m, now)
	case *ReplayTask:
		return r.replayTask(m, now)
	case *DiscardTask:
		return r.discardTask(m, now)
	case *StartWith:
		return r.startWith(m, auth, lim, now)
	}
	panic("history: unknown message type")
}

func (r *Records) start(m *StartRun, now time.Time) (Receipt, error) {
	if !r.Fresh {
		if differs := r.startDiffers(m); len(differs) > 0 {
			return Receipt{}, &RunConflictError{Differs: differs}
		}
		return Receipt{Verdict: Duplicate, Run: m.Run, Sequence: 1, ReceivedAt: r.Run.StartedAt}, nil
	}
	r.Fresh = false
	seq := r.append(now, &RunStarted{
		Workflow: m.Workflow, Version: m.Version, SpecDigest: m.SpecDigest, Labels: m.Labels, Actor: m.Actor,
		Parent: m.Parent, Digest: m.Input.Digest(), Input: m.Input,
	})
	r.wake(now)
	return Receipt{Verdict: Accepted, Run: m.Run, Sequence: seq, ReceivedAt: now}, nil
}

func (r *Records) startDiffers(m *StartRun) []string {
	var differs []string
	if m.Workflow != r.Run.Workflow {
		differs = append(differs, "workflow")
	}
	if m.NamedVersion && m.Version != r.Run.Version {
		differs = append(differs, "version")
	}
	if m.Input.Digest() != r.Run.InputDigest {
		differs = append(differs, "input")
	}
	if !m.Parent.equal(r.Run.Parent) {
		differs = append(differs, "parent")
	}
	return differs
}

func (r *Records) signal(m *SendSignal, auth Authority, lim Limits, now time.Time) (Receipt, error) {
	if known, ok := r.Signals[m.ID]; ok {
		return known.redelivered(m)
	}
	if r.Run.Status.Ended() {
		return Receipt{}, ErrRunEnded
	}
	if err := auth.CheckSignal(m.Name, m.Payload); err != nil {
		return Receipt{}, err
	}
	if r.Run.Backlog >= lim.Backlog || r.Run.HistoryLength() >= lim.MaxEvents {
		return Receipt{}, ErrBacklogFull
	}
	return r.takeSignal(m, lim, now), nil
}

// takeSignal accepts a signal that was judged.
func (r *Records) takeSignal(m *SendSignal, lim Limits, now time.Time) Receipt {
	seq := r.append(now, &SignalReceived{
		SignalID: m.ID, Name: m.Name, Source: m.Source, Actor: m.Actor, Digest: m.Payload.Digest(), Payload: m.Payload,
	})
	r.Signals[m.ID] = Signal{
		ID: m.ID, Name: m.Name, Digest: m.Payload.Digest(), Seq: seq, ReceivedAt: now, Source: m.Source, Actor: m.Actor,
	}
	r.NewSignals = append(r.NewSignals, m.ID)
	r.Run.Backlog++
	r.wakeUnlessBlocked(now)
	return Receipt{
		Verdict: Accepted, Run: m.Run, SignalID: m.ID, Sequence: seq, ReceivedAt: now, Backlog: r.Run.nearlyFull(lim),
	}
}

// nearlyFull is the backlog of a run that holds four fifths of what it may, so that the limit does not come unannounced.
func (r Run) nearlyFull(lim Limits) *Backlog {
	if r.Backlog*5 < lim.Backlog*4 {
		return nil
	}
	return &Backlog{Unread: r.Backlog, Limit: lim.Backlog}
}

func (s Signal) redelivered(m *SendSignal) (Receipt, error) {
	var differs []string
	if s.Name != m.Name {
		differs = append(differs, "name")
	}
	if s.Digest != m.Payload.Digest() {
		differs = append(differs, "payload")
	}
	if len(differs) > 0 {
		return Receipt{}, &SignalConflictError{Differs: differs}
	}
	return Receipt{Verdict: Duplicate, Run: m.Run, SignalID: s.ID, Sequence: s.Seq, ReceivedAt: s.ReceivedAt}, nil
}

func (r *Records) retry(now time.Time) (Receipt, error) {
	if r.Run.Status.Ended() {
		return Receipt{}, ErrRunEnded
	}
	if r.Run.Status == Blocked {
		r.wake(now)
	}
	return Receipt{Verdict: Accepted, Run: r.Run.Key, ReceivedAt: now}, nil
}

// append adds an event to the run as it stands and returns its seq.
func (r *Records) append(now time.Time, data Data) int64 {
	seq := r.Run.NextSeq
	r.Events = append(r.Events, Event{Generation: r.Run.Generation, Seq: seq, At: now, Data: data})
	r.Run.NextSeq++
	r.Run.UpdatedAt = now
	return seq
}

// wakeUnlessBlocked makes a turn due. A message does not shorten the back-off of a blocked run, unless what blocked it
// was that nothing was left to wait for: then the message may be what it needs.
func (r *Records) wakeUnlessBlocked(now time.Time) {
	if r.Run.Status != Blocked || r.Run.BlockCause == BlockNoProgress {
		r.wake(now)
	}
}

func (r *Records) wake(now time.Time) {
	if r.Run.WakeAt == nil || now.Before(*r.Run.WakeAt) {
		wake := now // on the heap only when it is kept
		r.Run.WakeAt, r.woken = &wake, true
	}
}

// activeHooks lists the open hooks in the order of their IDs, so that an ending writes its events in one order always.
func (r *Records) activeHooks() []spec.HookID {
	var ids []spec.HookID
	for id, h := range r.Hooks {
		if h.State == StateActive {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
