package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/proof"
)

// Engines that decide on what they know, and advance at once what they made due themselves, do what the model does when it
// has all turns after every message.
func TestProof_engines_that_hand_over_do_what_the_model_does(t *testing.T) {
	t.Parallel()
	for i, events := range []int{1000, 4} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engine.Config{Limits: engine.Limits{Backlog: 5, OpenUpdates: 3, TurnEvents: events}}, handsOver)
			traces := proof.Traces(proof.Shape{Engines: engineCount, Signals: 12})
			rapid.Check(t, func(rt *rapid.T) { w.agree(rt, forward(traces.Draw(rt, "trace"))) })
			var taken int
			w.ask(&taken, `select count(*) from events where type = 'wait.completed'`)
			if taken == 0 {
				t.Error("no message was ever taken")
			}
		})
	}
}

// forward is a trace whose clock is never set back. When it is, a message bears the time of the event before it, and a
// claim waits until the clock comes there; who hands its turn over does not. Steps are not done in it: how many turns there
// are for the outcomes of several is a matter of chance, and a run that is blocked counts them.
func forward(trace proof.Trace) proof.Trace {
	for i := range trace {
		trace[i].For = trace[i].For.Abs()
	}
	return slices.DeleteFunc(trace, func(o proof.Operation) bool { return o.Verb == proof.Work })
}
