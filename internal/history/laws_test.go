package history

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// rowsEqualEvents compares the records beside the events with the fold of the events, and with a plain reading of all of
// them over the generations.
func rowsEqualEvents(t *rapid.T, r *rig) {
	s := r.cold()
	if s.status != r.run.Status || s.generation != r.run.Generation || s.firstSeq != r.run.FirstSeq || s.nextSeq != r.run.NextSeq {
		t.Fatalf("row %+v, fold %s %d %d %d", r.run, s.status, s.generation, s.firstSeq, s.nextSeq)
	}
	unread := 0
	for _, sig := range r.signals {
		if sig.ConsumedBy == nil {
			unread++
		}
	}
	if r.run.Backlog != unread || s.Unread() != unread {
		t.Fatalf("backlog %d, fold %d, rows %d", r.run.Backlog, s.Unread(), unread)
	}
	for _, h := range s.HookRecords() {
		if row := r.hooks[h.ID]; !reflect.DeepEqual(row, h) {
			t.Fatalf("hook rows differ:\n%s", cmp.Diff(row, h))
		}
	}
	bound := 0
	for _, h := range s.hooks {
		if h.goesOver() {
			bound++
		}
	}
	if over := s.carried(); int(s.bound) != bound || len(over) != bound || bound > r.lim.OpenHooks {
		t.Fatalf("%d hooks count, %d would go over, %d do; the limit is %d", s.bound, bound, len(over), r.lim.OpenHooks)
	}
	taskRowsAreTheOpenTasks(t, r, s)
	want := readAll(r)
	if diff := cmp.Diff(want.hooks, r.hooks); diff != "" {
		t.Fatalf("hook rows (-events +rows):\n%s", diff)
	}
	if diff := cmp.Diff(want.updates, r.updates); diff != "" {
		t.Fatalf("update rows (-events +rows):\n%s", diff)
	}
	if diff := cmp.Diff(want.signals, r.signals); diff != "" {
		t.Fatalf("signal rows (-events +rows):\n%s", diff)
	}
	have := r.run
	have.WakeAt, have.BlockAttempts, have.Backlog = nil, 0, 0
	if (have.BlockDiagnosis == "") != (want.run.BlockDiagnosis == "") {
		t.Fatalf("the row says %q, the event %q", have.BlockDiagnosis, want.run.BlockDiagnosis)
	}
	have.BlockDiagnosis = want.run.BlockDiagnosis // the row has the newest one
	if diff := cmp.Diff(want.run, have); diff != "" {
		t.Fatalf("run row (-events +row):\n%s", diff)
	}
}

// reading is what all events of a run say about its records, read without any rule.
type reading struct {
	run     Run
	hooks   map[spec.HookID]Hook
	signals map[spec.SignalID]Signal
	updates map[spec.UpdateID]Update
}

func readAll(r *rig) reading {
	all := reading{
		run: Run{
			Key: testKey, Workflow: "w", Version: "1", InputDigest: payload(nil).Digest(), StartedAt: epoch, Status: Running, FirstSeq: 1,
		},
		hooks: map[spec.HookID]Hook{}, signals: map[spec.SignalID]Signal{}, updates: map[spec.UpdateID]Update{},
	}
	for _, e := range r.events {
		all.run.Generation, all.run.NextSeq, all.run.UpdatedAt = e.Generation, e.Seq+1, e.At
		all.readRun(e)
		all.readSignal(e)
		all.readHook(e)
		all.readUpdate(e)
	}
	return all
}

func (all *reading) readRun(e Event) {
	end := func(status Status) {
		all.run.Status, all.run.ClosedAt = status, &e.At
		all.run.BlockCause, all.run.BlockDiagnosis = "", ""
	}
	switch d := e.Data.(type) {
	case *RunContinued:
		all.run.FirstSeq = e.Seq
	case *RunCompleted:
		end(Completed)
	case *RunFailed:
		end(Failed)
	case *RunCancelled:
		end(Cancelled)
	case *RunCancelRequested:
		if all.run.CancelRequestedAt == nil {
			all.run.CancelRequestedAt, all.run.CancelSeq = &e.At, e.Seq
		}
	case *RunBlocked:
		all.run.Status, all.run.BlockCause, all.run.BlockDiagnosis = Blocked, d.Cause, d.Diagnosis
	case *RunUnblocked:
		all.run.Status, all.run.BlockCause, all.run.BlockDiagnosis = Running, "", ""
	}
}

