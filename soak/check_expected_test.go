package main

import (
	"encoding/json"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

// delivered is an acknowledged message of the run x.
func delivered(m message, seq int64) entry {
	return entry{
		Kind: m.kind, Run: m.run, ID: m.id, Name: m.name, Payload: m.payload, Verdict: engine.VerdictAccepted,
		Receipt: receipt{Sequence: seq},
	}
}

// What a run must come to follows from the messages that were acknowledged and the order of their sequences.
func TestExpectedFollowsTheSequence(t *testing.T) {
	t.Parallel()
	signal := func(name, id string, seq int64) entry { return delivered(signalMessage("x", name, id, ""), seq) }
	answer := func(hook string, seq int64) entry { return delivered(resumeMessage("x", hook, "", hook), seq) }
	for name, tt := range map[string]struct {
		workflow string
		input    input
		entries  []entry
		status   engine.Status
		output   string
	}{
		"quorum":        {quorumFlow, input{Hooks: 4, Count: 2}, []entry{answer("c", 9), answer("b", 5), answer("a", 7)}, engine.StatusCompleted, `{"state":"enough","voters":["a","b"]}`},
		"no quorum":     {quorumFlow, input{Hooks: 4, Count: 2}, []entry{answer("c", 9)}, engine.StatusCompleted, `{"state":"too few","voters":["c"]}`},
		"first":         {firstFlow, input{}, []entry{answer("a", 6), answer("b", 4), signal(stopSignal, "s1", 5)}, engine.StatusCompleted, `{"first":"b","seen":["s1"]}`},
		"first, open":   {firstFlow, input{}, []entry{answer("a", 6)}, engine.StatusRunning, `{}`},
		"stop":          {stopFlow, input{}, []entry{signal(itemSignal, "i", 3), signal(stopSignal, "s2", 6), signal(stopSignal, "s1", 5)}, engine.StatusCompleted, `{"seen":["s1"]}`},
		"cancelled":     {stopFlow, input{}, []entry{signal(stopSignal, "s1", 3), delivered(cancelMessage("x"), 4)}, engine.StatusCancelled, `{}`},
		"too few items": {collectFlow, input{Count: 2}, []entry{signal(itemSignal, "i", 3)}, engine.StatusRunning, `{}`},
		"mended":        {panicFlow, input{Count: 1, Mode: modeBroken}, []entry{signal(itemSignal, "i", 3)}, engine.StatusCompleted, `{"seen":["i"]}`},
		"stuck":         {slowFlow, input{Count: 1, Mode: modeAlways}, []entry{signal(itemSignal, "i", 3)}, engine.StatusBlocked, `{}`},
		"withdrawn":     {approvalFlow, input{}, []entry{delivered(disposeMessage("x", answerHook, ""), 3)}, engine.StatusCompleted, `{"state":"disposed"}`},
		"expired":       {approvalFlow, input{}, nil, engine.StatusCompleted, `{"state":"expired"}`},
	} {
		runs, found := gather(append([]entry{delivered(startMessage("x", tt.workflow, tt.input), 1)}, tt.entries...))
		got := expectedOf(runs["x"])
		text, err := json.Marshal(got.output)
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if got.status != tt.status || string(text) != tt.output {
			t.Errorf("%s: %s with %s, want %s with %s", name, got.status, text, tt.status, tt.output)
		}
	}
}
