package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

// updatesEndOnce: each is answered at most once, after code was shown it, and an ended run leaves none open.
func updatesEndOnce(t *rapid.T, r *rig) {
	accepted, shown, ended := map[spec.UpdateID]int64{}, map[int64]bool{}, map[spec.UpdateID]bool{}
	for _, e := range r.events {
		for _, seq := range e.Taken {
			shown[seq] = true
		}
		var id spec.UpdateID
		answered := true
		switch d := e.Data.(type) {
		case *UpdateReceived:
			accepted[d.UpdateID] = e.Seq
			continue
		case *UpdateCompleted:
			id = d.UpdateID
		case *UpdateRejected:
			id = d.UpdateID
		case *UpdateOrphaned:
			id, answered = d.UpdateID, false
		default:
			continue
		}
		if ended[id] || accepted[id] == 0 || answered && !shown[accepted[id]] {
			t.Fatalf("update %s ends at %d though it is not open, or not shown", id, e.Seq)
		}
		ended[id] = true
	}
	open := len(accepted) - len(ended)
	if open > r.lim.OpenUpdates || open > 0 && r.run.Status.Ended() {
		t.Fatalf("%d updates are open, the run is %s", open, r.run.Status)
	}
}

func TestUpdate_goes_over_to_the_next_generation(t *testing.T) {
	t.Parallel()
	r := newRig(t, clerk)
	r.settle()
	for i := range 12 { // more than a list of few
		r.mustUpdate(t, fmt.Sprint("k", i), "keep", i)
	}
	r.mustUpdate(t, "y1", "yes", 1)
	r.settle()
	_, _ = r.signal("roll", "do", "continue")
	r.mustUpdate(t, "y2", "yes", 2) // accepted and not shown before the roll
	r.settle()
	if r.run.Generation != 2 {
		t.Fatalf("%+v", r.run)
	}
	opening := r.events[r.run.FirstSeq-1].Data.(*RunContinued)
	if len(opening.OpenUpdates) == 0 || opening.OpenUpdates[0].From != r.updates["k0"].Seq {
		t.Errorf("%+v", opening)
	}
	var kept []string
	for _, u := range r.cold().Updates("keep") {
		kept = append(kept, string(u.UpdateID)+"="+string(u.Payload.Bytes()))
	}
	want := []string{"k0=0", "k1=1", "k2=2", "k3=3", "k4=4", "k5=5", "k6=6", "k7=7", "k8=8", "k9=9", "k10=10", "k11=11"}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v", kept)
	}
	if u := r.updates["y2"]; u.State != UpdateIsCompleted || r.events[u.ResolvedSeq-1].Generation != 2 {
		t.Errorf("%+v", u)
	}
	// What was answered in an earlier generation is nothing to this one.
	r.author = func(*State) Decision { return decide(wait1("do", "do"), answers("y1", 1)) }
	r.mustUpdate(t, "y3", "yes", 3)
	r.settle()
	if r.run.BlockCause != BlockDecision || !strings.Contains(r.run.BlockDiagnosis, `update "y1"`) {
		t.Errorf("%+v", r.run)
	}
	if found, n := compareRows(project(r.events), r, r.now); n > 0 {
		t.Error(found)
	}
}

