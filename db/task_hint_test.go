package db

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
)

// hints are what a store told its process.
type hints struct {
	mu                       sync.Mutex
	ended, tasked, withdrawn []string
}

func (h *hints) hear(c *Config) {
	c.Ended = func(run history.RunKey, _ *RunView) { h.note(&h.ended, string(run.RunID)) }
	c.Tasked = func(wants []TaskWant) bool {
		for _, w := range wants {
			h.note(&h.tasked, string(w.Kind)+w.Name)
		}
		return true
	}
	c.Withdrawn = func(run history.RunKey, keys []history.TaskKey) {
		for _, key := range keys {
			h.note(&h.withdrawn, string(run.RunID)+"/"+key.ID)
		}
	}
}

func (h *hints) note(list *[]string, word string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*list = append(*list, word)
}

// said gives the words of a list, sorted, and forgets them.
func (h *hints) said(list *[]string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	words := slices.Sorted(slices.Values(*list))
	*list = nil
	return strings.Join(words, " ")
}

// The process is told what tasks a commit made due and which nobody needs any more; that a run ended it is told once,
// not again with each task that outlived it.
func TestTaskHints(t *testing.T) {
	t.Parallel()
	h := &hints{}
	r := running(t, h.hear)
	r.ok(r.startOf("a"))
	r.drain(by(func(s *history.State) history.Decision { return decide(append(withTasks(s).Commands, wait("w"))...) }))
	if got := h.said(&h.tasked); got != "call child child stepcharge" {
		t.Errorf("due: %s", got)
	}
	r.ok(&history.CancelRun{Run: keyOf("a")})
	if due, gone, ended := h.said(&h.tasked), h.said(&h.withdrawn), h.said(&h.ended); due != "stop" || gone != "a/c a/s" || ended != "a" {
		t.Errorf("due %q, withdrawn %q, ended %q", due, gone, ended)
	}
	for _, task := range r.claim("w", aMinute, everyWant(9)...) {
		r.ok(task.outcome())
	}
	if ended := h.said(&h.ended); ended != "" {
		t.Errorf("it ended once more: %q", ended)
	}
	r.agrees()
}

// A child whose turns are handed over tells its parent, too.
func TestTaskReportOfAHandedTurn(t *testing.T) {
	t.Parallel()
	r := running(t, taking)
	m := r.startOf("child")
	m.Parent = &history.Parent{RunID: "p", Generation: 1, ChildID: "c", Depth: 1}
	r.ok(m)
	for _, message := range []history.Message{nil, r.signal("child", "s", "1")} {
		if message != nil {
			r.ok(message)
		}
		if done := r.hand(r.Store, by(approval)); done.Committed != 1 {
			t.Errorf("%+v", done)
		}
	}
	r.wantRow("ended", "child", "report c attempt 0 failures 0 strikes 0 due")
	r.agrees()
}

// A big output counts for the size of a batch as any payload does.
func TestTaskOutcomeHasItsSize(t *testing.T) {
	t.Parallel()
	big, err := canon.Parse([]byte(`"`+strings.Repeat("x", 1<<20)+`"`), canon.Limits{MaxBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if n := (&call{message: &history.SettleTask{Output: big}}).size(); n < 1<<20 {
		t.Errorf("%d bytes", n)
	}
}
