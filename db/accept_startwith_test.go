package db

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestSignalWithStart(t *testing.T) {
	t.Parallel()
	r := running(t, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.Backlog = 2 })
	with := func(run, id, text string, change ...func(*history.StartWith)) *history.StartWith {
		m := r.signalAndStart(run, id, text)
		for _, f := range change {
			f(m)
		}
		return m
	}
	undeclared := func(m *history.StartWith) { m.Send.(*history.SendSignal).Name = "rejected" }
	elsewhere := func(m *history.StartWith) { m.Start.Workflow = "other" }
	otherwise := func(m *history.StartWith) {
		m.Start.Version, m.Start.NamedVersion, m.Start.Input = "9", true, payload(t, "9")
		m.Start.Labels = map[string]string{"k": "v"}
	}
	errBarred := errors.New("the input breaks its schema")
	barred := func(m *history.StartWith) { m.Barred = errBarred }
	strange := func(m *history.StartWith) { m.Start.SpecDigest = strangeSpec }
	r.walk([]step{
		{"undeclared signal, no run", with("a", "s1", "1", undeclared), "", history.ErrSignalUndeclared},
		{"signal of the wrong shape, no run", with("a", "s1", "false"), "", errShape},
		{"barred start, no run", with("a", "s1", "1", barred), "", errBarred},
		{"spec that is not loaded, no run", with("a", "s1", "1", strange), "", &AuthorityMissingError{Digest: strangeSpec}},
		{"none of them started it", r.signal("a", "s1", "1"), "", history.ErrRunNotFound},
		{"started", with("a", "s1", `{"n":1}`), history.Accepted, nil},
		{"again", with("a", "s1", `{"n":1.0}`), history.Duplicate, nil},
		{"again, alone", r.signal("a", "s1", `{"n":1}`), history.Duplicate, nil},
		{"again, for another workflow", with("a", "s1", `{"n":1}`, elsewhere), history.Duplicate, nil},
		{"again, by now barred", with("a", "s1", `{"n":1}`, barred), history.Duplicate, nil},
		{"known, other payload", with("a", "s1", "2"), "", &history.SignalConflictError{Differs: []string{"payload"}}},
		{"another workflow", with("a", "s2", "2", elsewhere), "", &history.RunConflictError{Differs: []string{"workflow"}}},
		{"undeclared signal", with("a", "s2", "2", undeclared), "", history.ErrSignalUndeclared},
		{"attached, though all else differs", with("a", "s2", "2", otherwise), history.Accepted, nil},
		{"backlog full", with("a", "s3", "3"), "", history.ErrBacklogFull},
		{"the same start, alone", r.startOf("a"), history.Duplicate, nil},
		{"attached to a run that was started alone", r.startOf("b"), history.Accepted, nil},
		{"… though barred", with("b", "s1", "1", barred), history.Accepted, nil},
		{"cancel", &history.CancelRun{Run: keyOf("b")}, history.Accepted, nil},
		{"known signal of an ended run", with("b", "s1", "1"), history.Duplicate, nil},
		{"new signal to an ended run", with("b", "s2", "1"), "", history.ErrRunEnded},
	})
	if n := value[int](r, `select count(*) from runs`); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// The receipt says who started the run, and the row and the first event are of one time.
func TestSignalWithStartTellsWhetherItStarted(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, want := range []struct {
		id    string
		fresh bool
		seq   int64
	}{{"s1", true, 2}, {"s1", false, 2}, {"s2", false, 3}} {
		got := r.ok(r.signalAndStart("a", want.id, "1"))
		if got.StartedFresh != want.fresh || got.Sequence != want.seq || got.SignalID != "s"+got.SignalID[1:] || got.Run != keyOf("a") {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	r.consistent()
}

// What comes in one batch is judged in the order of arrival; a row that was inserted for a later message is no run yet to an
// earlier one that starts none.
func TestSignalWithStartInABatch(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	otherwise := r.startOf("c")
	otherwise.Workflow = "other"
	answers := r.line(
		r.signalAndStart("a", "s1", "false"), // starts nothing
		r.signal("a", "s2", "1"),
		r.startOf("a"),
		r.signalAndStart("a", "s3", "1"),
		r.signalAndStart("b", "s1", "1"),
		r.signalAndStart("b", "s1", "1"),
		r.signalAndStart("b", "s2", "false"),
		otherwise,
		r.signalAndStart("c", "s1", "1"),
		r.signalAndStart("d", "s1", "false"), // starts nothing, though the batch is stored
	)
	r.start(r.Store)
	var got []string
	for _, a := range answers {
		answer := r.await(a)
		got = append(got, readingOf(answer.Receipt.Verdict, answer.Err))
	}
	want := []string{
		errShape.Error(), unknownRun, acceptedWord, acceptedWord, acceptedWord, duplicateWord, errShape.Error(), acceptedWord,
		(&history.RunConflictError{Differs: []string{"workflow"}}).Error(), errShape.Error(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if runs := value[string](r, `select string_agg(run_id, ' ' order by run_id) from runs`); runs != "a b c" {
		t.Errorf("runs %s", runs)
	}
	r.consistent()
}

// Many callers, on two processes, each with the same signal and one of its own: one run, and each signal once.
func TestManySignalsWithStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := rigOn(t, pool)
	stores := []*Store{r.Store, r.open(pool)}
	for _, s := range stores {
		r.start(s)
	}
	const callers = 40
	var answers []<-chan Answer
	for i := range callers {
		answers = append(answers,
			sendTo(stores[i%2], context.Background(), r.signalAndStart("a", "same", "1")),
			sendTo(stores[i%2], context.Background(), r.signalAndStart("a", fmt.Sprint("own ", i), "1")))
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
	if n := value[int](r, `select count(*) from runs`); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
	r.consistent()
}