func TestUpdate_is_orphaned_by_every_end(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		end   string
		cause HookState
	}{{"complete", StateRunEnded}, {"fail", StateRunEnded}, {"cancel", StateCancelled}, {"terminate", StateCancelled}, {"cooperate", StateCancelled}} {
		t.Run(tc.end, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *State) Decision {
				if s.CancelRequested() {
					return decide(&AcceptCancel{})
				}
				return clerk(s)
			})
			r.auth.cooperative = tc.end == "cooperate"
			r.settle()
			r.mustUpdate(t, "shown", "keep", 1)
			r.mustUpdate(t, "answered", "yes", 1)
			r.settle()
			r.mustUpdate(t, "new", "keep", 1)
			switch tc.end {
			case "complete", "fail":
				_, _ = r.signal("end", "do", tc.end)
			default:
				if _, err := r.accept(&CancelRun{Run: testKey, Terminate: tc.end == "terminate"}); err != nil {
					t.Fatal(err)
				}
			}
			r.mustUpdateIf(t, tc.end)
			r.settle()
			if !r.run.Status.Ended() {
				t.Fatalf("%+v", r.run)
			}
			want := map[spec.UpdateID]UpdateState{"shown": UpdateIsOrphaned, "answered": UpdateIsCompleted, "new": UpdateIsOrphaned}
			if r.updates["late"].ID != "" {
				want["late"] = UpdateIsOrphaned
			}
			if diff := cmp.Diff(want, r.states()); diff != "" {
				t.Fatal(diff)
			}
			for _, id := range []spec.UpdateID{"shown", "new"} {
				if d := r.events[r.updates[id].ResolvedSeq-1].Data.(*UpdateOrphaned); d.Cause != tc.cause {
					t.Errorf("%s: %+v", id, d)
				}
			}
			if r.updates["shown"].ResolvedSeq >= r.updates["new"].ResolvedSeq {
				t.Error("they do not end in order of acceptance")
			}
			if found, n := compareRows(project(r.events), r, r.now); n > 0 {
				t.Error(found)
			}
		})
	}
}

// mustUpdateIf accepts one more update between the message that ends a run and the turn that ends it, where there is one.
func (r *rig) mustUpdateIf(t *testing.T, end string) {
	t.Helper()
	if end == "complete" || end == "fail" || end == "cooperate" {
		r.mustUpdate(t, "late", "keep", 1)
	}
}

// What happened to an update is told by its events alone: a history that says otherwise is found out, and so is a row.
func TestProjection_of_updates(t *testing.T) {
	t.Parallel()
	r := newRig(t, clerk)
	r.mustUpdate(t, "kept", "keep", 1)
	r.mustUpdate(t, "done", "yes", 1)
	r.settle()
	_, _ = r.signal("roll", "do", "continue")
	r.settle()
	_, _ = r.accept(&CancelRun{Run: testKey})
	for name, tc := range map[string]struct {
		edit func(edit) edit
		says string
	}{
		"forgotten by the next generation": {func(e edit) edit {
			find[RunContinued](e, 0).OpenUpdates = nil
			return e
		}, "the open updates are not those it names"},
		"accepted twice": {func(e edit) edit {
			return e.with(e.at(TypeRunContinued), &UpdateReceived{UpdateID: "done", Name: "yes", Digest: payload(1).Digest(), Payload: payload(1)})
		}, "the update ID was accepted before"},
		"answered twice": {func(e edit) edit {
			i := e.at(TypeUpdateCompleted)
			return e.with(i, e[i].Data)
		}, "the update is not open"},
		"answered again in the next generation": {func(e edit) edit {
			return e.with(e.at(TypeRunContinued), &UpdateRejected{UpdateID: "done"})
		}, "the update is not open"},
		"a forged argument": {func(e edit) edit { d := find[UpdateReceived](e, 0); d.Payload = replaced(d.Payload); return e }, "digest"},
		"a forged result":   {func(e edit) edit { d := find[UpdateCompleted](e, 0); d.Output = replaced(d.Output); return e }, "digest"},
	} {
		found, n := project(tc.edit(slices.Clone(edit(r.events)))).Finish()
		if n == 0 || found[0].Row != RowEvent || !strings.Contains(found[0].String(), tc.says) {
			t.Errorf("%s: %v, want %q", name, found, tc.says)
		}
	}
	for field, change := range map[string]func(u *Update){
		"name": func(u *Update) { u.Name = "other" }, "digest": func(u *Update) { u.Digest[0]++ }, "seq": func(u *Update) { u.Seq++ },
		"received_at": func(u *Update) { u.ReceivedAt = u.ReceivedAt.Add(1) }, "source": func(u *Update) { u.Source = "eve" },
		"actor": func(u *Update) { u.Actor = "eve" }, "state": func(u *Update) { u.State = UpdateIsRejected },
		"resolved_at": func(u *Update) { u.ResolvedAt = nil }, "resolved_seq": func(u *Update) { u.ResolvedSeq++ },
	} {
		u := r.updates["done"]
		change(&u)
		p := project(r.events)
		p.CompareUpdate(u)
		p.CompareUpdate(Update{ID: "extra"})
		p.Unreadable(RowUpdate, "kept", "cannot be read")
		found, _ := p.Finish()
		var lines []string
		for _, d := range found {
			if d.Row == RowUpdate {
				lines = append(lines, d.String())
			}
		}
		if len(lines) != 3 || !strings.HasPrefix(lines[0], `update "done": `+field) || lines[1] != `update "extra": no event made this row` {
			t.Errorf("%s: %v", field, lines)
		}
	}
	p := project(r.events)
	if found, n := p.Finish(); n < 2 || found[n-1].String() != `update "done": the row is missing` {
		t.Errorf("missing rows: %v", found)
	}
}

