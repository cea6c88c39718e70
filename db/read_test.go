package db

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// allRuns reads every page of a list.
func (r *acceptRig) allRuns(f RunFilter) (ids []string) {
	r.t.Helper()
	for pages := 0; ; pages++ {
		runs, next, err := r.ListRuns(r.t.Context(), f)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, run := range runs {
			ids = append(ids, string(run.Key.RunID))
		}
		if next == "" || pages > 100 {
			return ids
		}
		if len(runs) != f.Limit {
			r.t.Errorf("a page before the last has %d items, want %d", len(runs), f.Limit)
		}
		f.Cursor = next
	}
}

func TestListRuns(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i := range 6 {
		m := r.startOf(fmt.Sprint("r", i))
		m.Labels = spec.Labels{"parity": fmt.Sprint(i % 2), "third": fmt.Sprint(i % 3)}
		if i == 5 {
			m.Workflow, m.Labels = "order", nil
		}
		r.ok(m)
	}
	foreign := r.startOf("foreign")
	foreign.Run.Namespace = "other"
	r.ok(foreign)
	r.sql(`update runs set status = 'completed', closed_at = now(), wake_at = null where run_id in ('r1', 'r4')`)
	for name, tt := range map[string]struct {
		filter RunFilter
		want   []string
	}{
		"all":              {RunFilter{}, []string{"r5", "r4", "r3", "r2", "r1", "r0"}},
		"by workflow":      {RunFilter{Workflow: "order"}, []string{"r5"}},
		"by status":        {RunFilter{Status: history.Completed}, []string{"r4", "r1"}},
		"by label":         {RunFilter{Labels: spec.Labels{"parity": "0"}}, []string{"r4", "r2", "r0"}},
		"by two labels":    {RunFilter{Labels: spec.Labels{"parity": "0", "third": "1"}}, []string{"r4"}},
		"by all":           {RunFilter{Workflow: "invoice", Status: history.Completed, Labels: spec.Labels{"parity": "1"}}, []string{"r1"}},
		"label unknown":    {RunFilter{Labels: spec.Labels{"absent": "0"}}, nil},
		"other namespace":  {RunFilter{Namespace: "other"}, []string{"foreign"}},
		"absent namespace": {RunFilter{Namespace: "absent"}, nil},
	} {
		for limit := range 8 {
			f := tt.filter
			f.Limit = limit
			if limit == 0 {
				f.Limit = 1000
			}
			if f.Namespace == "" {
				f.Namespace = "default"
			}
			if diff := cmp.Diff(tt.want, r.allRuns(f)); diff != "" {
				t.Errorf("%s, %d a page: %s", name, f.Limit, diff)
			}
		}
	}
}

// A page goes on after the last item of the one before it, also when items were added or ended in between.
func TestPagesDoNotShift(t *testing.T) {
	t.Parallel()
	r := running(t)
	for i := range 4 {
		r.ok(r.startOf(fmt.Sprint("r", i)))
	}
	f := RunFilter{Namespace: "default", Limit: 2}
	_, next, err := r.ListRuns(t.Context(), f)
	if err != nil || next == "" {
		t.Fatalf("%q %v", next, err)
	}
	r.ok(r.startOf("new"))
	f.Cursor = next
	runs, next, err := r.ListRuns(t.Context(), f)
	if err != nil || next != "" || len(runs) != 2 || runs[0].Key.RunID != "r1" {
		t.Errorf("%+v %q %v", runs, next, err)
	}
}

func TestBadCursorsAndLabels(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	invalid := func(field string, err error) {
		t.Helper()
		bad, ok := errors.AsType[*spec.InvalidError](err)
		if !ok || bad.Field != field {
			t.Errorf("%v, want an invalid %s", err, field)
		}
	}
	for _, cursor := range []string{"x", "%", "AAAA", hookCursor.cursor(1), runCursor.cursor(0), runCursor.cursor(-1), runCursor.cursor(1) + "A", runCursor.cursor(1) + "=", runCursor.cursor(1) + "\n", "\r" + runCursor.cursor(1)} {
		_, _, err := r.ListRuns(t.Context(), RunFilter{Namespace: "default", Cursor: cursor})
		invalid("cursor", err)
	}
	_, _, err := r.ListHooks(t.Context(), HookFilter{Namespace: "default", Cursor: runCursor.cursor(1)})
	invalid("cursor", err)
	_, _, err = r.ListRuns(t.Context(), RunFilter{Namespace: "default", Labels: spec.Labels{"Bad Key": "x"}})
	invalid("labels", err)
	_, _, err = r.ListHooks(t.Context(), HookFilter{Namespace: "default", Labels: spec.Labels{"k": "\x00"}})
	invalid("labels/k", err)
}

