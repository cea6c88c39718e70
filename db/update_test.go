package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

func (r *acceptRig) readUpdate(run, id string) UpdateView {
	r.t.Helper()
	v, err := r.ReadUpdate(r.t.Context(), UpdateKey{Run: keyOf(run), ID: spec.UpdateID(id)})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func TestAcceptUpdates(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.OpenUpdates = 2 })
	undeclared, renamed := r.update("a", "u9", "1"), r.update("a", "u1", "1")
	undeclared.Name, renamed.Name = "rejected", "rejected"
	foreign := r.update("a", "u1", "1")
	foreign.Run.Namespace = "other"
	conflict := func(differs ...string) error { return &history.UpdateConflictError{Differs: differs} }
	r.walk([]step{
		{"update of no run", r.update("a", "u1", "1"), "", history.ErrRunNotFound},
		{"start", r.startOf("a"), history.Accepted, nil},
		{"signal of the same ID", r.signal("a", "u1", "1"), history.Accepted, nil},
		{"update", r.update("a", "u1", "1"), history.Accepted, nil},
		{"equal update", r.update("a", "u1", "1.0"), history.Duplicate, nil},
		{"other payload", r.update("a", "u1", "2"), "", conflict("payload")},
		{"other name", renamed, "", conflict("name")},
		{"undeclared", undeclared, "", history.ErrUpdateUndeclared},
		{"wrong shape", r.update("a", "u9", "false"), "", errShape},
		{"other namespace", foreign, "", history.ErrRunNotFound},
		{"second update", r.update("a", "u2", "null"), history.Accepted, nil},
		{"as many as may be", r.update("a", "u3", "1"), "", history.ErrBacklogFull},
		{"known update at the limit", r.update("a", "u2", "null"), history.Duplicate, nil},
		{"a signal at the limit of updates", r.signal("a", "s", "1"), history.Accepted, nil},
		{"cancel", &history.CancelRun{Run: keyOf("a")}, history.Accepted, nil},
		{"known update of an ended run", r.update("a", "u1", "1"), history.Duplicate, nil},
		{"new update of an ended run", r.update("a", "u4", "1"), "", history.ErrRunEnded},
	})
	for _, id := range []string{"u1", "u2"} {
		if v := r.readUpdate("a", id); v.State != history.UpdateIsOrphaned || v.Cause != history.StateCancelled {
			t.Errorf("%s: %+v", id, v)
		}
	}
	r.agrees()
}

// In one batch each message sees those before it, and an update that a cancellation ends comes with its end.
func TestUpdatesInABatch(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.OpenUpdates = 2 })
	answers := r.line(
		r.updateAndStart("a", "u1", "1"), r.update("a", "u1", "1"), r.update("a", "u1", "2"), r.update("a", "u2", "1"),
		r.update("a", "u3", "1"), &history.CancelRun{Run: keyOf("a")}, r.update("a", "u2", "1"), r.update("a", "u4", "1"),
	)
	r.start(r.Store)
	var got []string
	for _, a := range answers {
		answer := r.await(a)
		got = append(got, readingOf(answer.Receipt.Verdict, answer.Err))
	}
	want := []string{
		acceptedWord, duplicateWord, "update ID was accepted with another payload", acceptedWord, history.ErrBacklogFull.Error(),
		acceptedWord, duplicateWord, "run ended",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	r.consistent()
	r.agrees()
}

