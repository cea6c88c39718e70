package engine

import (
	"testing"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

// Tasks of one queue are taken only if there is a place for every one of them: others are told of the rest.
func TestWorkerTakes(t *testing.T) {
	t.Parallel()
	step := func(name string) db.TaskWant { return db.TaskWant{Kind: history.TaskStep, Name: name} }
	w := &worker{lines: []*line{
		{slots: 3, used: 1, wants: []db.TaskWant{step("a"), step("b")}}, {slots: 1, wants: []db.TaskWant{step("c")}},
	}}
	for _, tt := range []struct {
		wants []db.TaskWant
		want  bool
	}{
		{nil, true},
		{[]db.TaskWant{step("a"), step("b"), step("c")}, true},
		{[]db.TaskWant{step("a"), step("b"), step("a")}, false},
		{[]db.TaskWant{step("c"), step("c")}, false},
		{[]db.TaskWant{step("a"), step("stranger")}, false},
	} {
		if got := w.takes(tt.wants); got != tt.want {
			t.Errorf("%v: got %v", tt.wants, got)
		}
	}
	if w.closing = true; w.takes([]db.TaskWant{step("c")}) {
		t.Error("a worker that ends takes more")
	}
}