func (all *reading) readUpdate(e Event) {
	end := func(id spec.UpdateID, state UpdateState) {
		u := all.updates[id]
		u.State, u.ResolvedAt, u.ResolvedSeq = state, &e.At, e.Seq
		all.updates[id] = u
	}
	switch d := e.Data.(type) {
	case *UpdateReceived:
		all.updates[d.UpdateID] = Update{
			ID: d.UpdateID, Name: d.Name, Digest: d.Digest, Seq: e.Seq, ReceivedAt: e.At, Source: d.Source, State: UpdateIsOpen,
		}
	case *UpdateCompleted:
		end(d.UpdateID, UpdateIsCompleted)
	case *UpdateRejected:
		end(d.UpdateID, UpdateIsRejected)
	case *UpdateOrphaned:
		end(d.UpdateID, UpdateIsOrphaned)
	}
}

func (all *reading) readSignal(e Event) {
	switch d := e.Data.(type) {
	case *SignalReceived:
		all.signals[d.SignalID] = Signal{ID: d.SignalID, Name: d.Name, Digest: d.Digest, Seq: e.Seq, ReceivedAt: e.At, Source: d.Source}
	case *WaitCompleted:
		sig := all.signals[d.SignalID]
		sig.ConsumedBy = &Consumption{WaitID: d.WaitID, Generation: e.Generation}
		all.signals[d.SignalID] = sig
	}
}

func (all *reading) readHook(e Event) {
	switch d := e.Data.(type) {
	case *HookCreated:
		all.hooks[d.HookID] = Hook{
			ID: d.HookID, Name: d.Name, Metadata: d.Metadata, Grant: d.Grant, State: StateActive, CreatedAt: e.At, ExpiresAt: d.ExpiresAt,
		}
	case *HookResumed:
		all.close(e, d.HookID, StateResumed)
		h := all.hooks[d.HookID]
		h.PayloadDigest = d.Digest
		all.hooks[d.HookID] = h
	case *HookDisposed:
		all.close(e, d.HookID, StateDisposed)
	case *HookExpired:
		all.close(e, d.HookID, StateExpired)
	case *HookClosed:
		all.close(e, d.HookID, d.Cause)
	}
}

func (all *reading) close(e Event, id spec.HookID, state HookState) {
	h := all.hooks[id]
	h.State, h.ResolvedAt, h.ResolvedSeq = state, &e.At, e.Seq
	all.hooks[id] = h
}

// neverAsleepWithWork: while there is something to do, a turn is due now, and what comes next has its alarm set; and a
// run that sleeps waits for something.
func neverAsleepWithWork(t *rapid.T, r *rig) {
	s := r.cold()
	if s.status != Running {
		return
	}
	w, _ := s.pairable()
	_, due := s.earliestDue(r.now)
	work := w != nil || due || len(s.pending) > 0 || r.run.NextSeq == r.run.FirstSeq+1
	wake := r.run.WakeAt
	switch next := s.nextDue(); {
	case work && (wake == nil || wake.After(r.now)):
		t.Fatalf("asleep until %s with work to do: %d pending, due %v", stamp(wake), len(s.pending), due)
	case next != nil && (wake == nil || wake.After(later(*next, r.now))):
		t.Fatalf("asleep until %s, next due %s", stamp(wake), stamp(next))
	case wake == nil && len(s.Waiting()) == 0:
		t.Fatalf("asleep for ever: %v", r.story())
	}
}

// nothingIsForgotten: a run that sleeps has nothing to do, and its alarm is set for what comes next.
func nothingIsForgotten(t *rapid.T, r *rig) {
	if r.run.Status == Blocked {
		t.Fatalf("the mended run is blocked: %s", r.run.BlockDiagnosis)
	}
	if r.run.Status != Running {
		return
	}
	s := r.cold()
	if _, due := s.earliestDue(r.now); due || len(s.pending) > 0 {
		t.Fatalf("asleep with work to do: %d pending, due %v", len(s.pending), due)
	}
	if stamp(r.run.WakeAt) != stamp(s.nextDue()) {
		t.Fatalf("alarm %s, next due %s", stamp(r.run.WakeAt), stamp(s.nextDue()))
	}
}

// everyMessageIsShownOnce: accepted messages are shown in order of acceptance, none twice, and none is left out by a run
// that sleeps.
func everyMessageIsShownOnce(t *rapid.T, r *rig) {
	var accepted, shown []int64
	for _, e := range r.events {
		shown = append(shown, e.Taken...)
		switch d := e.Data.(type) {
		case *SignalReceived, *UpdateReceived, *HookResumed, *RunCancelRequested,
			*StepCompleted, *StepFailed, *ChildCompleted, *ChildFailed, *CallDelivered, *CallFailed:
			accepted = append(accepted, e.Seq)
		case *HookDisposed:
			if !d.ByCode {
				accepted = append(accepted, e.Seq)
			}
		}
	}
	accepted = slices.DeleteFunc(accepted, func(seq int64) bool { return leftUnseen(r, seq, shown) })
	if r.run.Status.Ended() {
		accepted = accepted[:min(len(shown), len(accepted))]
	}
	if !slices.Equal(accepted, shown) {
		t.Fatalf("accepted %v, shown %v", accepted, shown)
	}
}

