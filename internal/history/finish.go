package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Outcome is what a turn wants written, in one commit.
type Outcome struct {
	Run          Run        // the record as it is to be
	Events       []Event    // to append; empty when nothing happened
	Consumed     []Consumed // signals that a wait consumed
	NewHooks     []Hook     // to insert, in the order opened; one that closed in the same turn has its last state
	ClosedHooks  []Hook     // to update
	NewTasks     []Task     // to insert
	ClosedTasks  []TaskKey  // to delete
	EndedUpdates []Update   // to update: of each its state, and when that came
	// HostDigests are the digests under every loaded key of the tokens that the host supplied for new hooks. A token that
	// stands under any of them is taken.
	HostDigests map[spec.HookID][]TokenDigest
	Blocked     bool // the turn was given up; its state is of no further use
	Ended       bool // the run ended
}

// OpensDeadline says that the turn opened something that ends by time. Its time counts then: a deadline is so and so long
// after it.
func (o Outcome) OpensDeadline() bool {
	return slices.ContainsFunc(o.Events, func(e Event) bool {
		switch d := e.Data.(type) {
		case *WaitOpened:
			return d.Deadline != nil
		case *TimerStarted:
			return true
		case *HookCreated:
			return d.ExpiresAt != nil
		case *StepScheduled:
			return d.CloseAt != nil
		}
		return false
	})
}

// hookRecords are the records of the hooks a turn opened and closed.
type hookRecords struct {
	created, closed []Hook
}

func (t *Turn) hookRecords() hookRecords {
	if t.remembered != nil {
		return *t.remembered
	}
	var r hookRecords
	for _, id := range t.created {
		r.created = append(r.created, t.state.hooks[id].record)
	}
	for _, id := range t.closed {
		r.closed = append(r.closed, t.state.hooks[id].record)
	}
	return r
}

// Finish ends the turn and says what is to be written.
func (t *Turn) Finish() Outcome {
	t.cut = t.cut && t.more()
	if t.blocked == nil && !t.ended && !t.cut && t.calls > 0 && !t.namesOpen() {
		t.fail(BlockNoProgress, t.noProgress())
	}
	if t.blocked == nil {
		t.recordRest()
	}
	if t.blocked != nil {
		out := BlockedOutcome(t.run, t.blocked.Cause, t.blocked.Diagnosis, t.now, t.lim)
		if due := t.laterDue; out.Run.BlockCause == BlockNoProgress && due != nil && due.Before(*out.Run.WakeAt) {
			out.Run.WakeAt = due // what a run lacks that has nothing to wait for: news
		}
		return out
	}
	hooks := t.hookRecords()
	return Outcome{
		Run: t.record(), Events: t.events, Consumed: t.consumed, NewHooks: hooks.created, ClosedHooks: hooks.closed,
		NewTasks: t.newTasks, ClosedTasks: t.closedTasks, EndedUpdates: t.endedUpdates, HostDigests: t.hostDigests, Ended: t.state.status.Ended(),
	}
}

// more says that there is something left to do now. A cut that came when nothing was left is none: the next turn would not
// call workflow code, so this one judges its last decision.
func (t *Turn) more() bool {
	w, _ := t.state.pairable()
	_, isDue := t.earliestDue()
	return t.call || w != nil || isDue || len(t.state.pending) > 0
}

// recordRest keeps what the turn showed and appended nothing about: messages taken, settled hooks asked about, and steps
// that the code has done with.
func (t *Turn) recordRest() {
	if t.ended {
		return
	}
	read := slices.Clone(t.waived)
	for id, h := range t.state.hooks {
		if h.asked && !h.read {
			h.read = true
			read = append(read, id)
		}
	}
	slices.Sort(read)
	first := t.calls > 0 && !t.state.opened // a generation's first turn is known by what it appends
	if len(t.taken) > 0 || first || len(read) > 0 && t.onlyUnblocked() {
		t.emit(&FactsTaken{})
	}
	if len(read) > 0 && t.blocked == nil {
		t.events[len(t.events)-1].Read = read
	}
}

func (t *Turn) onlyUnblocked() bool {
	return len(t.events) == 0 || len(t.events) == 1 && t.events[0].Data.Type() == TypeRunUnblocked
}

