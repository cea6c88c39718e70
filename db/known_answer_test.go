package db

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// resolve finds the hook of a run by its token on a store, as it is done before an answer comes.
func (r *acceptRig) resolve(s *Store, run string) {
	r.t.Helper()
	h, err := s.ResolveToken(r.t.Context(), []history.TokenDigest{digestOf(duelToken(run))})
	if err != nil || h.Run != keyOf(run) {
		r.t.Fatalf("the token of %s is that of %+v: %v", run, h, err)
	}
}

// askingFor is asking with a deadline.
func askingFor(in time.Duration) author {
	return func(s *history.State) history.Decision {
		d := asking(s)
		if h, ok := d.Commands[0].(*history.CreateHook); ok {
			h.In = &in
		}
		return d
	}
}

// answerCase is an answer to a hook that was found by its token on the side's store, after something else happened.
type answerCase struct {
	name  string
	code  author // asking when nil
	then  func(p *twins, s *twin, run string)
	text  string // of the answer, 1 when empty
	want  string
	known bool // what is known is enough
	tried bool // it is tried, and found to be old
}

func answerCases() []answerCase {
	elsewhere := func(m func(p *twins, run string) history.Message) func(*twins, *twin, string) {
		return func(p *twins, _ *twin, run string) { p.ok(m(p, run)) }
	}
	resumed := func(p *twins, run string) history.Message { return p.resume(run, "h", "1") }
	return []answerCase{
		{name: "new", want: "accepted at 3", known: true},
		{name: "before its deadline", code: askingFor(time.Hour), want: "accepted at 3", known: true},
		{name: "of the wrong shape", text: "false", want: errShape.Error()},
		{name: "answered elsewhere", then: elsewhere(resumed), want: "duplicate at 3", tried: true},
		{name: "answered otherwise elsewhere", then: elsewhere(resumed), text: "2", want: "conflict", tried: true},
		{
			name: "answered here", want: "duplicate at 3", tried: true,
			then: func(p *twins, s *twin, run string) { p.lane(s.Store, p.resume(run, "h", "1")) },
		},
		{
			name: "disposed elsewhere", want: "gone: disposed", tried: true,
			then: elsewhere(func(_ *twins, run string) history.Message { return &history.DisposeHook{Run: keyOf(run), HookID: "h"} }),
		},
		{
			name: "cancelled elsewhere", want: "gone: cancelled", tried: true,
			then: elsewhere(func(_ *twins, run string) history.Message { return &history.CancelRun{Run: keyOf(run)} }),
		},
		{
			name: "a signal elsewhere", want: "accepted at 4", tried: true,
			then: elsewhere(func(p *twins, run string) history.Message { return p.signal(run, "s", "1") }),
		},
		{
			name: "a signal here", want: "accepted at 4", known: true,
			then: func(p *twins, s *twin, run string) { p.lane(s.Store, p.signal(run, "s", "1")) },
		},
		{
			name: "past its deadline", code: askingFor(500 * time.Millisecond), want: "gone: expired", tried: true,
			then: func(p *twins, _ *twin, run string) {
				p.until("the deadline is past", func() bool {
					return value[bool](p.acceptRig, `select expires_at < clock_timestamp() from hooks h join runs r on r.id = h.run
						where r.run_id = $1`, run)
				})
			},
		},
		{
			name: "blocked elsewhere", want: "accepted at 4", tried: true,
			then: func(p *twins, _ *twin, run string) { p.blockRun(p.Store, run, 3) },
		},
		{
			// The store knows the run as its own turn left it, and the hook as it was before.
			name: "closed by a turn here", code: withdrawing, want: "gone: disposed", tried: true,
			then: func(p *twins, s *twin, run string) {
				p.lane(s.Store, p.signal(run, "s", "1"))
				p.turnOn(s.Store, run, withdrawing)
			},
		},
	}
}

