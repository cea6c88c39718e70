package flow_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// straightLine does so many steps in sequence and then takes items for ever.
func straightLine(steps int) engine.Workflow {
	return flow.Func(func(w *flow.Workflow, _ any) (any, error) {
		for n := range steps {
			if _, err := flow.Step[int](w, engine.ID("step", n), "echo", n, retry); err != nil {
				return nil, err
			}
		}
		for n := 0; ; n++ {
			if err := await(w, engine.ID("item", n), "item"); err != nil {
				return nil, err
			}
		}
	})
}

// decided is its twin.
func decided(steps int) engine.Workflow {
	return func(c *engine.Context) (decision, error) {
		for n := range steps {
			id := engine.ID("step", n)
			if _, ok, err := engine.StepOutput[int](c, id); err != nil || !ok {
				return c.RunStep(id, "echo", n, retry), err
			}
		}
		for n := 0; ; n++ {
			id := engine.ID("item", n)
			if _, ok, err := engine.SignalPayload[raw](c, id); err != nil || !ok {
				return c.WaitForSignal(id, "item"), err
			}
		}
	}
}

// afterSteps is a run whose steps are all done. Decisions did them, which takes less time; the history is the same.
func afterSteps(t testing.TB, steps int, fn engine.Workflow) *enginetest.Run {
	run := enginetest.New(t, testSpec, decided(steps))
	run.Start(nil)
	for n := range steps {
		run.CompleteStep(spec.StepID(engine.ID("step", n)), n)
	}
	run.Deploy(fn)
	return run
}

// BenchmarkReplay is a signal accepted and the turn that takes it, after so many steps: the history is folded, and the
// function goes over it from the top. Beside it its twin made of decisions, which does so too, and for which the fold and
// all else is the same. Each run is given few signals, so that its history stays as long as it was.
func BenchmarkReplay(b *testing.B) {
	for name, fn := range map[string]func(steps int) engine.Workflow{"flow": straightLine, "decisions": decided} {
		for _, steps := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/steps=%d", name, steps), func(b *testing.B) {
				b.ReportAllocs()
				var run *enginetest.Run
				each := max(steps/20, 1)
				for n := 0; b.Loop(); n++ {
					if n%each == 0 {
						b.StopTimer()
						run = afterSteps(b, steps, fn(steps))
						b.StartTimer()
					}
					run.Signal("item", n)
				}
				if waiting := run.Waiting(); len(waiting) != 1 {
					b.Fatal(waiting)
				}
			})
		}
	}
}

// TestALongStraightLineIsReplayedInLinearTime looks at the memory that is allocated, which is exact where time is not: ten
// times the steps are at most ten times the work of a turn.
func TestALongStraightLineIsReplayedInLinearTime(t *testing.T) {
	turn := func(steps int) uint64 {
		run := afterSteps(t, steps, straightLine(steps))
		run.Signal("item", nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run.Signal("item", nil)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := turn(20), turn(200); many > 10*few {
		t.Errorf("a turn allocates %d bytes after 20 steps, %d after 200", few, many)
	}
}
