package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// past is when everything in these tests happens.
var past = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return past.Add(time.Duration(seconds) * time.Second) }

func written(seconds int) string { return at(seconds).Format(time.RFC3339Nano) }

// scene is a ledger and the world it describes: a collector that reads two of three signals over two generations, an
// approval that was answered, one that was withdrawn, one that expired, and a race of rounds.
type scene struct {
	entries []entry
	world   world
}

// told adds a first delivery that was acknowledged a second after it was sent.
func (s *scene) told(m message, seq int64, seconds int) {
	s.entries = append(s.entries, entry{
		At: at(seconds), Took: time.Millisecond, Phase: phaseLoad, Kind: m.kind, Run: m.run, ID: m.id, Name: m.name,
		Payload: m.payload, Verdict: engine.VerdictAccepted, Receipt: receipt{seq, written(seconds)},
	})
}

// again adds an attempt like an earlier one, later, changed.
func (s *scene) again(of int, change func(*entry)) {
	e := s.entries[of]
	e.At, e.Verdict = e.At.Add(time.Minute), engine.VerdictDuplicate
	change(&e)
	s.entries = append(s.entries, e)
}

func (s *scene) refused(m message, seconds int, code, cause string) {
	s.entries = append(s.entries, entry{
		At: at(seconds), Took: time.Millisecond, Phase: phaseLoad, Kind: m.kind, Run: m.run, ID: m.id, Name: m.name,
		Payload: m.payload, Verdict: engine.VerdictGone, Code: code, Cause: cause,
	})
}

// show adds a run to the world. Its events are numbered in order.
func (s *scene) show(id string, r *run, events ...event) {
	for i := range events {
		events[i].Seq = int64(i + 1)
		events[i].Generation = max(events[i].Generation, 1)
	}
	r.events = events
	s.world.runs[id] = r
	s.world.listed = append(s.world.listed, id)
}

// index of entries and events that tests change.
const (
	startOfCollector = iota
	signalOne
	signalTwo
	signalThree
	startOfAnswered
	theAnswer
	startOfWithdrawn
	theWithdrawal
	lateAnswerToWithdrawn
	startOfExpired
	lateAnswer
	startOfRounds
	signalOfRounds
)

func newScene() *scene {
	s := &scene{world: world{runs: map[string]*run{}}}
	s.collector()
	s.approvals()
	s.rounds()
	return s
}

func (s *scene) collector() {
	in := input{Note: "c", Count: 2, Every: 1}
	s.told(startMessage("c", collectFlow, in), 1, 0)
	s.told(signalMessage("c", itemSignal, "s1", ""), 3, 2)
	s.told(signalMessage("c", itemSignal, "s2", ""), 4, 3)
	s.told(signalMessage("c", itemSignal, "s3", ""), 5, 4)
	received := func(id string, seconds int) event {
		return event{Type: "signal.received", At: at(seconds), Data: eventData{
			SignalID: id, Name: itemSignal, Payload: encode(item{ID: id}),
		}}
	}
	opened := event{Type: "wait.opened", At: at(1), Data: eventData{WaitID: "item-0", Signal: itemSignal}}
	reopened := opened
	reopened.Generation, reopened.At = 2, at(5)
	r := &run{
		Workflow: collectFlow, Status: engine.StatusCompleted, Generation: 2, UnreadSignals: 1,
		Output: encode(output{Seen: []string{"s1", "s2"}}), fates: map[string]fate{}, hooks: map[string]hook{},
	}
	s.show("c", r,
		event{Type: "run.started", At: at(0), Data: eventData{Input: encode(in)}}, opened,
		received("s1", 2), received("s2", 3), received("s3", 4),
		event{Type: "wait.completed", At: at(5), Data: eventData{WaitID: "item-0", SignalID: "s1", SignalSeq: 3}},
		event{Type: "run.continued", At: at(5), Generation: 2}, reopened,
		event{Type: "wait.completed", At: at(5), Generation: 2, Data: eventData{WaitID: "item-0", SignalID: "s2", SignalSeq: 4}},
		event{Type: "run.completed", At: at(5), Generation: 2},
	)
	for n, id := range []string{"s1", "s2", "s3"} {
		f := fate{Name: itemSignal, Sequence: int64(3 + n), ReceivedAt: written(2 + n), State: "consumed"}
		text := fmt.Sprintf(`{"consumed_by":{"wait_id":"item-0","generation":%d}}`, n+1)
		if id == "s3" {
			f.State, text = "unread_at_end", "{}"
		}
		mustDecode([]byte(text), &f)
		r.fates[id] = f
	}
}

