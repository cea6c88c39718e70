package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// tb is what the rig needs of testing.T and rapid.T.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// author is workflow code in the words of this package.
type author func(s *State) Decision

// openAuthority accepts every name and payload.
type openAuthority struct{ cooperative bool }

func (openAuthority) CheckSignal(name string, _ canon.Payload) error {
	if strings.HasPrefix(name, "undeclared") {
		return ErrSignalUndeclared
	}
	return nil
}
func (openAuthority) CheckHook(string, canon.Payload) error { return nil }
func (openAuthority) Hook(name string) spec.Hook {
	return spec.Hook{Name: name, Audience: spec.Public, DisposableByToken: name != "fixed"}
}
func (a openAuthority) CooperativeCancel() bool { return a.cooperative }

// rig is a store in memory: rows and events of one run, a virtual clock, and one author.
type rig struct {
	t       tb
	author  author
	auth    openAuthority
	lim     Limits
	now     time.Time
	run     Run
	signals map[spec.SignalID]Signal
	hooks   map[spec.HookID]Hook
	events  []Event
	warm    *State // what a cache would hold
	refuse  map[spec.HookID]Rejection
	turns   int
}

var (
	testKey = RunKey{Namespace: "default", RunID: "r1"}
	epoch   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func payload(v any) canon.Payload {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p, err := canon.Parse(raw, canon.Limits{})
	if err != nil {
		panic(err)
	}
	return p
}

func newRig(t tb, a author) *rig {
	r := &rig{
		t: t, author: a, lim: DefaultLimits(), now: epoch,
		signals: map[spec.SignalID]Signal{}, hooks: map[spec.HookID]Hook{},
	}
	r.run = Run{
		Key: testKey, Workflow: "w", Version: "1", InputDigest: payload(nil).Digest(), Status: Running, Generation: 1,
		FirstSeq: 1, NextSeq: 1, StartedAt: epoch, UpdatedAt: epoch,
	}
	rec := &Records{Run: r.run, Known: true, Fresh: true}
	_, err := rec.Accept(&StartRun{Run: testKey, Workflow: "w", Version: "1", Input: payload(nil)}, r.auth, r.lim, r.now)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	r.commit(rec)
	return r
}

func (r *rig) accept(m Message) (Receipt, error) {
	rec := &Records{Run: r.run, Known: true, Signals: map[spec.SignalID]Signal{}, Hooks: map[spec.HookID]Hook{}}
	for id, s := range r.signals {
		rec.Signals[id] = s
	}
	for id, h := range r.hooks {
		rec.Hooks[id] = h
	}
	receipt, err := rec.Accept(m, r.auth, r.lim, r.now)
	if err != nil && rec.Changed() {
		r.t.Fatalf("a refused message changed something: %v", err)
	}
	r.commit(rec)
	return receipt, err
}

func (r *rig) commit(rec *Records) {
	r.run = rec.Run
	for _, id := range rec.NewSignals {
		r.signals[id] = rec.Signals[id]
	}
	for id := range rec.ChangedHooks {
		r.hooks[id] = rec.Hooks[id]
	}
	r.append(rec.Events)
}

// append stores events through their encoding, and keeps the warm state in step.
func (r *rig) append(events []Event) {
	for _, e := range events {
		enc, err := Encode(e)
		if err != nil {
			r.t.Fatalf("encode: %v", err)
		}
		back, err := Decode(e.Generation, e.Seq, e.At, Encoded{Type: enc.Type, Data: bytes.Clone(enc.Data), Payload: enc.Payload})
		if err != nil {
			r.t.Fatalf("decode: %v", err)
		}
		if want := int64(len(r.events)) + 1; back.Seq != want {
			r.t.Fatalf("seq %d appended, want %d", back.Seq, want)
		}
		r.events = append(r.events, back)
	}
}

func (r *rig) cold() *State {
	var events, carried []Event
	for _, e := range r.events {
		if e.Generation == r.run.Generation {
			events = append(events, e)
		}
	}
	if c, ok := events[0].Data.(*RunContinued); ok {
		for _, span := range c.Unread {
			carried = append(carried, r.events[span.From-1:span.To]...)
		}
	}
	s, err := Fold(testKey, carried, events)
	if err != nil {
		r.t.Fatalf("fold: %v", err)
	}
	return s
}

// state is the warm state brought up to date, checked against the cold one.
func (r *rig) state() *State {
	cold := r.cold()
	if r.warm == nil {
		return cold
	}
	for _, e := range r.events[r.warm.nextSeq-1:] {
		if err := r.warm.Apply(e); err != nil {
			r.t.Fatalf("apply to the warm state: %v", err)
		}
	}
	if diff := cmp.Diff(dump(cold), dump(r.warm)); diff != "" {
		r.t.Fatalf("warm state differs from the fold (-cold +warm):\n%s", diff)
	}
	return r.warm
}

// turn runs one turn as the dispatcher does and commits it.
func (r *rig) turn() Outcome {
	return r.turnCut(-1)
}

// turnCut cuts the turn after so many calls; -1 never.
func (r *rig) turnCut(after int) Outcome {
	if r.run.Status.Ended() {
		return Outcome{}
	}
	r.turns++
	s := r.state()
	t, err := NewTurn(s, r.run, r.now, r.lim, r.refuse)
	if err != nil {
		r.t.Fatalf("new turn: %v", err)
	}
	for n := 0; t.Next(); n++ {
		t.Decide(r.author(t.State()))
		if after >= 0 && n >= after {
			t.Cut()
		}
	}
	out := t.Finish()
	r.warm = s
	if out.Blocked {
		r.warm = nil
	}
	r.run = out.Run
	for _, c := range out.Consumed {
		sig := r.signals[c.Signal]
		if sig.ConsumedBy != nil {
			r.t.Fatalf("signal %s consumed twice", c.Signal)
		}
		by := c.By
		sig.ConsumedBy = &by
		r.signals[c.Signal] = sig
	}
	for _, h := range slices.Concat(out.NewHooks, out.ClosedHooks) {
		r.hooks[h.ID] = h
	}
	r.append(out.Events)
	return out
}

// settle turns until nothing is due.
func (r *rig) settle() {
	for range 10_000 {
		if r.run.WakeAt == nil || r.run.WakeAt.After(r.now) || r.run.Status.Ended() {
			return
		}
		r.turn()
		if r.run.Status == Blocked {
			return
		}
	}
	r.t.Fatalf("the run never gets quiet")
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) signal(id, name string, v any) (Receipt, error) {
	return r.accept(&SendSignal{Run: testKey, ID: spec.SignalID(id), Name: name, Payload: payload(v), Source: "test"})
}

func (r *rig) resume(id string, v any) (Receipt, error) {
	return r.accept(&ResumeHook{Run: testKey, HookID: spec.HookID(id), Payload: payload(v)})
}

func (r *rig) dispose(id string) (Receipt, error) {
	return r.accept(&DisposeHook{Run: testKey, HookID: spec.HookID(id)})
}

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
	}
	return line
}

