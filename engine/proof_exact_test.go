package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
)

// TestProof_engines_do_what_the_model_does compares real engines with the model: the same traces get the same answers and
// leave the same rows and histories, to the microsecond, whichever engine is asked and whenever one is restarted. The
// answers are also those of the table of verdicts, and the histories keep the laws, neither of which knows the rules that
// model and engines share.
func TestProof_engines_do_what_the_model_does(t *testing.T) {
	t.Parallel()
	for i := range worlds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			limits := engine.Limits{Backlog: 5, OpenUpdates: 3, TurnEvents: []int{1000, 1, 4, 12}[i%4]}
			w := newWorld(t, engine.Config{Limits: limits}, claims)
			traces := proof.Traces(proof.Shape{Engines: engineCount, Signals: 12, Holds: true})
			rapid.Check(t, func(rt *rapid.T) { w.agree(rt, traces.Draw(rt, "trace")) })
		})
	}
}

// agree does a trace in the model and on the engines.
func (w *world) agree(t *rapid.T, trace proof.Trace) {
	name := w.newTrace()
	m := w.model(name)
	told := map[history.RunKey][]proof.Call{}
	var had proof.Trouble
	clock := int64(0)
	for _, wave := range trace.Waves() {
		answers := w.doWave(name, wave)
		for i, o := range wave {
			had.ClockSetBack = had.ClockSetBack || o.For < 0
			key := o.Key(name)
			before, _ := m.Record(key)
			want, err := m.Do(o)
			if err != nil {
				t.Fatalf("at %s: the model: %v", o, err)
			}
			if answers[i] != want {
				t.Fatalf("at      %s\nmodel   %s\nengine  %s", o, want, answers[i])
			}
			if !o.Message() {
				continue
			}
			table := proof.Oracle{Now: m.Now, Backlog: m.Limits.Backlog, Updates: m.Limits.OpenUpdates}
			if differs := table.Answer(o, before.Events).Differs(answers[i]); differs != "" {
				t.Fatalf("at      %s\nengine  %s\n%s", o, answers[i], differs)
			}
			told[key] = append(told[key], proof.Call{Operation: o, Answer: answers[i], Begun: clock, Ended: clock + 1})
			clock += 2
		}
		if w.mode != claims { // at once, and what is left to a claim now
			w.turns()
			if _, err := m.Do(proof.Operation{Verb: proof.Turns}); err != nil {
				t.Fatalf("after %v: the model: %v", wave, err)
			}
		}
	}
	w.compare(t, m, told, had)
}

// compare compares what is stored with the model, with the events, with the laws, and with what callers were told.
func (w *world) compare(t *rapid.T, m *proof.Model, told map[history.RunKey][]proof.Call, had proof.Trouble) {
	records, err := w.records(m.Trace)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(m.Runs()) {
		t.Fatalf("the model has %d runs, the database %d", len(m.Runs()), len(records))
	}
	for _, key := range m.Runs() {
		want, _ := m.Record(key)
		have := records[key]
		if diff := sideBySide(want, have); diff != "" {
			t.Fatalf("run %s/%s:\n%s", key.Namespace, key.RunID, diff)
		}
		broken := slices.Concat(have.Broken(m.Now), w.attempts.Broken(key, have.Events, false),
			proof.Check(told[key], have.Events, had))
		if len(broken) > 0 {
			t.Fatalf("run %s/%s:\n%s\n%s", key.Namespace, key.RunID, strings.Join(broken, "\n"), recordStory(want))
		}
	}
}

func (w *world) model(trace string) *proof.Model {
	l := w.cfg.Limits
	limits := history.DefaultLimits()
	limits.Backlog, limits.OpenUpdates, limits.TurnEvents = l.Backlog, l.OpenUpdates, l.TurnEvents
	return &proof.Model{
		Trace: trace, Now: w.now(), Limits: limits, Digest: w.hostDigest, Holder: w.holders(trace),
		Stored: w.stored, Seed: engine.IdempotencyKey, Outcome: w.outcome,
	}
}

// recordStory is all that is stored of a run.
func recordStory(r proof.Record) string {
	lines, err := r.Lines()
	if err != nil {
		return err.Error()
	}
	return strings.Join(lines, "\n")
}

// sideBySide shows where two records differ, and what both say besides; it is empty when they do not.
func sideBySide(model, engine proof.Record) string {
	want, err := model.Lines()
	if err != nil {
		return err.Error()
	}
	have, err := engine.Lines()
	if err != nil {
		return err.Error()
	}
	if slices.Equal(want, have) {
		return ""
	}
	in := map[string][2]string{}
	var order []string
	for side, lines := range [][]string{want, have} {
		for _, line := range lines {
			key := strings.Join(strings.Fields(line)[:2], " ") // names the row, or the event
			both, known := in[key]
			if !known {
				order = append(order, key)
			}
			both[side] = line
			in[key] = both
		}
	}
	var b strings.Builder
	for _, key := range order {
		if both := in[key]; both[0] == both[1] {
			fmt.Fprintf(&b, "  both    %.100s\n", both[0])
		} else {
			fmt.Fprintf(&b, "  model   %s\n  engine  %s\n", both[0], both[1])
		}
	}
	return b.String()
}