func (s *scene) approvals() {
	s.approval("answered", resumeMessage("answered", answerHook, "", "ada"),
		event{Type: "hook.resumed", Data: eventData{Payload: encode(vote{true, "ada"})}},
		output{State: "answered", Answer: json.RawMessage(`{"by": "ada", "approved": true}`)})
	s.approval("disposed", disposeMessage("disposed", answerHook, ""), event{Type: "hook.disposed"}, output{State: "disposed"})
	s.refused(resumeMessage("disposed", answerHook, "", "ada"), 4, "hook-closed", "disposed")
	s.approval("expired", message{}, event{Type: "hook.expired"}, output{State: "expired"})
	s.refused(resumeMessage("expired", answerHook, "", "ada"), 4, "hook-closed", "expired")
}

func (s *scene) approval(id string, m message, closing event, out output) {
	in := input{Note: id, Expires: 1000}
	s.told(startMessage(id, approvalFlow, in), 1, 0)
	deadline := at(3)
	if m.kind == "" {
		deadline = at(1)
	} else {
		s.told(m, 3, 2)
	}
	closing.At, closing.Data.HookID = at(2), answerHook
	r := &run{
		Workflow: approvalFlow, Status: engine.StatusCompleted, Generation: 1, Output: encode(out),
		hooks: map[string]hook{answerHook: {answerHook, map[string]string{"answered": "resumed"}[id]}},
	}
	if id != "answered" {
		r.hooks[answerHook] = hook{answerHook, id}
	}
	s.show(id, r,
		event{Type: "run.started", At: at(0), Data: eventData{Input: encode(in)}},
		event{Type: "hook.created", At: at(0), Data: eventData{HookID: answerHook, ExpiresAt: &deadline}},
		closing, event{Type: "run.completed", At: at(2)})
}

func (s *scene) rounds() {
	in := input{Note: "r", Count: 2, Timeout: 1000}
	s.told(startMessage("r", roundsFlow, in), 1, 0)
	s.told(signalMessage("r", itemSignal, "s1", ""), 5, 2)
	one, two := at(1), at(3)
	s.show("r",
		&run{
			Workflow: roundsFlow, Status: engine.StatusCompleted, Generation: 1, hooks: map[string]hook{},
			Output: encode(output{Seen: []string{timedOut, "s1"}}),
			fates: map[string]fate{"s1": {Name: itemSignal, Sequence: 5, ReceivedAt: written(2), State: "consumed", ConsumedBy: &struct {
				WaitID     string `json:"wait_id"`
				Generation int    `json:"generation"`
			}{"round-1", 1}}},
		},
		event{Type: "run.started", At: at(0), Data: eventData{Input: encode(in)}},
		event{Type: "wait.opened", At: at(0), Data: eventData{WaitID: "round-0", Signal: itemSignal, Deadline: &one}},
		event{Type: "wait.timed_out", At: at(1), Data: eventData{WaitID: "round-0"}},
		event{Type: "wait.opened", At: at(1), Data: eventData{WaitID: "round-1", Signal: itemSignal, Deadline: &two}},
		event{Type: "signal.received", At: at(2), Data: eventData{SignalID: "s1", Name: itemSignal, Payload: encode(item{ID: "s1"})}},
		event{Type: "wait.completed", At: at(2), Data: eventData{WaitID: "round-1", SignalID: "s1", SignalSeq: 5}},
		event{Type: "run.completed", At: at(2)})
}

func TestCheckPassesWhatIsRight(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.again(signalOne, func(*entry) {})
	s.again(signalOne, func(e *entry) { e.Verdict, e.Receipt = verdictNone, receipt{} })
	s.again(signalTwo, func(e *entry) {
		e.Payload, e.Verdict, e.Code = encode("other"), engine.VerdictConflict, "signal-conflict"
	})
	s.again(lateAnswer, func(e *entry) { e.Verdict = engine.VerdictGone })
	for _, v := range check(s.entries, s.world) {
		t.Error(v)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range wrongs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			tt.plant(s)
			found := check(s.entries, s.world)
			for _, v := range found {
				if strings.Contains(v.String(), tt.says) {
					return
				}
			}
			t.Errorf("found %v, want one that says %q", found, tt.says)
		})
	}
}

// wrong is something that is not as it was acknowledged, and what the check says of it.
type wrong struct {
	plant func(*scene)
	says  string
}

// of changes a run of the world.
func of(id string, change func(*run)) func(*scene) {
	return func(s *scene) { change(s.world.runs[id]) }
}

// ledgered changes an entry of the ledger.
func ledgered(n int, change func(*entry)) func(*scene) {
	return func(s *scene) { change(&s.entries[n]) }
}

// repeated adds an attempt.
func repeated(n int, change func(*entry)) func(*scene) { return func(s *scene) { s.again(n, change) } }
