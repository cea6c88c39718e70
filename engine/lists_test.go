package engine_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	for i := range 7 {
		if _, err := r.Start(r.ctx(), engine.StartRequest{
			Workflow: "greet", RunID: spec.RunID(engine.ID("run", i)), Labels: spec.Labels{"odd": []string{"no", "yes"}[i%2]},
		}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []spec.RunID
	q := engine.RunQuery{Limit: 3}
	for {
		p, err := r.ListRuns(r.ctx(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Items {
			seen = append(seen, s.RunID)
		}
		if p.NextCursor == "" {
			break
		}
		q.Cursor = p.NextCursor
	}
	if diff := cmp.Diff([]spec.RunID{"run-6", "run-5", "run-4", "run-3", "run-2", "run-1", "run-0"}, seen); diff != "" {
		t.Error(diff)
	}
	p, err := r.ListRuns(r.ctx(), engine.RunQuery{Labels: spec.Labels{"odd": "yes"}, Workflow: "greet", Status: "running"})
	if err != nil || len(p.Items) != 3 {
		t.Errorf("by label: %+v, %v", p, err)
	}
	for _, q := range []engine.RunQuery{{Status: "dead"}, {Limit: 201}, {Cursor: "x"}, {Workflow: " "}, {Labels: spec.Labels{"Ä": ""}}} {
		if _, err := r.ListRuns(r.ctx(), q); engine.VerdictOf(err) != engine.VerdictInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestHistoryIsPagedWithinAGeneration(t *testing.T) {
	t.Parallel()
	r := newRig(t, roller)
	r.start(roller, "run", entity{Of: 3})
	r.mustSend("run", "a", "item", 1)
	r.until("run", "in generation 2", func(s engine.Snapshot) bool { return s.Generation == 2 && len(s.Waiting) == 1 })
	p, err := r.History(r.ctx(), "run", engine.HistoryQuery{Generation: 1, Limit: 2})
	if err != nil || len(p.Events) != 2 || p.Events[0].Type != "run.started" || p.NextCursor == "" {
		t.Fatalf("first page %+v, %v", p, err)
	}
	rest, err := r.History(r.ctx(), "run", engine.HistoryQuery{Cursor: p.NextCursor, Limit: 200})
	if err != nil || rest.NextCursor != "" || len(rest.Events) == 0 || rest.Events[0].Seq != 3 {
		t.Fatalf("second page %+v, %v", rest, err)
	}
	for _, e := range rest.Events {
		if e.Generation != 1 {
			t.Errorf("the page went on into generation %d", e.Generation)
		}
	}
	newest, err := r.History(r.ctx(), "run", engine.HistoryQuery{})
	if err != nil || newest.Events[0].Type != "run.continued" {
		t.Errorf("newest %+v, %v", newest, err)
	}
	if p, err := r.History(r.ctx(), "run", engine.HistoryQuery{Generation: 9}); err != nil || len(p.Events) != 0 {
		t.Errorf("a generation that is not: %+v, %v", p, err)
	}
	if _, err := r.History(r.ctx(), "nope", engine.HistoryQuery{}); !errors.Is(err, engine.ErrRunNotFound) {
		t.Errorf("no run: %v", err)
	}
	for _, q := range []engine.HistoryQuery{{Cursor: "x"}, {Cursor: "1.2x"}, {Cursor: "0.1"}, {Cursor: "+1.1"}, {Cursor: "1.1", Generation: 2}, {Generation: -1}, {Limit: 500}} {
		if _, err := r.History(r.ctx(), "run", q); engine.VerdictOf(err) != engine.VerdictInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
