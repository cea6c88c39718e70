package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
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

func (a openAuthority) CheckUpdate(name string, p canon.Payload) error {
	if strings.HasPrefix(name, "undeclared") {
		return ErrUpdateUndeclared
	}
	return nil
}
func (openAuthority) CheckHook(string, canon.Payload) error { return nil }
func (openAuthority) Hook(name string) spec.Hook {
	h := spec.Hook{Name: name, Audience: spec.Public, DisposableByToken: name != "fixed"}
	switch name {
	case "known":
		h.Requires = spec.Credential
	case "signed":
		h.Requires, h.Source = spec.Signature, "pager"
	case "hidden":
		h.Audience, h.Requires = spec.Internal, spec.Credential
	}
	return h
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
	tasks   map[TaskKey]Task // the open ones
	letters []DeadLetter
	updates map[spec.UpdateID]Update
	events  []Event
	warm    *State // what a cache would hold
	refuse  map[spec.HookID]Rejection
	broken  bool // workflow code panics
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
		signals: map[spec.SignalID]Signal{}, hooks: map[spec.HookID]Hook{}, tasks: map[TaskKey]Task{}, updates: map[spec.UpdateID]Update{},
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

func (r *rig) records() *Records {
	rec := &Records{
		Run: r.run, Known: true, Signals: maps.Clone(r.signals), Hooks: maps.Clone(r.hooks), Updates: maps.Clone(r.updates),
		Tasks: maps.Clone(r.tasks),
	}
	for _, u := range r.updates {
		if u.State == UpdateIsOpen {
			rec.OpenUpdates++
		}
	}
	return rec
}

func (r *rig) accept(m Message) (Receipt, error) {
	rec := r.records()
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
	for key := range rec.ChangedTasks {
		r.tasks[key] = rec.Tasks[key]
	}
	r.changeTasks(rec.NewTasks, rec.ClosedTasks)
	r.letters = append(r.letters, rec.Letters...)
	for _, id := range slices.Concat(rec.NewUpdates, rec.EndedUpdates) {
		r.updates[id] = rec.Updates[id]
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

// generation gives the events of the current generation, and those of the unread signals it began with.
func (r *rig) generation() (carried, events []Event) {
	for _, e := range r.events {
		if e.Generation == r.run.Generation {
			events = append(events, e)
		}
	}
	if c, ok := events[0].Data.(*RunContinued); ok {
		for _, span := range c.Carried() {
			carried = append(carried, r.events[span.From-1:span.To]...)
		}
	}
	return carried, events
}

func (r *rig) cold() *State {
	carried, events := r.generation()
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
	s, rejected := r.state(), maps.Clone(r.refuse)
	out := r.decide(s, after, rejected)
	for r.refused(out, &rejected) {
		s = r.cold()
		out = r.decide(s, after, rejected)
	}
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
	for _, h := range out.ClosedHooks {
		if row := r.hooks[h.ID]; row.State != StateActive {
			r.t.Fatalf("hook %s closes, and its row says %q", h.ID, row.State)
		}
		r.hooks[h.ID] = h
	}
	for _, h := range out.NewHooks {
		if row, known := r.hooks[h.ID]; known {
			r.t.Fatalf("hook %s is new, and its row says %q", h.ID, row.State)
		}
		r.hooks[h.ID] = h
	}
	r.changeTasks(out.NewTasks, out.ClosedTasks)
	for _, u := range out.EndedUpdates {
		row := r.updates[u.ID]
		if row.State != UpdateIsOpen {
			r.t.Fatalf("update %s ends, and its row says %q", u.ID, row.State)
		}
		row.State, row.ResolvedAt, row.ResolvedSeq = u.State, u.ResolvedAt, u.ResolvedSeq
		r.updates[u.ID] = row
	}
	r.append(out.Events)
	return out
}

func (r *rig) decide(s *State, after int, rejected map[spec.HookID]Rejection) Outcome {
	t, err := NewTurn(s, r.run, r.now, r.lim, rejected)
	if err != nil {
		r.t.Fatalf("new turn: %v", err)
	}
	for n := 0; t.Next(); n++ {
		if r.broken {
			t.Block(BlockPanic, "broken")
			break
		}
		t.Decide(r.author(t.State()))
		if after >= 0 && n >= after {
			t.Cut()
		}
	}
	return t.Finish()
}

// refused notes the new hooks whose IDs the run used before, as the door does, and says whether there is one.
func (r *rig) refused(out Outcome, rejected *map[spec.HookID]Rejection) bool {
	again := false
	for _, h := range out.NewHooks {
		if _, used := r.hooks[h.ID]; used {
			if *rejected == nil {
				*rejected = map[spec.HookID]Rejection{}
			}
			(*rejected)[h.ID], again = Rejection{Reason: RejectIDUsed}, true
		}
	}
	return again
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

func (r *rig) update(id, name string, v any) (Receipt, error) {
	return r.accept(&SendUpdate{Run: testKey, ID: spec.UpdateID(id), Name: name, Payload: payload(v), Source: "test"})
}

func (r *rig) resume(id string, v any) (Receipt, error) {
	return r.accept(&ResumeHook{Run: testKey, HookID: spec.HookID(id), Payload: payload(v)})
}

func (r *rig) dispose(id string) (Receipt, error) {
	return r.accept(&DisposeHook{Run: testKey, HookID: spec.HookID(id)})
}
