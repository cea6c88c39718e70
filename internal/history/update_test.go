package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/spec"
)

func answers(id string, v any) *CompleteUpdate {
	return &CompleteUpdate{ID: spec.UpdateID(id), Output: payload(v)}
}

func rejects(id, why string) *RejectUpdate {
	return &RejectUpdate{ID: spec.UpdateID(id), Message: why}
}

// clerk answers every update it is shown with its payload, refuses those of the name "no", keeps those of the name "keep",
// and does what the signal "do" says.
func clerk(s *State) Decision {
	cs := []Command{&WaitUpdate{Name: "yes"}, wait1("do", "do")}
	for _, u := range s.Updates("yes") {
		cs = append(cs, &CompleteUpdate{ID: u.UpdateID, Output: u.Payload})
	}
	for _, u := range s.Updates("no") {
		cs = append(cs, &RejectUpdate{ID: u.UpdateID, Message: "not now"})
	}
	what, _ := got(s, "do")
	switch strings.Trim(string(what.Bytes()), `"`) {
	case "complete":
		return decide(append(cs[1:], complete("done"))...)
	case "fail":
		return decide(append(cs[1:], &Fail{Message: "bad"})...)
	case "continue":
		return decide(append(cs[1:], &ContinueAsNew{Input: payload(nil)})...)
	}
	return decide(cs...)
}

func (r *rig) mustUpdate(t *testing.T, id, name string, v any) Receipt {
	t.Helper()
	receipt, err := r.update(id, name, v)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func (r *rig) states() map[spec.UpdateID]UpdateState {
	states := map[spec.UpdateID]UpdateState{}
	for id, u := range r.updates {
		states[id] = u.State
	}
	return states
}

func TestUpdate_is_accepted_by_its_identity(t *testing.T) {
	t.Parallel()
	r := newRig(t, clerk)
	r.lim.OpenUpdates = 2
	first := r.mustUpdate(t, "u1", "keep", map[string]any{"a": 1, "b": 2})
	if want := (Receipt{Verdict: Accepted, Run: testKey, UpdateID: "u1", Sequence: 2, ReceivedAt: epoch}); first != want {
		t.Errorf("got %+v, want %+v", first, want)
	}
	again := func() {
		t.Helper()
		got, err := r.accept(&SendUpdate{Run: testKey, ID: "u1", Name: "keep", Payload: payload(map[string]any{"b": 2.0, "a": 1})})
		want := first
		want.Verdict = Duplicate
		if err != nil || got != want {
			t.Errorf("again: %+v, %v", got, err)
		}
		for _, m := range []struct {
			name string
			v    any
			want []string
		}{{"keep", 1, []string{"payload"}}, {"no", map[string]any{"a": 1, "b": 2}, []string{"name"}}, {"undeclared", 1, []string{"name", "payload"}}} {
			_, err := r.update("u1", m.name, m.v)
			if conflict, ok := errors.AsType[*UpdateConflictError](err); !ok || !slices.Equal(conflict.Differs, m.want) {
				t.Errorf("other content: %v, want %v", err, m.want)
			}
		}
	}
	again()
	if _, err := r.update("u2", "undeclared", 1); !errors.Is(err, ErrUpdateUndeclared) {
		t.Error(err)
	}
	r.mustUpdate(t, "u2", "yes", 1)
	if _, err := r.update("u3", "yes", 1); !errors.Is(err, ErrBacklogFull) {
		t.Errorf("a third: %v", err)
	}
	again()
	r.settle() // answers u2
	r.mustUpdate(t, "u3", "no", 1)
	r.settle()
	again()
	_, _ = r.signal("roll", "do", "continue")
	r.settle()
	again()
	if _, err := r.accept(&CancelRun{Run: testKey}); err != nil {
		t.Fatal(err)
	}
	again()
	if _, err := r.update("u4", "yes", 1); !errors.Is(err, ErrRunEnded) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := r.update("u4", "undeclared", 1); !errors.Is(err, ErrRunEnded) {
		t.Errorf("undeclared, after the end: %v", err)
	}
	want := map[spec.UpdateID]UpdateState{"u1": UpdateIsOrphaned, "u2": UpdateIsCompleted, "u3": UpdateIsRejected}
	if diff := cmp.Diff(want, r.states()); diff != "" {
		t.Error(diff)
	}
}

func TestUpdate_is_taken_in_order_and_answered(t *testing.T) {
	t.Parallel()
	var seen []string
	r := newRig(t, func(s *State) Decision {
		var shown []string
		for _, u := range s.Updates("yes") {
			shown = append(shown, string(u.UpdateID))
		}
		seen = append(seen, fmt.Sprint(shown, len(s.Peek("note"))))
		return clerk(s)
	})
	r.mustUpdate(t, "u1", "yes", 1)
	_, _ = r.signal("n", "note", 1)
	r.mustUpdate(t, "u2", "yes", 2)
	r.settle()
	if want := []string{"[] 0", "[u1] 0", "[] 1", "[u2] 1"}; !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
	var done []string
	for _, u := range r.cold().DoneUpdates("yes") {
		done = append(done, string(u.UpdateID)+string(u.Payload.Bytes())+string(u.Output.Bytes()))
	}
	if want := []string{"u111", "u222"}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
	for _, id := range []spec.UpdateID{"u1", "u2"} {
		u := r.updates[id]
		d := r.events[u.ResolvedSeq-1].Data.(*UpdateCompleted)
		if d.UpdateID != id || string(d.Output.Bytes()) != strings.TrimPrefix(string(id), "u") {
			t.Errorf("%s has the result %s", id, d.Output.Bytes())
		}
	}
	if found, n := compareRows(project(r.events), r, r.now); n > 0 {
		t.Error(found)
	}
}

// A run that has answered everything and waits for updates sleeps; one that names nothing is blocked, and the next update
// makes it due.
func TestUpdate_is_something_to_wait_for(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		cs := []Command{&WaitUpdate{Name: "yes"}}
		for _, u := range s.Updates("yes") {
			cs = append(cs, &CompleteUpdate{ID: u.UpdateID, Output: u.Payload})
		}
		if len(cs) == 1 || s.Generation() > 1 {
			return decide(cs...)
		}
		return decide(cs[1:]...)
	})
	r.settle()
	if r.run.Status != Running || r.run.WakeAt != nil {
		t.Fatalf("%+v", r.run)
	}
	r.mustUpdate(t, "u1", "yes", 1)
	r.settle()
	if r.run.Status != Blocked || r.run.BlockCause != BlockNoProgress || !strings.Contains(r.run.BlockDiagnosis, "WaitForUpdate") {
		t.Fatalf("%+v", r.run)
	}
	if r.updates["u1"].State != UpdateIsOpen {
		t.Error("a blocked turn answered the update")
	}
	r.author = clerk
	r.mustUpdate(t, "u2", "yes", 1)
	if r.run.WakeAt == nil || r.run.WakeAt.After(r.now) {
		t.Error("an update does not wake a run that lacks something to wait for")
	}
	r.settle()
	if want := map[spec.UpdateID]UpdateState{"u1": UpdateIsCompleted, "u2": UpdateIsCompleted}; !cmp.Equal(want, r.states()) {
		t.Errorf("%v", r.states())
	}
}