func signalEvent(r *rig, seq int64, id spec.SignalID) (*SignalReceived, bool) {
	d, ok := r.events[seq-1].Data.(*SignalReceived)
	return d, ok && d.SignalID == id
}

func consumptionIsFIFO(t *rapid.T, r *rig) {
	last := map[string]int64{}
	consumed := map[string][]int64{}
	for _, e := range r.events {
		if d, ok := e.Data.(*WaitCompleted); ok {
			sig, ok := signalEvent(r, d.SignalSeq, d.SignalID)
			if !ok || d.SignalSeq <= last[sig.Name] {
				t.Fatalf("wait %s consumed signal %s out of order", d.WaitID, d.SignalID)
			}
			last[sig.Name] = d.SignalSeq
			consumed[sig.Name] = append(consumed[sig.Name], d.SignalSeq)
		}
	}
	for id, sig := range r.signals { // per name, what was consumed is a prefix of what was accepted
		if sig.Seq < last[sig.Name] && !slices.Contains(consumed[sig.Name], sig.Seq) {
			t.Fatalf("signal %s was passed over", id)
		}
	}
}

func waitsEndOnce(t *rapid.T, r *rig) {
	open := map[string]bool{}
	for _, e := range r.events {
		switch d := e.Data.(type) {
		case *WaitOpened:
			open[string(d.WaitID)] = true
		case *WaitCompleted, *WaitTimedOut, *WaitWithdrawn:
			id := string(reflect.ValueOf(d).Elem().FieldByName("WaitID").String())
			if !open[id] {
				t.Fatalf("wait %s ended while not open", id)
			}
			delete(open, id)
		case *RunContinued, *RunCompleted, *RunFailed:
			if len(open) > 0 {
				t.Fatalf("%v left open by %s", open, e.Data.Type())
			}
		}
	}
}

// waitsKeepTheirDeadlines: a wait takes a message that was accepted before its deadline, or one that was there when the
// wait was first opened; and its deadline is the first one of the generation.
func waitsKeepTheirDeadlines(t *rapid.T, r *rig) {
	type opening struct {
		WaitOpened
		at time.Time
	}
	var opened map[spec.WaitID]opening
	for _, e := range r.events {
		switch d := e.Data.(type) {
		case *RunStarted, *RunContinued:
			opened = map[spec.WaitID]opening{}
		case *WaitOpened:
			first, again := opened[d.WaitID]
			if again != d.Again || again && stamp(first.Deadline) != stamp(d.Deadline) {
				t.Fatalf("wait %s: until %s, first until %s", d.WaitID, stamp(d.Deadline), stamp(first.Deadline))
			}
			o := opening{*d, e.At}
			if d.OpenedAt != nil {
				o.at = *d.OpenedAt
			}
			opened[d.WaitID] = o
		case *WaitCompleted:
			o, at := opened[d.WaitID], r.events[d.SignalSeq-1].At
			if o.Deadline != nil && !at.Before(*o.Deadline) && (o.Again || at.After(o.at)) {
				t.Fatalf("wait %s until %s took a message of %s", d.WaitID, o.Deadline, at)
			}
		}
	}
}

func nothingAfterTheEnd(t *rapid.T, r *rig) {
	if !r.run.Status.Ended() {
		return
	}
	n := len(r.events)
	_, _ = r.signal("after", "a", 1)
	_, _ = r.update("after", "a", 1)
	_, _ = r.accept(&CancelRun{Run: testKey})
	for id := range r.hooks {
		_, _ = r.resume(string(id), 1)
		_, _ = r.dispose(string(id))
		if r.hooks[id].State == StateActive {
			t.Fatalf("hook %s outlived its run", id)
		}
	}
	for key, task := range maps.Clone(r.tasks) {
		if _, err := r.accept(&SettleTask{Run: testKey, Task: key, Attempt: task.Attempt, Output: payload(1)}); err != nil {
			t.Fatalf("%v, left by the run, takes no outcome: %v", key, err)
		}
	}
	if len(r.events) != n {
		t.Fatalf("%s after the end", r.story()[n])
	}
	for i, e := range r.events[:n-1] {
		if e.Data.Type() == TypeRunCompleted || e.Data.Type() == TypeRunFailed || e.Data.Type() == TypeRunCancelled {
			t.Fatalf("the run ended at event %d of %d", i+1, n)
		}
	}
}