func (t *Turn) record() Run {
	r := t.run
	r.Status, r.Generation = t.state.status, t.state.generation
	r.FirstSeq, r.NextSeq = t.state.firstSeq, t.state.nextSeq
	r.Backlog -= len(t.consumed)
	r.unblock()
	if len(t.events) > 0 {
		r.UpdatedAt = t.now
	}
	switch {
	case r.Status.Ended():
		r.end(r.Status, t.now)
	case t.cut || t.ended:
		now := t.now
		r.WakeAt = &now
	default:
		r.WakeAt = t.state.nextDue()
	}
	return r
}

// namesOpen says whether the last decision waits for anything.
func (t *Turn) namesOpen() bool {
	return t.updating || slices.ContainsFunc(t.named, t.state.isOpen)
}

func (s *State) isOpen(id string) bool {
	if w, ok := s.waits.get(id); ok {
		return w.status == WaitOpen
	}
	if tm, ok := s.timers[id]; ok {
		return tm.status == WaitOpen
	}
	if h, ok := s.hooks[spec.HookID(id)]; ok {
		return h.rejected == nil && h.record.State == StateActive
	}
	if task, ok := s.tasks.get(id); ok {
		return task.state == TaskOpen
	}
	return false
}

// noProgress says what each named ID already is, and what to branch on.
func (t *Turn) noProgress() string {
	if len(t.named) == 0 {
		return "the decision names nothing that the run waits for; add what it does, such as WaitForUpdate"
	}
	parts := make([]string, 0, len(t.named))
	for _, id := range t.named {
		parts = append(parts, t.state.describe(id))
	}
	return "the decision names nothing that is open: " + strings.Join(parts, "; ")
}

func (s *State) describe(id string) string {
	if w, ok := s.waits.get(id); ok {
		if w.status == WaitLate {
			return fmt.Sprintf("wait %q timed out; branch on WaitTimedOut", id)
		}
		return fmt.Sprintf("wait %q is completed; branch on SignalPayload, or use another ID for the next signal", id)
	}
	if _, ok := s.timers[id]; ok {
		return fmt.Sprintf("timer %q fired; branch on TimerFired", id)
	}
	if task, ok := s.tasks.get(id); ok {
		return task.describe()
	}
	h, ok := s.hooks[spec.HookID(id)]
	switch {
	case !ok:
		return fmt.Sprintf("%q was never opened", id)
	case h.rejected != nil:
		return fmt.Sprintf("hook %q was rejected (%s); branch on HookRejected", id, h.rejected.Reason)
	}
	return fmt.Sprintf("hook %q is %s; branch on HookState", id, h.shown)
}

// BlockedOutcome is the outcome of a run whose workflow code could not be called or could not go on. The event is appended
// when the run is blocked and when the cause is another one; a retry that fails for the same cause only moves the back-off,
// which doubles from 1 s up to 5 minutes by default, and leaves the newest diagnosis in the record, so that words which
// differ each time, by a date or an address, do not fill the history.
func BlockedOutcome(run Run, cause BlockCause, diagnosis string, now time.Time, lim Limits) Outcome {
	diagnosis = printable(diagnosis)
	out := Outcome{Run: run, Blocked: true}
	r := &out.Run
	if r.Status != Blocked || r.BlockCause != cause {
		out.Events = []Event{{
			Generation: r.Generation, Seq: r.NextSeq, At: now, Data: &RunBlocked{Cause: cause, Diagnosis: diagnosis},
		}}
		r.NextSeq++
		r.UpdatedAt = now
	}
	r.Status, r.BlockCause, r.BlockDiagnosis = Blocked, cause, diagnosis
	r.BlockAttempts++
	wake := now.Add(backOff(r.BlockAttempts, lim))
	r.WakeAt = &wake
	return out
}

func backOff(attempt int, lim Limits) time.Duration {
	delay := lim.BlockFirstSec
	for range attempt - 1 {
		if delay *= 2; delay >= lim.BlockMaxSec {
			break
		}
	}
	return time.Duration(min(delay, lim.BlockMaxSec)) * time.Second
}

// maxDiagnosis bounds texts that workflow code supplies and people read.
const maxDiagnosis = 1024

// printable makes a text that any store takes: valid UTF-8 without NUL, of bounded length.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > maxDiagnosis {
		text = strings.ToValidUTF8(text[:maxDiagnosis-len("…")], "") + "…"
	}
	return text
}