func TestStartWith_an_update(t *testing.T) {
	t.Parallel()
	with := func(name string, v any) *StartWith {
		return &StartWith{
			Start: &StartRun{Run: testKey, Workflow: "w", Version: "1", Input: payload(nil)},
			Send:  &SendUpdate{Run: testKey, ID: "u", Name: name, Payload: payload(v)},
		}
	}
	fresh := func() *Records {
		r := newRig(t, clerk)
		return &Records{
			Run:   Run{Key: testKey, Workflow: "w", Version: "1", Status: Running, Generation: 1, FirstSeq: 1, NextSeq: 1, StartedAt: epoch},
			Known: true, Fresh: true, Signals: r.signals, Hooks: r.hooks,
		}
	}
	rec := fresh()
	if _, err := rec.Accept(with("undeclared", 1), openAuthority{}, DefaultLimits(), epoch); !errors.Is(err, ErrUpdateUndeclared) || rec.Changed() {
		t.Errorf("refused: %v, changed %v", err, rec.Changed())
	}
	barred := with("yes", 1)
	barred.Barred = ErrHookNotFound // any error
	if _, err := rec.Accept(barred, openAuthority{}, DefaultLimits(), epoch); !errors.Is(err, ErrHookNotFound) || rec.Changed() {
		t.Errorf("barred: %v, changed %v", err, rec.Changed())
	}
	lim := DefaultLimits()
	lim.OpenUpdates, lim.MaxEvents = 1, 1
	got, err := rec.Accept(with("yes", 1), openAuthority{}, lim, epoch)
	if err != nil || !got.StartedFresh || got.Sequence != 2 || len(rec.Events) != 2 || !slices.Equal(rec.NewUpdates, []spec.UpdateID{"u"}) {
		t.Fatalf("%+v, %v, %+v", got, err, rec)
	}
	other := with("yes", 1)
	other.Start.Workflow = "other"
	if got, err := rec.Accept(other, openAuthority{}, lim, epoch); err != nil || got.Verdict != Duplicate || got.StartedFresh {
		t.Errorf("known: %+v, %v", got, err)
	}
	other.Send = &SendUpdate{Run: testKey, ID: "v", Name: "yes", Payload: payload(1)}
	if _, err := rec.Accept(other, openAuthority{}, lim, epoch); !cmp.Equal(err, error(&RunConflictError{Differs: []string{"workflow"}})) {
		t.Errorf("another workflow: %v", err)
	}
	other.Start.Workflow = "w"
	if _, err := rec.Accept(other, openAuthority{}, lim, epoch); !errors.Is(err, ErrBacklogFull) {
		t.Errorf("attached to a full run: %v", err)
	}
}
