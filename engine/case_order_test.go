package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// Order is fixed once, by acceptance.

func TestC47_ConsumptionFollowsAcceptance(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "closing", Version: "1", Signals: []spec.Signal{{Name: "n"}}},
		func(c *engine.Context) (engine.Decision, error) {
			got := []int{}
			for i := 0; len(got) < 2; i++ {
				id := engine.ID("w", i)
				if c.WaitTimedOut(id) {
					continue
				}
				v, ok, err := engine.SignalPayload[int](c, id)
				if err != nil {
					return engine.Decision{}, err
				}
				if !ok {
					return c.WaitForSignal(id, "n", engine.Timeout(3*time.Millisecond)), nil
				}
				got = append(got, v)
			}
			return c.Complete(got), nil
		},
	}
	r := newRig(t, w)
	for n := range 30 {
		run := spec.RunID(engine.ID("run", n))
		r.start(w, run, nil)
		one := r.mustSend(run, "1", "n", 1) // while a wait closes
		two := r.mustSend(run, "2", "n", 2)
		if one.Sequence >= two.Sequence {
			t.Fatalf("sequences %d, %d", one.Sequence, two.Sequence)
		}
		if out := r.completed(run); out != "[1,2]" {
			t.Errorf("%s: %s", run, out)
		}
	}
}

func TestC48_SettlingOrderIsTheSameInEveryReplay(t *testing.T) {
	t.Parallel()
	s := spec.WorkflowSpec{Name: "five", Version: "1"}
	for i := range 5 {
		s.Signals = append(s.Signals, spec.Signal{Name: engine.ID("n", i+1)})
	}
	w := workflow{s, func(c *engine.Context) (engine.Decision, error) {
		var ds []engine.Decision
		left := map[string]bool{}
		for i := range 5 {
			id := engine.ID("w", i+1)
			left[id] = true
			ds = append(ds, c.WaitForSignal(id, engine.ID("n", i+1)))
		}
		var order []string
		for {
			var ids []string
			for id := range left {
				ids = append(ids, id)
			}
			first := c.First(ids...)
			if first == "" {
				break
			}
			order = append(order, first)
			delete(left, first)
		}
		if len(order) < 5 {
			return c.Await(ds...), nil
		}
		return c.Complete(order), nil
	}}
	pool := pgtest.New(t)
	runs := []spec.RunID{"a", "b"}
	worker := idle(t, testConfig(t, pool), w).run()
	for _, run := range runs {
		worker.start(w, run, nil)
		worker.waiting(run, "w-1", "w-2", "w-3", "w-4", "w-5")
	}
	worker.stop()
	gate := idle(t, testConfig(t, pool)).run()
	for _, run := range runs {
		for _, i := range []int{3, 1, 5, 2, 4} {
			gate.mustSend(run, spec.SignalID(engine.ID("s", i)), engine.ID("n", i), nil)
		}
	}
	again := idle(t, testConfig(t, pool), w).run()
	for _, run := range runs {
		if out := again.completed(run); out != `["w-3","w-1","w-5","w-2","w-4"]` {
			t.Errorf("%s: %s", run, out)
		}
	}
}

func TestX03_NoNilErrorForAMessageNobodyKeeps(t *testing.T) {
	t.Parallel()
	r := newRig(t, greet)
	for n := range 50 {
		run := spec.RunID(engine.ID("run", n))
		r.start(greet, run, nil)
		r.mustSend(run, "end", "hello", "bye") // the run is about to finish
		_, err := r.send(run, "late", "a", n)
		r.completed(run)
		switch {
		case errors.Is(err, engine.ErrRunEnded):
			if _, err := r.Receipt(r.ctx(), run, "late"); !errors.Is(err, engine.ErrSignalNotFound) {
				t.Errorf("%s: a refused message has a receipt: %v", run, err)
			}
		case err != nil:
			t.Errorf("%s: %v", run, err)
		default:
			if receipt, err := r.Receipt(r.ctx(), run, "late"); err != nil || receipt.State != engine.SignalUnread {
				t.Errorf("%s: an accepted message is %+v, %v", run, receipt, err)
			}
		}
	}
}

func TestX05_StoreDecidesTheOrderOfSenders(t *testing.T) {
	t.Parallel()
	r := newRig(t, collect)
	other := r.beside()
	r.start(collect, "run", 100)
	sequence := make([]int64, 100)
	parallel(2, func(sender int) {
		for i := range 50 {
			n := 2*i + sender
			receipt := []*rig{r, other}[sender].mustSend("run", spec.SignalID(fmt.Sprint(n)), "item", n)
			sequence[n] = receipt.Sequence
		}
	})
	r.completed("run")
	at := map[int64]int{}
	for n, seq := range sequence {
		at[seq] = n
	}
	if len(at) != 100 {
		t.Fatalf("%d sequences for 100 messages", len(at))
	}
	var want []int
	for seq := int64(1); len(want) < 100; seq++ {
		if n, ok := at[seq]; ok {
			want = append(want, n)
		}
	}
	if out := r.completed("run"); out != string(encode(t, want)) {
		t.Errorf("consumed %s\naccepted %v", out, want)
	}
}
