package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
)

var testShape = Shape{Holds: true, Engines: 3, Signals: 12}

func newModel(turnEvents int) *Model {
	limits := history.DefaultLimits()
	limits.Backlog, limits.OpenUpdates, limits.TurnEvents = 5, 3, turnEvents
	return &Model{
		Trace: "t1", Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Limits: limits,
		Digest: func(token string) (d history.TokenDigest) {
			copy(d[:], strings.TrimPrefix(token, "host_token_"))
			return d
		},
		Seed: func(run history.RunKey, generation int, step string) string { return fmt.Sprint(run, generation, step) },
	}
}

// The model, which asks package history, and the oracle, which does not, answer alike; and whatever was asked, the
// histories keep the laws and the answers hold together.
func TestModel_answers_as_the_table_says(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.SampledFrom([]int{1000, 1, 4, 12}).Draw(t, "turn events"))
		trace := Traces(testShape).Draw(t, "trace")
		calls := map[history.RunKey][]Call{}
		back := false
		for i, o := range trace {
			back = back || o.For < 0
			key := o.Key(m.Trace)
			before, _ := m.Record(key)
			answer, err := m.Do(o)
			if err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			if !o.Message() {
				continue
			}
			calls[key] = append(calls[key], Call{Operation: o, Answer: answer, Begun: int64(2 * i), Ended: int64(2*i + 1)})
			table := Oracle{Now: m.Now, Backlog: m.Limits.Backlog, Updates: m.Limits.OpenUpdates}
			if differs := table.Answer(o, before.Events).Differs(answer); differs != "" {
				t.Fatalf("%s\nmodel %s\n%s", o, answer, differs)
			}
			after, _ := m.Record(key)
			if wrong := Due(o, answer, before, after, m.Now); wrong != "" {
				t.Fatalf("%s\nmodel %s\n%s", o, answer, wrong)
			}
		}
		for _, key := range m.Runs() {
			r, _ := m.Record(key)
			broken := append(r.Broken(m.Now), Check(calls[key], r.Events, Trouble{ClockSetBack: back})...)
			if len(broken) > 0 {
				lines, _ := r.Lines()
				t.Fatalf("run %s/%s:\n%s\n%s", key.Namespace, key.RunID, strings.Join(broken, "\n"), strings.Join(lines, "\n"))
			}
		}
	})
}
