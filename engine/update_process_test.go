package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A caller at a process without the code is told what another process answered.
func TestUpdate_is_answered_by_another_process(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	worker := idle(t, testConfig(t, pool), counter).run()
	door := idle(t, testConfig(t, pool)).run()
	door.start(counter, "a", nil)
	worker.waiting("a", "do", "t")
	for i := range 5 {
		id := spec.UpdateID(fmt.Sprint("u", i))
		door.mustUpdate("a", id, "add", 1)
		if got, want := door.answer("a", id), fmt.Sprint("completed ", i+1); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
	door.mustUpdate("a", "left", "hold", 1)
	answer := make(chan string)
	go func() { answer <- door.answer("a", "left") }()
	door.until("a", "waited for", func(engine.Snapshot) bool { return door.Stats().Waiters > 0 })
	worker.mustSend("a", "end", "do", "complete")
	if got := <-answer; got != "orphaned: run_ended" {
		t.Error(got)
	}
}

// The process that accepted an update is gone, with the drive that would have answered it, while a timer is open. A retry is
// a duplicate, and the update takes effect once some process has the code. (A wait in the process that stops says so.)
func TestUpdate_survives_its_process(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	worker := idle(t, testConfig(t, pool), counter).run()
	worker.start(counter, "a", 1)
	worker.waiting("a", "do", "t")
	worker.stop()
	door := idle(t, testConfig(t, pool)).run()
	first := door.mustUpdate("a", "u", "add", 2)
	told := make(chan error)
	go func() { _, err := door.WaitUpdate(door.ctx(), "a", "u"); told <- err }()
	door.until("a", "waited for", func(engine.Snapshot) bool { return door.Stats().Waiters == 1 })
	door.stop()
	if err := <-told; !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a caller of a process that stops: %v", err)
	}
	if _, err := door.WaitUpdate(t.Context(), "a", "u"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("after it stopped: %v", err)
	}
	restarted := idle(t, testConfig(t, pool), counter).run()
	if again := restarted.mustUpdate("a", "u", "add", 2); again.Verdict != engine.VerdictDuplicate || again.Sequence != first.Sequence {
		t.Errorf("%+v", again)
	}
	if got := restarted.answer("a", "u"); got != "completed 3" {
		t.Error(got)
	}
	restarted.mustUpdate("a", "v", "add", 1)
	if got := restarted.answer("a", "v"); got != "completed 4" {
		t.Errorf("what an update changed is lost: %s", got)
	}
}

// Code that fails keeps the update open, for as long as it takes, and answers it once.
func TestUpdate_of_a_blocked_run(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	failing := workflow{counter.spec, func(c *engine.Context) (engine.Decision, error) {
		if len(c.Updates("add")) > 0 {
			return engine.Decision{}, errors.New("not ready")
		}
		return c.WaitForUpdate("add"), nil
	}}
	r := idle(t, testConfig(t, pool), failing).run()
	r.start(counter, "a", nil)
	r.mustUpdate("a", "u", "add", 1)
	r.blocked("a")
	r.mustUpdate("a", "v", "add", 1)
	ctx, cancel := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.WaitUpdate(ctx, "a", "u"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain: %v", err)
	}
	r.stop()
	fixed := idle(t, testConfig(t, pool), counter).run()
	for id, want := range map[spec.UpdateID]string{"u": "completed 1", "v": "completed 2"} {
		if got := fixed.answer("a", id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Many callers at two processes, each update sent by several of them at once while signals come and generations roll over:
// each has one effect, and everybody is told the same.
func TestUpdate_crowd(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	procs := []*rig{idle(t, testConfig(t, pool), counter).run(), idle(t, testConfig(t, pool), counter).run()}
	procs[0].start(counter, "a", 0)
	const updates, callers = 12, 4
	type told struct {
		id   spec.UpdateID
		what string
		err  error
	}
	answers := make(chan told, updates*callers)
	for i := range updates {
		for c := range callers {
			go func() {
				id, p := spec.UpdateID(fmt.Sprint("u", i)), procs[c%2]
				if _, err := p.SendUpdate(t.Context(), engine.UpdateRequest{RunID: "a", UpdateID: id, Name: "add", Payload: []byte("1")}); err != nil {
					answers <- told{id: id, err: err}
					return
				}
				u, err := p.WaitUpdate(t.Context(), "a", id)
				answers <- told{id, answerWord(u, err), err}
			}()
		}
		if i%4 == 3 {
			procs[i%2].mustSend("a", spec.SignalID(fmt.Sprint("roll", i)), "do", "continue")
		}
	}
	said, totals := map[spec.UpdateID]string{}, map[string]bool{}
	for range updates * callers {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if before, known := said[a.id]; known && before != a.what {
			t.Errorf("%s: %s and %s", a.id, before, a.what)
		}
		said[a.id], totals[a.what] = a.what, true
	}
	if len(totals) != updates || !totals[fmt.Sprint("completed ", updates)] {
		t.Errorf("results %v", totals)
	}
}
