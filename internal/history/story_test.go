package history

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story is the history as one line per event, for tests to compare.
func (r *rig) story() []string {
	var lines []string
	for _, e := range r.events {
		lines = append(lines, describe(e))
	}
	return lines
}

func describe(e Event) string {
	line := string(e.Data.Type())
	switch d := e.Data.(type) {
	case *SignalReceived:
		line += " " + string(d.SignalID)
	case *WaitOpened:
		line += " " + string(d.WaitID)
	case *WaitCompleted:
		line += fmt.Sprintf(" %s<%s", d.WaitID, d.SignalID)
	case *WaitTimedOut:
		line += " " + string(d.WaitID)
	case *WaitWithdrawn:
		line += " " + string(d.WaitID)
	case *TimerStarted:
		line += " " + string(d.TimerID)
	case *TimerFired:
		line += " " + string(d.TimerID)
	case *TimerCancelled:
		line += " " + string(d.TimerID)
	case *RunCompleted:
		line += " " + string(d.Output.Bytes())
	case *RunBlocked:
		line += " " + string(d.Cause)
	case *HookClosed:
		line += fmt.Sprintf(" %s %s", d.HookID, d.Cause)
	case *HookCreated, *HookRejected, *HookResumed, *HookDisposed, *HookExpired:
		line += " " + string(hookIDOf(d))
	default:
		line += describeTask(d)
	}
	return line
}

// dump shows every part of a state that later turns depend on.
func dump(s *State) map[string]string {
	out := map[string]string{
		"head": fmt.Sprint(s.key, s.workflow, s.version, s.startedAt, string(s.input.Bytes()), s.generation, s.firstSeq, s.nextSeq,
			s.lastAt, s.status, s.clock, s.opened, s.cancelShown, s.Unread(), s.takenTo),
		"settled": fmt.Sprint(s.settled, s.opening, s.cancelled, s.began, s.moments),
		"pending": fmt.Sprint(s.pending),
	}
	for id, w := range s.waits.things() {
		_, took := s.Wait(id)
		out["wait "+id] = fmt.Sprint(w.signal, stamp(w.deadline), w.openedAt, w.openedSeq, w.again, w.status, w.settled, string(took.Bytes()))
	}
	for id, tm := range s.timers {
		out["timer "+id] = fmt.Sprint(tm.due, tm.openedAt, tm.openedSeq, tm.status, tm.settled)
	}
	for id, h := range s.hooks {
		r := h.record
		out["hook "+string(id)] = fmt.Sprint(r.ID, r.Name, r.State, r.PayloadDigest, r.CreatedAt, stamp(r.ExpiresAt), stamp(r.ResolvedAt),
			r.ResolvedSeq, r.Actor, h.openedAt, h.shown, string(h.payload.Bytes()), h.rejected, h.read, h.byCode, h.settled, h.seq)
	}
	for _, w := range s.queue {
		out["queue"] += string(w.id) + " "
	}
	for _, tm := range s.ticking {
		out["ticking"] += string(tm.id) + " "
	}
	for id, task := range s.tasks.things() {
		out["task "+id] = fmt.Sprint(task.kind, task.name, task.target, task.digest, task.stop, stamp(task.closeAt), task.openedAt, task.seq,
			task.state, task.shown, string(task.output.Bytes()), task.waived, task.settled)
		if task.failure != nil {
			out["task "+id] += fmt.Sprint(*task.failure)
		}
	}
	for _, task := range s.working {
		out["working"] += task.id + " "
	}
	out["engaged"] = fmt.Sprint(s.engaged)
	out["active"] = fmt.Sprint(s.bound, slices.Sorted(maps.Keys(s.active)))
	for m := range s.unread.all() {
		out["unread "+m.data.Name] += fmt.Sprint(m.seq, m.at, " ")
	}
	for id, u := range s.updates.things() {
		out["update "+id] = fmt.Sprint(u.seq, u.at, u.state, *u.data)
	}
	for _, u := range s.done {
		out["done"] += string(u.data.UpdateID) + "=" + string(u.output.Bytes()) + " "
	}
	for _, u := range s.asking {
		out["asking"] += string(u.data.UpdateID) + " "
	}
	return out
}

// things gives all of an index by ID.
func (x *index[T]) things() map[string]T {
	all := maps.Clone(x.many)
	for _, t := range x.few {
		if all == nil {
			all = map[string]T{}
		}
		all[t.label()] = t
	}
	return all
}

func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.String()
}

func equalStory(t *testing.T, r *rig, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.story()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
