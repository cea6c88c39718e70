package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/history"
)

// countingAndAsking takes six messages, beside a hook.
func countingAndAsking(s *history.State) history.Decision {
	d := counting(6)(s)
	if state := s.Hook("h").State; (state == "" || state == history.StateActive) && s.Hook("h").Rejected == nil {
		if _, done := d.Commands[0].(*history.Complete); !done {
			d.Commands = append(d.Commands, asks(s))
		}
	}
	return d
}

// knownStep is one thing that happens to both sides of twins: it returns what its callers read.
type knownStep func(t *rapid.T, p *twins) func(s *twin, prefix string) []string

// anyMessage makes a message to one of two runs.
func anyMessage(t *rapid.T, p *twins) func(prefix string) history.Message {
	run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
	kind := rapid.SampledFrom([]string{
		"s", "s", "s", "s", "s", "s", "answer", "answer", "cancel", "retry", "start", "start another", "absent",
	}).Draw(t, "kind")
	id := rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", "7", "8"}).Draw(t, "ID")
	text := rapid.SampledFrom([]string{"1", "1", "1", "2", "false"}).Draw(t, "payload")
	return func(prefix string) history.Message {
		run := at(prefix, run)
		switch kind {
		case "cancel":
			return &history.CancelRun{Run: keyOf(run)}
		case "retry":
			return &history.RetryRun{Run: keyOf(run)}
		case "start":
			return p.startOf(run)
		case "start another":
			return p.startOf(at(prefix, id))
		case "answer":
			return p.resume(run, "h", text)
		case "absent":
			return p.signal(at(prefix, "absent"), id, text)
		}
		return p.signal(run, id, text)
	}
}

// knownSteps are what may happen, by the store that does it: that of the side, or one that does it behind its back.
var knownSteps = map[string]knownStep{
	"batch": func(t *rapid.T, p *twins) func(*twin, string) []string {
		var all []func(string) history.Message
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			all = append(all, anyMessage(t, p))
		}
		elsewhere := rapid.IntRange(0, 3).Draw(t, "by") == 0
		return func(s *twin, prefix string) []string {
			messages := make([]history.Message, len(all))
			for i, m := range all {
				messages[i] = m(prefix)
			}
			for _, m := range messages {
				if a, answer := m.(*history.ResumeHook); answer { // its hook is found first, if there is one yet
					_, _ = s.ResolveToken(p.t.Context(), []history.TokenDigest{digestOf(duelToken(string(a.Run.RunID)))})
				}
			}
			if elsewhere {
				return readings(p.lane(p.Store, messages...))
			}
			return readings(p.lane(s.Store, messages...))
		}
	},
	"turns": func(t *rapid.T, p *twins) func(*twin, string) []string {
		elsewhere := rapid.Bool().Draw(t, "by another")
		run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
		return func(s *twin, prefix string) []string {
			store := s.Store
			if elsewhere {
				store = p.Store
			}
			done, err := store.AdvanceOne(p.t.Context(), by(countingAndAsking), keyOf(at(prefix, run)))
			return []string{fmt.Sprint(done.Claimed, done.Committed, err)}
		}
	},
	"hand-over": func(*rapid.T, *twins) func(*twin, string) []string {
		return func(s *twin, _ string) []string {
			done, err := s.AdvanceHanded(context.Background(), by(countingAndAsking))
			for err == nil && done.More {
				done, err = s.AdvanceHanded(context.Background(), by(countingAndAsking))
			}
			return []string{fmt.Sprint(err)}
		}
	},
	"block": func(t *rapid.T, p *twins) func(*twin, string) []string {
		run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
		return func(_ *twin, prefix string) []string {
			run := at(prefix, run)
			v := p.view(run)
			if v.Status != history.Running {
				return nil
			}
			return []string{fmt.Sprint(p.Block(context.Background(), keyOf(run), v.NextSeq, history.BlockPanic, "nil map"))}
		}
	},
	"put off": func(t *rapid.T, p *twins) func(*twin, string) []string {
		run := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run")
		return func(_ *twin, prefix string) []string {
			return []string{fmt.Sprint(p.postpone(context.Background(), keyOf(at(prefix, run)), time.Hour))}
		}
	},
}

// Whatever messages come in whatever batches, and whatever another store does behind the back: a store that decides on what
// it knows says and leaves what one does that reads everything.
func TestKnownRunsAreReadOnesAtRandom(t *testing.T) {
	t.Parallel()
	p := newTwins(t, taking, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.Backlog = 4 })
	names := append(slices.Sorted(maps.Keys(knownSteps)), "batch", "batch", "batch", "batch")
	n, known := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := fmt.Sprint("t", n)
		prefixes := []string{p.sides[0].run(id), p.sides[1].run(id)}
		for _, s := range p.sides {
			for _, run := range []string{"a", "b"} {
				p.parked(s, at(id, run), countingAndAsking)
			}
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "step")
			do := knownSteps[name](t, p)
			p.sides[0].log.take()
			knows, reads := do(p.sides[0], prefixes[0]), do(p.sides[1], prefixes[1])
			if yes, _ := p.sides[0].knew(); yes {
				known++
			}
			if !slices.Equal(knows, reads) {
				t.Fatalf("step %d, %s: the store that knows says %q, the one that reads %q", i, name, knows, reads)
			}
		}
		f := &faultRig{acceptRig: p.acceptRig}
		if a, b := f.runRows(prefixes[0]), f.runRows(prefixes[1]); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("the store that knows leaves\n%v\nthe one that reads\n%v", a, b)
		}
	})
	p.consistent()
	p.scheduled()
	for _, s := range p.sides {
		p.truthful(s.Store)
	}
	if known < n/3 {
		t.Errorf("in %d traces it decided %d times on what it knew", n, known)
	}
	t.Logf("%d traces, %d batches decided on what is known", n, known)
}