// What a turn answers is read back, told to this process once, and outlives the run and its generations.
func TestUpdatesAreAnsweredByTurns(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	r := running(t, func(c *Config) {
		c.Answered = func(run history.RunKey, ids []spec.UpdateID) {
			if run == keyOf("a") {
				told.Add(int64(len(ids)))
			}
		}
	})
	code := by(func(s *history.State) history.Decision {
		if status, _ := s.Wait("w"); status == history.WaitDone && s.Generation() == 1 {
			return answering(s, &history.ContinueAsNew{Input: null})
		}
		return approval(s)
	})
	r.ok(r.startOf("a"))
	r.ok(r.update("a", "done", `{"b":1, "a":2}`))
	r.ok(r.update("a", "refused", `"refuse"`))
	r.ok(r.update("a", "left", `"leave"`))
	r.drain(code)
	check := func() {
		t.Helper()
		if v := r.readUpdate("a", "done"); v.State != history.UpdateIsCompleted || string(v.Result) != `{"b":1, "a":2}` || v.ResolvedAt == nil {
			t.Errorf("%+v", v)
		}
		if v := r.readUpdate("a", "refused"); v.State != history.UpdateIsRejected || v.Reason != "not now" || v.Result != nil {
			t.Errorf("%+v", v)
		}
	}
	check()
	keys := []UpdateKey{{keyOf("a"), "left"}, {keyOf("a"), "done"}, {keyOf("a"), "none"}, {keyOf("none"), "done"}, {keyOf("a"), "refused"}}
	ended := func(want ...spec.UpdateID) {
		t.Helper()
		got, err := r.EndedUpdates(t.Context(), keys)
		var ids []spec.UpdateID
		for _, key := range got {
			ids = append(ids, key.ID)
		}
		if slices.Sort(ids); err != nil || !slices.Equal(ids, want) {
			t.Errorf("ended %v, %v; want %v", ids, err, want)
		}
	}
	ended("done", "refused")
	if v := r.readUpdate("a", "left"); v.State != history.UpdateIsOpen || v.ResolvedAt != nil || v.Cause != "" {
		t.Errorf("%+v", v)
	}
	r.ok(r.signal("a", "roll", "1"))
	r.drain(code)
	r.ok(r.update("a", "late", "3"))
	r.drain(code)
	if v := r.view("a"); v.Generation != 2 || v.Status != history.Running {
		t.Fatalf("%+v", v)
	}
	ended("done", "refused")
	r.ok(r.signal("a", "end", "1"))
	r.drain(code)
	check()
	ended("done", "left", "refused")
	if v := r.readUpdate("a", "left"); v.State != history.UpdateIsOrphaned || v.Cause != history.StateRunEnded {
		t.Errorf("%+v", v)
	}
	if told.Load() != 4 {
		t.Errorf("told of %d, want 4", told.Load())
	}
	if got := r.ok(r.update("a", "done", `{"a":2.0,"b":1}`)); got.Verdict != history.Duplicate {
		t.Errorf("%+v", got)
	}
	r.agrees()
}

func TestReadUpdateRefuses(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.ok(r.update("a", "u", "1"))
	r.drain(by(approval))
	read := func(run, id string) error {
		_, err := r.ReadUpdate(t.Context(), UpdateKey{Run: keyOf(run), ID: spec.UpdateID(id)})
		return err
	}
	for _, key := range [][2]string{{"a", "none"}, {"none", "u"}} {
		if err := read(key[0], key[1]); !errors.Is(err, ErrUpdateNotFound) {
			t.Errorf("%v: %v", key, err)
		}
	}
	r.sql(`update events set type = 'update.unheard_of' where type = 'update.completed'`)
	if err := read("a", "u"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an end of a newer program: %v", err)
	}
	for _, change := range []string{`type = 'facts.taken', data = '{}', payload = null`, `type = 'update.completed', data = '[]'`, `seq = 99`} {
		r.sql(`update events set ` + change + ` where seq = (select resolved_seq from updates)`)
		if err := read("a", "u"); err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUpdateNotFound) {
			t.Errorf("%s: %v", change, err)
		}
	}
	r.sql(`update updates set digest = sha256('x') || '1'::bytea where false`)
	if got, err := r.EndedUpdates(t.Context(), nil); got != nil || err != nil {
		t.Errorf("of none: %v, %v", got, err)
	}
}

// Many callers on two processes with the same update and one of their own each: one effect of each.
func TestManyUpdatesWithStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := rigOn(t, pool)
	stores := []*Store{r.Store, r.open(pool)}
	for _, s := range stores {
		r.start(s)
	}
	const callers = 30
	var answers []<-chan Answer
	for i := range callers {
		answers = append(answers,
			sendTo(stores[i%2], context.Background(), r.updateAndStart("a", "same", "1")),
			sendTo(stores[i%2], context.Background(), r.updateAndStart("a", fmt.Sprint("own ", i), "1")))
	}
	fresh, accepted := 0, 0
	for _, answer := range answers {
		a := r.await(answer)
		if a.Err != nil {
			t.Error(a.Err)
		}
		if a.Receipt.StartedFresh {
			fresh++
		}
		if a.Receipt.Verdict == history.Accepted {
			accepted++
		}
	}
	if fresh != 1 || accepted != callers+1 {
		t.Errorf("%d started it and %d were accepted, want 1 and %d", fresh, accepted, callers+1)
	}
	r.drain(by(approval))
	if n := value[int](r, `select count(*) from events where type = 'update.completed'`); n != callers+1 {
		t.Errorf("%d results, want %d", n, callers+1)
	}
	r.consistent()
	r.agrees()
}