func TestUpdate_decisions_that_are_refused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, tc := range map[string]struct {
		commands []Command
		says     string
	}{
		"unknown":              {[]Command{answers("u9", 1)}, `update "u9"`},
		"not shown yet":        {[]Command{answers("u2", 1)}, `update "u2"`},
		"a bad ID":             {[]Command{answers(long, 1)}, "bad ID"},
		"no ID":                {[]Command{rejects("", "no")}, "bad ID"},
		"a bad name":           {[]Command{&WaitUpdate{}}, "bad name"},
		"two results":          {[]Command{answers("u1", 1), answers("u1", 2)}, "twice"},
		"a result and refusal": {[]Command{answers("u1", 1), rejects("u1", "no")}, "twice"},
		"two refusals":         {[]Command{rejects("u1", "a"), rejects("u1", "b")}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *State) Decision {
				if len(s.Updates("yes")) == 0 {
					return decide(wait1("do", "do"))
				}
				return decide(append([]Command{wait1("do", "do")}, tc.commands...)...)
			})
			r.mustUpdate(t, "u1", "yes", 1)
			r.mustUpdate(t, "u2", "yes", 1)
			r.settle()
			if r.run.BlockCause != BlockDecision || !strings.Contains(r.run.BlockDiagnosis, tc.says) {
				t.Errorf("%q, want %q", r.run.BlockDiagnosis, tc.says)
			}
			r.author = clerk
			_, _ = r.accept(&RetryRun{Run: testKey})
			r.settle()
			if want := map[spec.UpdateID]UpdateState{"u1": UpdateIsCompleted, "u2": UpdateIsCompleted}; !cmp.Equal(want, r.states()) {
				t.Errorf("after the fix: %v, %s", r.states(), r.run.BlockDiagnosis)
			}
		})
	}
}

// An ID of an update is its caller's: it may be that of a wait, and neither touches the other.
func TestUpdate_IDs_are_no_IDs_of_the_run(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		cs := []Command{wait1("stay", "never")}
		if len(s.Peek("x")) == 0 {
			cs = append(cs, wait1("do", "do"))
		}
		for _, u := range s.Updates("yes") {
			cs = append(cs, answers(string(u.UpdateID), 1), answers(string(u.UpdateID), 1.0))
		}
		return decide(cs...)
	})
	r.settle()
	_, _ = r.signal("x", "x", 1)
	r.mustUpdate(t, "do", "yes", 1)
	r.settle()
	if r.run.Status != Running || r.updates["do"].State != UpdateIsCompleted {
		t.Fatalf("%+v %+v", r.run, r.updates)
	}
	if status, _ := r.cold().Wait("do"); status != WaitWithdrew {
		t.Errorf("the wait that the decision does not name is %s", status)
	}
}

// Answering again is a no-op within the generation, and so is calling code twice.
func TestUpdate_answered_again_changes_nothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *State) Decision {
		if s.HistoryLength() < 3 {
			return decide(wait1("do", "do"))
		}
		return decide(wait1("do", "do"), answers("u1", s.HistoryLength()))
	})
	r.settle()
	r.mustUpdate(t, "u1", "yes", 1)
	r.settle()
	before := r.updates["u1"]
	_, _ = r.signal("s", "note", 1)
	r.settle()
	if r.run.Status != Running || before.State != UpdateIsCompleted || !cmp.Equal(before, r.updates["u1"]) {
		t.Errorf("%+v, then %+v", before, r.updates["u1"])
	}
}