// An answer to a hook that was found by its token gets the verdict, and leaves the rows, that it gets from a store that
// reads: whatever happened between the two.
func TestKnownRunsGetAnswersAsReadOnesDo(t *testing.T) {
	t.Parallel()
	p := newTwins(t)
	for i, c := range answerCases() {
		id := fmt.Sprint(i)
		for _, s := range p.sides {
			run, code := s.run(id), c.code
			if code == nil {
				code = asking
			}
			p.parked(s, id, code)
			p.resolve(s.Store, run)
			if c.then != nil {
				c.then(p, s, run)
			}
			s.log.take()
			m := p.resume(run, "h", orElse(c.text, "1"))
			m.ByToken = true
			a := p.lane(s.Store, m)[0]
			got := readings([]Answer{a})[0]
			if a.Err != nil && c.want != got {
				got = verdictOf(a.Receipt, a.Err)
			}
			if got != c.want {
				t.Errorf("%s, by the store that %s: %s, want %s", c.name, s.name, got, c.want)
			}
			p.decided(s, c.name, c.known, c.tried, false)
		}
		p.same()
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// startCase is starts by a store that knows nothing of their runs.
type startCase struct {
	name   string
	before func(p *twins, run string)
	send   func(p *twins, run string) []history.Message
	want   []string
	known  bool // nothing need be read
	tried  bool // it is tried without, in vain
}

var startCases = []startCase{
	{name: "new", want: []string{"accepted at 1"}, known: true},
	{
		name: "there already", before: func(p *twins, run string) { p.ok(p.startOf(run)) },
		want: []string{"duplicate at 1"}, tried: true,
	},
	{
		name: "there otherwise", want: []string{"conflict"}, tried: true,
		before: func(p *twins, run string) {
			m := p.startOf(run)
			m.Input = payload(p.t, "2")
			p.ok(m)
		},
	},
	{
		name: "twice in one batch", want: []string{"accepted at 1", "duplicate at 1"},
		send: func(p *twins, run string) []history.Message { return []history.Message{p.startOf(run), p.startOf(run)} },
	},
	{
		name: "with its first signal", want: []string{"accepted at 1", "accepted at 2"},
		send: func(p *twins, run string) []history.Message {
			return []history.Message{p.startOf(run), p.signal(run, "s", "1")}
		},
	},
	{
		name: "beside one that names no spec", want: []string{"accepted at 1", ErrWorkflowNotFound.Error()}, tried: true,
		send: func(p *twins, run string) []history.Message {
			m := p.startOf(run + "'")
			m.SpecDigest = absentSpec
			return []history.Message{p.startOf(run), m}
		},
	},
	{
		name: "beside one that is there", before: func(p *twins, run string) { p.ok(p.startOf(run + "'")) }, tried: true,
		want: []string{"accepted at 1", "duplicate at 1", "accepted at 1"},
		send: func(p *twins, run string) []history.Message {
			return []history.Message{p.startOf(run), p.startOf(run + "'"), p.startOf(run + "''")}
		},
	},
}

// A start gets the verdict, and leaves the rows, that it gets from a store that asks first whether there is such a run.
func TestUnknownRunsStartAsReadOnesDo(t *testing.T) {
	t.Parallel()
	p := newTwins(t)
	for i, c := range startCases {
		for _, s := range p.sides {
			run := s.run(fmt.Sprint(i))
			if c.before != nil {
				c.before(p, run)
			}
			all := []history.Message{p.startOf(run)}
			if c.send != nil {
				all = c.send(p, run)
			}
			s.log.take()
			answers := p.lane(s.Store, all...)
			got := readings(answers)
			for k, a := range answers {
				if verdictOf(a.Receipt, a.Err) == "conflict" {
					got[k] = "conflict"
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, by the store that %s: %q, want %q", c.name, s.name, got, c.want)
			}
			p.decided(s, c.name, c.known, c.tried, c.name == "beside one that names no spec")
		}
		p.same()
	}
}

// An answer to a run that the store knows, and a start of one that it does not know.
func TestFaultAtEveryStatementOfAKnownAnswerAndStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]faultCase{
		"answer": {
			before: func(f *faultRig, prefix string) {
				f.parkedOn(f.patient, prefix, asking, "it")
				f.resolve(f.patient, at(prefix, "it"))
			},
			act: func(f *faultRig, s *Store, prefix string) []string {
				receipt, err := s.Accept(context.Background(), f.resume(at(prefix, "it"), "h", "1"))
				return []string{readingOf(receipt.Verdict, err)}
			},
			finally: map[string]string{"it": "run.started hook.created hook.resumed run.completed"},
		},
		"start": {
			before: func(*faultRig, string) {},
			act: func(f *faultRig, s *Store, prefix string) []string {
				receipt, err := s.Accept(context.Background(), f.startOf(at(prefix, "it")))
				return []string{readingOf(receipt.Verdict, err)}
			},
			finally: map[string]string{"it": "run.started hook.created"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.calls = []faultCall{{run: "it", first: acceptedWord, again: duplicateWord}}
			c.want = func(m met, c faultCall) []string {
				switch {
				case m.kind == pgfault.Hold:
					return []string{c.first, c.again}
				case m.lostCommit():
					return []string{c.again}
				}
				return []string{c.first}
			}
			c.ways = slices.Concat(lostWays, lateWays[:2], refusedWays("23514", "40001", "42601"))
			c.atLeast = 4
			testEveryStatement(t, knownFault(c, asking))
		})
	}
}
