package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Messages that arrive before, during or just after registration.

// lateWait opens its wait after the milliseconds of its input.
var lateWait = workflow{
	spec.WorkflowSpec{Name: "late-wait", Version: "1", Signals: []spec.Signal{{Name: "go"}}},
	func(c *engine.Context) (engine.Decision, error) {
		delay, err := engine.Input[int](c)
		if err != nil {
			return engine.Decision{}, err
		}
		if !c.TimerFired("delay") {
			return c.Sleep("delay", time.Duration(delay)*time.Millisecond), nil
		}
		v, ok, err := engine.SignalPayload[string](c, "w")
		switch {
		case err != nil:
			return engine.Decision{}, err
		case ok:
			return c.Complete(v), nil
		case c.WaitTimedOut("w"):
			return c.Fail(fmt.Errorf("the signal was not seen")), nil
		}
		return c.WaitForSignal("w", "go", engine.Timeout(5*time.Minute)), nil
	},
}

func TestC01_SignalRightAfterStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, lateWait)
	const runs = 500
	var next sync.Mutex
	n := 0
	parallel(16, func(int) {
		for {
			next.Lock()
			i := n
			n++
			next.Unlock()
			if i >= runs {
				return
			}
			id := spec.RunID(engine.ID("run", i))
			r.start(lateWait, id, rand.IntN(200))
			if v := verdict(r.send(id, "s", "go", string(id))); v != engine.VerdictAccepted {
				t.Errorf("%s: %s", id, v)
			}
		}
	})
	for i := range runs {
		id := spec.RunID(engine.ID("run", i))
		if out := r.completed(id); out != fmt.Sprintf("%q", id) {
			t.Errorf("%s: output %s", id, out)
		}
	}
}

func TestC07_SecondWaitsMessageComesFirst(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "a-then-b", Version: "1", Signals: []spec.Signal{{Name: "a"}, {Name: "b"}}},
		func(c *engine.Context) (engine.Decision, error) {
			for _, name := range []string{"a", "b"} {
				if _, ok, err := engine.SignalPayload[any](c, "w-"+name); err != nil || !ok {
					return c.WaitForSignal("w-"+name, name), err
				}
			}
			return c.Complete("both"), nil
		},
	}
	r := newRig(t, w)
	r.start(w, "run", nil)
	r.waiting("run", "w-a")
	r.mustSend("run", "1", "b", nil)
	r.mustSend("run", "2", "a", nil)
	if out := r.completed("run"); out != `"both"` {
		t.Errorf("output %s", out)
	}
}

func TestX01_BufferedSignalsComeOldestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, collect)
	gate := r.beside()
	gate.start(collect, "run", 5)
	for i := range 5 {
		gate.mustSend("run", spec.SignalID(engine.ID("s", i)), "item", i+1)
	}
	if out := r.completed("run"); out != "[1,2,3,4,5]" {
		t.Errorf("output %s", out)
	}
}

// collect takes as many items as its input says.
var collect = workflow{
	spec.WorkflowSpec{Name: "collect", Version: "1", Signals: []spec.Signal{{Name: "item"}}},
	func(c *engine.Context) (engine.Decision, error) {
		n, err := engine.Input[int](c)
		if err != nil {
			return engine.Decision{}, err
		}
		items := []int{}
		for i := range n {
			v, ok, err := engine.SignalPayload[int](c, engine.ID("item", i))
			if err != nil {
				return engine.Decision{}, err
			}
			if !ok {
				return c.WaitForSignal(engine.ID("item", i), "item"), nil
			}
			items = append(items, v)
		}
		return c.Complete(items), nil
	},
}
