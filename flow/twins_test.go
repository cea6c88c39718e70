package flow_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

// twin is one workflow written twice, and what may happen to its runs.
type twin struct {
	name      string
	decisions engine.Workflow
	flow      engine.Workflow
	input     any
	signals   []string
	hooks     []string
	steps     []string
	cancel    bool // the spec is CooperativeCancel
}

func (w twin) spec() spec.WorkflowSpec {
	s := spec.WorkflowSpec{Name: w.name, Version: "1", CooperativeCancel: w.cancel}
	for _, name := range w.signals {
		s.Signals = append(s.Signals, spec.Signal{Name: name})
	}
	return s
}

// operation does something to a run and says how that was answered.
type operation struct {
	words string
	do    func(run *enginetest.Run) error
}

// message is a random thing that somebody tells the run: a signal or its redelivery, an answer to a hook, the outcome of a
// step, whether or not the run has opened them.
func message(r *rand.Rand, w twin, n int) operation {
	at, payload := r.IntN(len(w.signals)+len(w.hooks)+len(w.steps)), r.IntN(4)
	if at < len(w.signals) {
		name, id := w.signals[at], spec.SignalID(fmt.Sprint("s", r.IntN(n+1)))
		return operation{fmt.Sprint("signal ", name, id), func(run *enginetest.Run) error {
			_, err := run.TrySignal(id, name, payload)
			return err
		}}
	}
	if at -= len(w.signals); at < len(w.hooks) {
		id := spec.HookID(w.hooks[at])
		return operation{fmt.Sprint("resume ", id), func(run *enginetest.Run) error {
			_, err := run.TryResume(id, payload)
			return err
		}}
	}
	id := spec.StepID(w.steps[at-len(w.hooks)])
	return operation{fmt.Sprint("step ", id), func(run *enginetest.Run) error {
		if payload == 0 {
			return run.TryFailStep(id, "", "no")
		}
		return run.TryCompleteStep(id, payload)
	}}
}

// schedule is what happens to a run, at random: messages, time, and stretches in which no turn is taken.
func schedule(r *rand.Rand, w twin) []operation {
	ops := []operation{{"start", func(run *enginetest.Run) error { return run.TryStart(w.input) }}}
	held := false
	for n := range 4 + r.IntN(40) {
		switch k := r.IntN(10); {
		case k < 7:
			ops = append(ops, message(r, w, n))
		case k == 7:
			d := time.Duration(r.IntN(8)) * time.Second
			ops = append(ops, operation{"advance " + d.String(), func(run *enginetest.Run) error { run.Advance(d); return nil }})
		case k == 8 && w.cancel && r.IntN(4) == 0:
			ops = append(ops, operation{"cancel", func(run *enginetest.Run) error { return run.TryCancel() }})
		case held:
			held = false
			ops = append(ops, operation{"release", func(run *enginetest.Run) error { run.Release(); return nil }})
		default:
			held = true
			ops = append(ops, operation{"hold", func(run *enginetest.Run) error { run.Hold(); return nil }})
		}
	}
	return append(ops, operation{"release", func(run *enginetest.Run) error { run.Release(); return nil }})
}

// play lets operations happen to a run and returns its history and how each was answered.
// Of several functions each takes over from the one before it with the next operation, as deployments do.
func play(t *testing.T, w twin, fns []engine.Workflow, ops []operation, opts ...enginetest.Option) (events, answers []string) {
	t.Helper()
	run := enginetest.New(t, w.spec(), fns[0], opts...)
	for i, op := range ops {
		run.Deploy(fns[i%len(fns)])
		answers = append(answers, fmt.Sprint(op.words, ": ", engine.VerdictOf(op.do(run))))
	}
	return run.Events(), answers
}

// TestTwins: a workflow of package flow and its twin written with decisions have the same history under any schedule, and
// so has the flow that is replayed from its beginning at every call, and a run that the two advance by turns.
func TestTwins(t *testing.T) {
	t.Parallel()
	for _, w := range twins() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ended := 0
			for seed := range uint64(80) {
				ops := schedule(rand.New(rand.NewPCG(seed, 1)), w)
				cut := enginetest.WithLimits(engine.Limits{TurnEvents: 1 + int(seed%4)*500}) // every fourth run in turns of one event
				decisions, straight := []engine.Workflow{w.decisions}, []engine.Workflow{w.flow}
				want, answered := play(t, w, decisions, ops, cut)
				for name, other := range map[string]struct {
					fns  []engine.Workflow
					opts []enginetest.Option
				}{
					"in place":     {straight, []enginetest.Option{cut}},
					"from the top": {straight, []enginetest.Option{cut, enginetest.FromTop()}},
					"by turns":     {append(decisions, straight...), []enginetest.Option{cut}},
				} {
					got, answers := play(t, w, other.fns, ops, other.opts...)
					if diff := cmp.Diff(append(want, answered...), append(got, answers...)); diff != "" {
						t.Fatalf("seed %d, %s, differs from decisions:\n%s\n%v", seed, name, diff, answers)
					}
				}
				if strings.Contains(want[len(want)-1], " run.") {
					ended++
				}
			}
			if ended < 10 {
				t.Errorf("%d schedules brought the run to an end", ended)
			}
		})
	}
}
