package db

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// knownCase is messages to a run that the store knows, after another store interfered.
type knownCase struct {
	name   string
	before func(p *twins, s *twin, run string) // nil: nothing since the run's first turn
	send   func(p *twins, run string) []history.Message
	want   []string // readings
	known  bool     // what is known is enough
	tried  bool     // it is tried, and found to be old
}

// by2 is signals of pairs of an ID and a payload.
func by2(p *twins, run string, texts ...string) (all []history.Message) {
	for i := 0; i < len(texts); i += 2 {
		all = append(all, p.signal(run, texts[i], texts[i+1]))
	}
	return all
}

// sends makes signals of pairs of an ID and a payload.
func sends(texts ...string) func(*twins, string) []history.Message {
	return func(p *twins, run string) []history.Message { return by2(p, run, texts...) }
}

const (
	knownConflict = "signal ID was accepted with another payload"
	knownFull     = "signal backlog of the run is full"
)

// elsewhere has another process accept signals.
func elsewhere(texts ...string) func(*twins, *twin, string) {
	return func(p *twins, _ *twin, run string) {
		for _, m := range by2(p, run, texts...) {
			p.ok(m)
		}
	}
}

var knownCases = []knownCase{
	{name: "new", send: sends("s", "1"), want: []string{"accepted at 3"}, known: true},
	{
		name: "new, repeated and contradicted in one batch", send: sends("s", "1", "s", "1", "s", "2", "t", "2"), known: true,
		want: []string{"accepted at 3", "duplicate at 3", knownConflict, "accepted at 4"},
	},
	{
		name: "accepted here before", send: sends("s", "1", "s", "2"), want: []string{"duplicate at 3", knownConflict},
		before: func(p *twins, s *twin, run string) { p.lane(s.Store, p.signal(run, "s", "1")) },
	},
	{
		name: "accepted elsewhere", before: elsewhere("s", "1"), send: sends("s", "1", "t", "1"),
		want: []string{"duplicate at 3", "accepted at 4"}, tried: true,
	},
	{
		name: "contradicted elsewhere", before: elsewhere("s", "1"), send: sends("s", "2"), want: []string{knownConflict}, tried: true,
	},
	{
		// The store knows the run as its own turn left it, but not which signals others accepted.
		name: "accepted elsewhere and taken here", send: sends("s", "1", "s", "2"), want: []string{"duplicate at 3", knownConflict}, tried: true,
		before: func(p *twins, s *twin, run string) {
			p.ok(p.signal(run, "s", "1"))
			p.turnOn(s.Store, run, counting(9))
		},
	},
	{
		name: "accepted elsewhere and taken here, and a new one", send: sends("s", "1", "t", "1"), tried: true,
		want: []string{"duplicate at 3", "accepted at 6"},
		before: func(p *twins, s *twin, run string) {
			p.ok(p.signal(run, "s", "1"))
			p.turnOn(s.Store, run, counting(9))
		},
	},
	{
		name: "moved on elsewhere", send: sends("t", "1"), want: []string{"accepted at 6"}, tried: true,
		before: func(p *twins, _ *twin, run string) {
			p.ok(p.signal(run, "s", "1"))
			p.turnOn(p.Store, run, counting(9))
		},
	},
	{
		name: "ended elsewhere", send: sends("s", "1"), want: []string{"run ended"}, tried: true,
		before: func(p *twins, _ *twin, run string) { p.ok(&history.CancelRun{Run: keyOf(run), Terminate: true}) },
	},
	{
		name: "ended here", send: sends("s", "1"), want: []string{"run ended"},
		before: func(p *twins, s *twin, run string) {
			p.lane(s.Store, &history.CancelRun{Run: keyOf(run), Terminate: true})
		},
	},
	{
		name: "blocked elsewhere", send: sends("s", "1"), want: []string{"accepted at 4"}, tried: true,
		before: func(p *twins, _ *twin, run string) { p.blockRun(p.Store, run, 3) },
	},
	{
		name: "blocked here", send: sends("s", "1"), want: []string{"accepted at 4"}, tried: true,
		before: func(p *twins, s *twin, run string) { p.blockRun(s.Store, run, 3) },
	},
	{
		name: "put off elsewhere", send: sends("t", "1"), want: []string{"accepted at 4"}, tried: true,
		before: func(p *twins, s *twin, run string) {
			p.lane(s.Store, p.signal(run, "s", "1"))
			if err := p.postpone(context.Background(), keyOf(run), time.Hour); err != nil {
				p.t.Fatal(err)
			}
		},
	},
	{
		name: "filled elsewhere", before: elsewhere("a", "1", "b", "1", "c", "1", "d", "1"), send: sends("s", "1", "d", "1"), tried: true,
		want: []string{knownFull, "duplicate at 6"},
	},
	{
		name: "filled in the batch", send: sends("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "d", "1"),
		want: []string{"accepted at 3", "accepted at 4", "accepted at 5", "accepted at 6, 4 of 4", knownFull, "duplicate at 6"},
	},
	{
		name: "nearly full", send: sends("a", "1", "b", "1", "c", "1", "d", "1"), known: true,
		want: []string{"accepted at 3", "accepted at 4", "accepted at 5", "accepted at 6, 4 of 4"},
	},
	{
		name: "of the wrong shape", send: sends("s", "false", "t", "1"), want: []string{errShape.Error(), "accepted at 3"},
	},
	{
		name: "undeclared", want: []string{"accepted at 3", "signal not declared by the run's workflow spec"},
		send: func(p *twins, run string) []history.Message {
			m := p.signal(run, "t", "1")
			m.Name = "rejected"
			return []history.Message{p.signal(run, "s", "1"), m}
		},
	},
	{
		name: "with a cancellation in the same batch", want: []string{"accepted at 3", "accepted at 4", "run ended"},
		send: func(p *twins, run string) []history.Message {
			return []history.Message{p.signal(run, "s", "1"), &history.CancelRun{Run: keyOf(run)}, p.signal(run, "t", "1")}
		},
	},
	{
		name: "with what the database refuses", want: []string{"accepted at 3", "", "accepted at 4"}, tried: true,
		send: func(p *twins, run string) []history.Message {
			m := p.signal(run, "t", "1")
			m.Actor = "a\x00b"
			return []history.Message{p.signal(run, "s", "1"), m, p.signal(run, "u", "1")}
		},
	},
	{
		name: "beside a deadline", send: sends("s", "1"), want: []string{"accepted at 3"}, known: true,
		before: besideADeadline,
	},
	{
		name: "several beside a deadline", send: sends("s", "1", "t", "1"), want: []string{"accepted at 3", "accepted at 4"}, known: true,
		before: besideADeadline,
	},
}

// besideADeadline has something of the run end by time, as the store knows.
func besideADeadline(p *twins, s *twin, run string) {
	due := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	p.sql(`update runs set wake_at = $2 where run_id = $1`, run, due)
	known, _ := s.records.get(keyOf(run))
	known.Run.WakeAt = &due
	s.records.put(known)
}

func (p *twins) blockRun(s *Store, run string, nextSeq int64) {
	p.t.Helper()
	if err := s.Block(p.t.Context(), keyOf(run), nextSeq, history.BlockPanic, "nil map"); err != nil {
		p.t.Fatal(err)
	}
	p.sql(`update runs set wake_at = clock_timestamp() + interval '1 hour' where run_id = $1`, run)
}

// Signals to a run that the store knows get the verdicts, and leave the rows, that they get from a store that reads the
// run: whatever another store did meanwhile, and whatever else is in the batch.
func TestKnownRunsGetTheVerdictsOfReadOnes(t *testing.T) {
	t.Parallel()
	p := newTwins(t, func(c *Config) { c.Limits = history.DefaultLimits(); c.Limits.Backlog = 4 })
	for i, c := range knownCases {
		id := fmt.Sprint(i)
		for _, s := range p.sides {
			p.parked(s, id, counting(9))
			if c.before != nil {
				c.before(p, s, s.run(id))
			}
			s.log.take()
			answers := p.lane(s.Store, c.send(p, s.run(id))...)
			got := readings(answers)
			for k := range c.want {
				if c.want[k] == "" && answers[k].Err != nil {
					got[k] = ""
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, by the store that %s: %q, want %q", c.name, s.name, got, c.want)
			}
			p.decided(s, c.name, c.known, c.tried, c.name == "with what the database refuses")
		}
		p.same()
	}
	for _, s := range p.sides {
		p.drain(by(counting(9)))
		p.folded(value[[]string](p.acceptRig, `select array_agg(run_id) from runs where starts_with(run_id, $1)`, s.name)...)
	}
}