func FuzzCursor(f *testing.F) {
	f.Add(runCursor.cursor(7))
	f.Add("")
	f.Add("\n" + runCursor.cursor(7))
	f.Fuzz(func(t *testing.T, text string) {
		row, err := runCursor.before(text)
		if err == nil && text != "" && (row <= 0 || runCursor.cursor(row) != text) {
			t.Errorf("%q was read as %d", text, row)
		}
	})
}

func TestReadsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	r.hook("a", "h", nil)
	foreign := history.RunKey{Namespace: "other", RunID: "a"}
	for _, key := range []history.RunKey{keyOf("absent"), foreign} {
		if _, err := r.ReadRun(t.Context(), key); !errors.Is(err, history.ErrRunNotFound) {
			t.Errorf("run: %v", err)
		}
		if _, _, err := r.State(t.Context(), key); !errors.Is(err, history.ErrRunNotFound) {
			t.Errorf("state: %v", err)
		}
		for _, generation := range []int{-1, 0, 1} {
			if _, err := r.History(t.Context(), key, generation, 0, 0); !errors.Is(err, history.ErrRunNotFound) {
				t.Errorf("history: %v", err)
			}
		}
		if _, err := r.Hook(t.Context(), key, "h"); !errors.Is(err, history.ErrHookNotFound) {
			t.Errorf("hook: %v", err)
		}
		if _, err := r.Signal(t.Context(), key, "s"); !errors.Is(err, ErrSignalNotFound) {
			t.Errorf("signal: %v", err)
		}
	}
	if _, err := r.Hook(t.Context(), keyOf("a"), "absent"); !errors.Is(err, history.ErrHookNotFound) {
		t.Errorf("hook: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReadRun(ended, keyOf("a")); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	// Generations of 3, 4, 5 … events.
	growing := func(s *history.State) history.Decision {
		for n := range s.Generation() {
			if !s.TimerFired(fmt.Sprint("t", n)) {
				now := time.Duration(0)
				return decide(&history.StartTimer{ID: spec.TimerID(fmt.Sprint("t", n)), In: &now})
			}
		}
		if s.Generation() == 12 {
			return decide(&history.Complete{Output: null})
		}
		return decide(&history.ContinueAsNew{Input: null})
	}
	r.drain(by(growing))
	v := r.view("a")
	if v.Status != history.Completed || v.Generation != 12 {
		t.Fatalf("%+v", v)
	}
	var seqs []int64
	for g := 1; g <= 12; g++ {
		var page []history.Event
		var after int64
		for first := true; first || len(page) == 2; first = false {
			var err error
			if page, err = r.History(t.Context(), keyOf("a"), g, after, 2); err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				if e.Generation != g {
					t.Errorf("event %d of generation %d in a page of %d", e.Seq, e.Generation, g)
				}
				seqs = append(seqs, e.Seq)
				after = e.Seq
			}
		}
	}
	for i, seq := range seqs {
		if seq != int64(i+1) {
			t.Fatalf("seqs of all pages: %v", seqs)
		}
	}
	if int64(len(seqs)) != v.NextSeq-1 {
		t.Errorf("%d events read, the run has %d", len(seqs), v.NextSeq-1)
	}
	newest, err := r.History(t.Context(), keyOf("a"), 0, 0, 1000)
	if err != nil || newest[0].Seq != v.FirstSeq || newest[len(newest)-1].Seq != v.NextSeq-1 {
		t.Errorf("newest generation: %v %v", newest, err)
	}
	for _, g := range []int{-1, 13, 1 << 40} {
		if events, err := r.History(t.Context(), keyOf("a"), g, 0, 10); err != nil || len(events) != 0 {
			t.Errorf("generation %d: %v %v", g, events, err)
		}
	}
}

func TestEndedRuns(t *testing.T) {
	t.Parallel()
	r := running(t)
	for _, id := range []string{"a", "b", "c"} {
		r.ok(r.startOf(id))
	}
	r.advance(only("b", func(*history.State) history.Decision { return decide(&history.Fail{Message: "x"}) }, approval))
	foreign := history.RunKey{Namespace: "other", RunID: "b"}
	got, err := r.EndedRuns(t.Context(), []history.RunKey{keyOf("a"), keyOf("b"), keyOf("absent"), foreign})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.RunKey{keyOf("b")}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := r.EndedRuns(t.Context(), nil); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
}

// A state is read as of one instant: while turns and messages change the run, it is never out of step with its record.
func TestStateIsOfOneInstant(t *testing.T) {
	t.Parallel()
	r := running(t)
	r.ok(r.startOf("a"))
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := r.Accept(context.Background(), r.signal("a", fmt.Sprint("s", i), "1")); err != nil {
				done <- err
				return
			}
			if _, err := r.Advance(context.Background(), by(entity)); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 200 {
		s, run, err := r.State(t.Context(), keyOf("a"))
		if err != nil || s.NextSeq() != run.NextSeq || s.Generation() != run.Generation {
			t.Fatalf("%v: %+v", err, run)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
