package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/engine"
)

// expected is how a run must end, or why it may not have.
type expected struct {
	status engine.Status
	reason string // how the reason of a blocked run begins
	output output
}

// expectedOf says what the messages that were acknowledged make of a run. The results of rounds depend on times; for
// those it names the status only.
func expectedOf(f *facts) expected {
	if f.cancel != nil {
		return expected{status: engine.StatusCancelled}
	}
	var in input
	mustDecode(f.start.payload, &in)
	switch f.start.name {
	case approvalFlow:
		return completed(f.approval())
	case firstFlow:
		return f.first()
	case quorumFlow:
		return completed(f.quorum(in))
	case roundsFlow:
		return expected{status: engine.StatusCompleted}
	case stopFlow:
		return f.reads(stopSignal, 1)
	case slowFlow:
		if in.Mode == modeAlways {
			return expected{status: engine.StatusBlocked, reason: "over_budget: "}
		}
	}
	return f.reads(itemSignal, in.Count)
}

func completed(out output) expected { return expected{status: engine.StatusCompleted, output: out} }

// seen lists the IDs of acknowledged signals of a name in the order of their sequence.
func (f *facts) seen(name string) []string {
	var ids []string
	for _, s := range f.signals {
		if s.name == name {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// reads is a run that ends once it has read so many signals of a name.
func (f *facts) reads(name string, count int) expected {
	ids := f.seen(name)
	if len(ids) < count {
		return expected{status: engine.StatusRunning}
	}
	return completed(output{Seen: ids[:count]})
}

func (f *facts) approval() output {
	answer, answered := f.resumed[answerHook]
	switch {
	case answered:
		return output{State: string(engine.Answered), Answer: answer.payload}
	case f.disposed[answerHook] != nil:
		return output{State: string(engine.Disposed)}
	}
	return output{State: string(engine.Expired)}
}

// answered lists the hooks that were answered, in the order of their answers.
func (f *facts) answered() []string {
	var ids []string
	for id := range f.resumed {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return int(f.resumed[a].receipt.Sequence - f.resumed[b].receipt.Sequence)
	})
	return ids
}

func (f *facts) first() expected {
	answered, last := f.answered(), f.seen(stopSignal)
	if len(answered) == 0 || len(last) == 0 {
		return expected{status: engine.StatusRunning}
	}
	return completed(output{First: answered[0], Seen: last[:1]})
}

func (f *facts) quorum(in input) output {
	voters, state := f.answered(), "too few"
	if len(voters) >= in.Count {
		voters, state = voters[:in.Count], "enough"
	}
	slices.Sort(voters)
	return output{State: state, Voters: voters}
}

// endings are the events that end a run, with the status they leave.
var endings = map[string]engine.Status{
	"run.completed": engine.StatusCompleted, "run.failed": engine.StatusFailed, "run.cancelled": engine.StatusCancelled,
}

// checkEnd checks that the run ended as the acknowledged messages make it end, once, or is open for a known reason.
func (c *runCheck) checkEnd() {
	want := expectedOf(c.facts)
	c.wants(c.run.Status == want.status, "it is %s (%s), not %s", c.run.Status, c.run.BlockedReason, want.status)
	c.wants(strings.HasPrefix(c.run.BlockedReason, want.reason),
		"it is blocked for %q, not for %q", c.run.BlockedReason, want.reason)
	ends := 0
	for _, e := range c.run.events {
		if status, ending := endings[e.Type]; ending {
			ends++
			c.wants(status == c.run.Status, "its history has %s, and it is %s", e.Type, c.run.Status)
		}
	}
	switch {
	case c.run.Status.Ended():
		c.wants(ends == 1, "it ended %d times", ends)
		for id := range c.opened {
			_, closed := c.closings[id]
			c.wants(closed, "it ended, and hook %s was not closed", id)
		}
	default:
		c.wants(ends == 0, "it is %s, and its history has an end", c.run.Status)
	}
	if c.run.Status != engine.StatusCompleted || want.status != engine.StatusCompleted {
		return
	}
	var got output
	if err := json.Unmarshal(c.run.Output, &got); err != nil {
		c.wants(false, "its output does not decode")
		return
	}
	if c.facts.start.name == roundsFlow {
		c.checkRounds(got.Seen)
		return
	}
	if len(want.output.Answer) > 0 && sameJSON(want.output.Answer, got.Answer) {
		got.Answer = want.output.Answer // spelled otherwise
	}
	c.wants(reflect.DeepEqual(got, want.output), "its output is %s, not %s", c.run.Output, encode(want.output))
}

// checkRounds checks that the rounds that were won had the signals in the order they came, none of them left out.
func (c *runCheck) checkRounds(seen []string) {
	won := slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return id == timedOut })
	all := c.facts.seen(itemSignal)
	ok := len(won) <= len(all) && slices.Equal(won, all[:min(len(won), len(all))])
	c.wants(ok, "its rounds had %v, and acknowledged were %v", won, all)
	c.wants(len(won) == len(c.taken), "its output has %d signals, and %d were read", len(won), len(c.taken))
}