// dump shows every part of a state that later turns depend on.
func dump(s *State) map[string]string {
	out := map[string]string{
		"head": fmt.Sprint(s.key, s.workflow, s.version, s.startedAt, string(s.input.Bytes()), s.generation, s.firstSeq, s.nextSeq,
			s.lastAt, s.status, s.clock, s.opened, s.cancelRequested, s.cancelShown, s.unread, s.takenTo),
		"kinds":   fmt.Sprint(s.kinds),
		"settled": fmt.Sprint(s.settled),
		"pending": fmt.Sprint(s.pending),
	}
	for id, w := range s.waits {
		out["wait "+id] = fmt.Sprint(w.signal, stamp(w.deadline), w.openedAt, w.openedSeq, w.again, w.status, string(w.payload.Bytes()))
	}
	for id, tm := range s.timers {
		out["timer "+id] = fmt.Sprint(tm.due, tm.openedAt, tm.openedSeq, tm.status)
	}
	for id, h := range s.hooks {
		r := h.record
		out["hook "+string(id)] = fmt.Sprint(r.ID, r.Name, r.State, r.PayloadDigest, r.CreatedAt, stamp(r.ExpiresAt), stamp(r.ResolvedAt),
			r.ResolvedSeq, r.Actor, h.openedAt, h.shown, string(h.payload.Bytes()), h.rejected, h.read, h.byCode, h.seq)
	}
	for _, w := range s.queue {
		out["queue"] += string(w.id) + " "
	}
	for name, line := range s.buffer {
		for _, m := range line {
			out["buffer "+name] += fmt.Sprint(m.seq, m.at, " ")
		}
	}
	return out
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
